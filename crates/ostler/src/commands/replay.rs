//! `ostler replay`

use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use flate2::read::MultiGzDecoder;
use ostler_agents::{Agent, Change, Reader, Registry, RuleBook, replay, settings_for};
use ostler_screen::asciicast::{EventKind, Recording};
use ostler_screen::{Screen, Size};
use semver::Version;
use serde::Serialize;

use super::agents::print_note;
use crate::cli::Replay;
use crate::error::{CommandError, Kind};
use crate::{client, output};

/// Largest recording, unpacked.
const MAX_BYTES: u64 = 1 << 30;

/// A line of the timeline, as `design` promises it to programs.
#[derive(Debug, Serialize)]
struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    t: f64,
    state: ostler_core::State,
    kind: Option<&'a str>,
    confidence: f64,
    because: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<&'a str>,
}

pub(crate) fn run(args: &Replay) -> Result<ExitCode, CommandError> {
    let cwd = std::env::current_dir()?;
    let home = client::home()?;
    let presets = ostler_daemon::presets::load(&home, &cwd);
    let settings = ostler_daemon::settings::load(&home, &cwd);
    for problem in &settings.problems {
        print_note(&problem.to_string());
    }
    let mut books: Vec<(String, Option<Version>, Arc<RuleBook>)> = Vec::new();
    for file in &args.files {
        let recording = read(file)?;
        let (agent, version) = choose(args, &recording, &presets.registry)?;
        let known = books.iter().find(|(name, of, _)| *name == agent.name && *of == version);
        let book = if let Some((_, _, book)) = known {
            book.clone()
        } else {
            let book = presets.registry.rulebook(agent, version.as_ref());
            let book = Arc::new(book.map_err(|error| CommandError::new(Kind::Failed, error.to_string()))?);
            books.push((agent.name.clone(), version.clone(), book.clone()));
            book
        };
        if let Some(at) = args.at {
            show(&recording, book, at)?;
            continue;
        }
        let settings = settings_for(agent, settings.detector);
        let expectations = if args.mute {
            agent.expectations_unanswered(version.as_ref())
        } else {
            agent.expectations(version.as_ref())
        };
        let changes = replay(&recording, book, settings, expectations);
        let named = (args.files.len() > 1).then(|| file.display().to_string());
        print(&changes, named.as_deref(), args.json)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print(changes: &[Change], file: Option<&str>, json: bool) -> Result<(), CommandError> {
    if !json && let Some(file) = file {
        output::print(&format!("{}\n", output::plain(file)))?;
    }
    for Change { at, verdict } in changes {
        let line = Line {
            file,
            t: at.as_secs_f64(),
            state: verdict.state,
            kind: verdict.kind.as_deref(),
            confidence: (f64::from(verdict.confidence) * 100.0).round() / 100.0,
            because: &verdict.because,
            until: verdict.until.as_deref(),
        };
        if json {
            output::json(&line)?;
        } else {
            let kind = line.kind.map(|kind| format!(" ({kind})")).unwrap_or_default();
            let state = format!("{}{kind}", line.state);
            let because = line.because.join("; ");
            output::print(&format!("{:9.3}  {state:24}  {:.2}  {because}\n", line.t, line.confidence))?;
        }
    }
    Ok(())
}

/// The agent whose rules are used, and its version.
fn choose<'a>(
    args: &Replay,
    recording: &Recording,
    registry: &'a Registry,
) -> Result<(&'a Arc<Agent>, Option<Version>), CommandError> {
    let name = args.agent.as_deref().or(recording.header.agent.as_deref());
    let agent = match name {
        Some(name) => registry.get(name).ok_or_else(|| {
            let wrong = registry.problems().iter().rev().find(|problem| problem.agent == name);
            let hint =
                wrong.map_or("ostler agents list shows those that are known".to_owned(), ToString::to_string);
            CommandError::new(Kind::Usage, format!("no agent is called {name:?}")).hint(hint)
        })?,
        None => {
            registry.generic().ok_or_else(|| CommandError::new(Kind::Internal, "no preset for programs"))?
        }
    };
    // The version of the recorded agent says nothing of another one.
    let recorded = recording
        .header
        .agent_version
        .as_ref()
        .filter(|_| recording.header.agent.as_deref() == Some(&agent.name));
    let version = match (&args.agent_version, recorded) {
        (Some(text), _) => Some(Version::parse(text).map_err(|error| {
            CommandError::new(Kind::Usage, format!("{text:?} is not a version: {error}"))
                .hint("write it as 1.2.3")
        })?),
        (None, Some(text)) => Version::parse(text).ok(),
        (None, None) => None,
    };
    Ok((agent, version))
}

fn read(file: &Path) -> Result<Recording, CommandError> {
    let fail = |reason: String| CommandError::new(Kind::Failed, format!("{}: {reason}", file.display()));
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file).map_err(|error| fail(error.to_string()))?;
    opened.take(MAX_BYTES).read_to_end(&mut bytes).map_err(|error| fail(error.to_string()))?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut plain = Vec::new();
        let unpacked = MultiGzDecoder::new(bytes.as_slice()).take(MAX_BYTES).read_to_end(&mut plain);
        unpacked.map_err(|error| fail(error.to_string()))?;
        bytes = plain;
    }
    let text = String::from_utf8(bytes).map_err(|_| fail("not a text".into()))?;
    Recording::parse(&text)
        .map_err(|error| fail(error.to_string()).hint("ostler start --record makes one that can be read"))
}

/// Prints the screen at one moment and what the rules make of it, for those who write rules.
fn show(recording: &Recording, book: Arc<RuleBook>, at: f64) -> Result<(), CommandError> {
    let until = Duration::try_from_secs_f64(at)
        .map_err(|_| CommandError::new(Kind::Usage, format!("{at} is no moment of a recording")))?;
    let mut screen = Screen::new(Size::clamped(recording.header.width, recording.header.height), 0);
    for event in recording.events.iter().take_while(|event| event.at <= until) {
        match &event.kind {
            EventKind::Output(text) => drop(screen.feed(text.as_bytes())),
            EventKind::Resize { cols, rows } => screen.resize(Size::clamped(*cols, *rows)),
            _ => {}
        }
    }
    let mut reader = Reader::new(book);
    reader.look(&mut screen);
    let mut text = screen.text();
    let _ = writeln!(text, "\n\ntitle: {}", screen.title().unwrap_or("(none)"));
    let cursor = screen.cursor();
    let shown = if cursor.visible { "visible" } else { "hidden" };
    let _ = writeln!(text, "cursor: row {} column {}, {shown}", cursor.row, cursor.col);
    match reader.composer() {
        Some(composer) => drop(writeln!(
            text,
            "composer: rows {} to {}, {}",
            composer.rows.start,
            composer.rows.end - 1,
            if composer.draft { "something is written in it" } else { "empty" }
        )),
        None => text.push_str("composer: none\n"),
    }
    for finding in &reader.reading().findings {
        let kind = finding.kind.as_deref().map(|kind| format!(" ({kind})")).unwrap_or_default();
        let until = finding.until.as_deref().map(|until| format!(", until {until}")).unwrap_or_default();
        let _ = writeln!(text, "rule {}: {}{kind}{until}", finding.rule, finding.state);
    }
    output::print(&text)
}
