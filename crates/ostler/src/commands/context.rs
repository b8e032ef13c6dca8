//! `ostler context`

use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use ostler_hold::SESSION_MARK;
use ostler_protocol::{
    ClearedInfo, ContextInfo, ContextPlace, ContextRequest, OsText, RecordInfo, Request, Response,
    SaveRequest,
};
use ostler_screen::SafeText;
use serde_json::json;

use crate::cli::Context;
use crate::error::{CommandError, Kind};
use crate::{client, output};

/// Most that is read of a summary: far more than is kept.
const LONGEST: u64 = 1 << 20;

pub(crate) fn run(command: Context) -> Result<ExitCode, CommandError> {
    match command {
        Context::Load { place, task, budget, json } => {
            let place = meant(place.name, place.cwd.as_deref())?;
            load(ContextRequest { place, task, told: false, budget }, json)
        }
        Context::Show { place, json } => show(meant(place.name, place.cwd.as_deref())?, json),
        Context::Save { text, open, session, cwd, json } => {
            let place = meant(session, cwd.as_deref())?;
            let summary = match text.as_deref() {
                Some("-") => read_input()?,
                text => text.unwrap_or_default().to_owned(),
            };
            save(SaveRequest { id: client::fresh_id(), place, summary, open }, json)
        }
        Context::Clear { place, records, json } => {
            clear(meant(place.name, place.cwd.as_deref())?, records, json)
        }
    }
}

/// What the command is about: what was named, else the session it runs in, else where it runs.
fn meant(name: Option<String>, cwd: Option<&Path>) -> Result<ContextPlace, CommandError> {
    let here = std::env::current_dir();
    let directory = match cwd {
        Some(cwd) => cwd.canonicalize().ok().filter(|cwd| cwd.is_dir()).ok_or_else(|| {
            CommandError::new(Kind::Usage, format!("there is no directory {}", cwd.display()))
                .hint("give an existing one with --cwd")
        })?,
        None => here.unwrap_or_else(|_| "/".into()),
    };
    let own = std::env::var(SESSION_MARK).ok().filter(|id| !id.is_empty());
    let inside = name.is_none() && cwd.is_none() && own.is_some();
    let session = name.or(own.filter(|_| inside));
    Ok(ContextPlace { session, cwd: OsText::from(&directory), inside })
}

fn read_input() -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(LONGEST).read_to_end(&mut bytes)?;
    // What is cut off in the middle of a character is cut before it; far less is kept.
    let cut = bytes.len() as u64 == LONGEST;
    match std::str::from_utf8(&bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) if cut && error.error_len().is_none() => {
            Ok(String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned())
        }
        Err(error) => Err(CommandError::new(
            Kind::Usage,
            format!("the text is not UTF-8 (at byte {})", error.valid_up_to()),
        )),
    }
}

fn load(request: ContextRequest, json: bool) -> Result<ExitCode, CommandError> {
    let Response::Context(context) = client::call(&Request::Context(Box::new(request)))? else {
        return Err(super::unexpected());
    };
    let ContextInfo { project, text, records, .. } = &*context;
    if json {
        output::json(&context)?;
    } else if text.is_empty() && *records > 0 {
        output::print(&format!(
            "nothing of what is known of {} fits into so small a budget (records: {records})\n",
            output::plain(project)
        ))?;
    } else if text.is_empty() {
        let project = output::plain(project);
        output::print(&format!(
            "nothing is known of {project} yet; `ostler context save TEXT` keeps something for next time\n"
        ))?;
    } else {
        output::print(SafeText::new(text).as_str())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show(place: ContextPlace, json: bool) -> Result<ExitCode, CommandError> {
    let Response::Records { project, records } = client::call(&Request::ContextRecords { place })? else {
        return Err(super::unexpected());
    };
    if json {
        output::json(&json!({ "project": project, "records": records }))?;
    } else if records.is_empty() {
        output::print(&format!("there are no records of {}\n", output::plain(&project)))?;
    } else {
        let records: Vec<String> = records.iter().map(shown).collect();
        output::print(&format!("{}\n\n{}", output::plain(&project), records.join("\n")))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A record for people.
fn shown(record: &RecordInfo) -> String {
    let session = record.session.as_ref().map(|name| format!(", session {name}")).unwrap_or_default();
    let agent = record.agent.as_ref().map(|agent| format!(" ({agent})")).unwrap_or_default();
    let by = record.source.as_str();
    let mut text = format!("{:.0}  by {by}{}\n", record.at, output::plain(&format!("{session}{agent}")));
    for line in SafeText::new(&record.summary).as_str().lines() {
        let _ = writeln!(text, "  {line}");
    }
    let lists = [
        ("open", record.open.clone()),
        ("branch", record.branch.iter().cloned().collect()),
        ("last commit", record.commit.iter().cloned().collect()),
        ("commits", record.commits.clone()),
        ("changed", record.files.clone()),
    ];
    for (name, entries) in lists {
        for (index, entry) in entries.iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            let _ = writeln!(text, "  {name:11}  {}", output::plain(entry));
        }
    }
    text
}

fn save(request: SaveRequest, json: bool) -> Result<ExitCode, CommandError> {
    let given = SafeText::new(&request.summary).as_str().trim().len();
    let answer = client::call(&Request::SaveContext(Box::new(request)))?;
    let Response::Records { project, records } = answer else { return Err(super::unexpected()) };
    let Some(record) = records.first() else { return Err(super::unexpected()) };
    if json {
        output::json(record)?;
    } else {
        let kept = record.summary.len();
        let cut = if kept < given { format!(", cut to {kept} of {given} bytes") } else { String::new() };
        output::print(&format!("kept for {}{cut}\n", output::plain(&project)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn clear(place: ContextPlace, records: bool, json: bool) -> Result<ExitCode, CommandError> {
    let answer = client::call(&Request::ClearContext { place, records })?;
    let Response::Cleared(cleared) = answer else { return Err(super::unexpected()) };
    if json {
        output::json(&cleared)?;
    } else {
        output::print(&what_was_cleared(&cleared))?;
    }
    let failed = cleared.files.iter().any(|file| file.problem.is_some());
    Ok(if failed { Kind::Failed.exit_code() } else { ExitCode::SUCCESS })
}

fn what_was_cleared(cleared: &ClearedInfo) -> String {
    let count = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    let mut text = String::new();
    for file in &cleared.files {
        let (name, blocks) = (output::plain(&file.file), count(file.blocks, "block"));
        let _ = match (&file.problem, file.deleted) {
            (Some(problem), _) => writeln!(text, "not changed: {}", output::plain(problem)),
            (None, true) => writeln!(text, "removed {name}, which ostler had made ({blocks})"),
            (None, false) => writeln!(text, "took {blocks} out of {name}"),
        };
    }
    if cleared.waiting > 0 {
        let _ = writeln!(text, "forgot {} that could not be delivered", count(cleared.waiting, "text"));
    }
    if cleared.records > 0 {
        let _ = writeln!(text, "forgot {}", count(cleared.records, "record"));
    }
    if text.is_empty() {
        let _ = writeln!(text, "there was nothing to clear in {}", output::plain(&cleared.project));
    }
    text
}
