//! Printing: JSON for programs, tables for people.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use jiff::Timestamp;
use ostler_core::State;
use ostler_core::awaited::{Awaited, AwaitedThing};
use ostler_protocol::SessionInfo;
use serde::Serialize;

use crate::commands::newer_than_recorded;
use crate::error::{CommandError, Kind};

/// Prints text; where the reader has gone away, the command ends, and that is no failure.
pub(crate) fn print(text: &str) -> Result<(), CommandError> {
    print_bytes(text.as_bytes())
}

/// Prints bytes as they are.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), CommandError> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(CommandError::reader_gone()),
        other => Ok(other?),
    }
}

/// Prints a value as one line of JSON.
pub(crate) fn json<T: Serialize>(value: &T) -> Result<(), CommandError> {
    let text =
        serde_json::to_string(value).map_err(|error| CommandError::new(Kind::Internal, error.to_string()))?;
    print(&format!("{}\n", without_controls(&text)))
}

/// Whether a character changes the order in which a terminal shows others, so that a text reads as another one.
fn reorders(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Writes what would steer a terminal as escapes: control characters but line ends and tabs, and those that reorder.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let steers = |c: char| c.is_control() && !matches!(c, '\n' | '\t') || reorders(c);
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let escaped = |c: char| if steers(c) { c.escape_unicode().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(escaped).collect())
}

/// Writes the characters that JSON leaves as they are and that steer a terminal (DEL, the C1 set, those that reorder)
/// as escapes.
fn without_controls(json: &str) -> Cow<'_, str> {
    let steers = |c: char| matches!(c, '\u{7f}'..='\u{9f}') || reorders(c);
    if !json.contains(steers) {
        return Cow::Borrowed(json);
    }
    let escaped = |c: char| if steers(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    Cow::Owned(json.chars().map(escaped).collect())
}

/// Whether output may be coloured: a terminal, and nobody said `NO_COLOR`.
fn colours() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// A state in its colour, padded to `width`.
fn state(state: State, width: usize) -> String {
    let colour = match state {
        State::Idle => "32",
        State::Working | State::Starting | State::Watching => "36",
        State::Blocked | State::Limited => "33",
        State::Error => "31",
        State::Exited | State::Unknown => "2",
    };
    if colours() { format!("\x1b[{colour}m{state:width$}\x1b[0m") } else { format!("{state:width$}") }
}

/// How long ago, in the largest unit that says something.
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(at).as_secs().max(0);
    match seconds {
        0..=119 => format!("{seconds}s"),
        120..=7_199 => format!("{}m", seconds / 60),
        7_200..=172_799 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Text from a program, fit for a terminal and one line.
pub(crate) fn plain(text: &str) -> String {
    let line = ostler_screen::SafeText::new(text).as_str().replace(['\n', '\t'], " ");
    visible(&line).into_owned()
}

/// A table of sessions.
pub(crate) fn sessions(sessions: &[SessionInfo], now: Timestamp) -> String {
    let width = sessions.iter().map(|session| session.name.len()).max().unwrap_or(0).max(4);
    let mut lines = vec![format!("{:width$}  {:8}  {:5}  {:>8}  COMMAND", "NAME", "STATE", "SINCE", "PID")];
    lines.extend(sessions.iter().map(|session| {
        let running = session.pid.filter(|_| session.state != State::Exited);
        let pid = running.map_or("-".to_owned(), |pid| pid.to_string());
        let kind = session.kind.as_ref().map_or_else(String::new, |kind| format!(" ({kind})"));
        let state = state(session.state, 8);
        let since = ago(session.since, now);
        let command = plain(&session.command.join(" "));
        let asks = session
            .questions
            .first()
            .map_or_else(String::new, |question| format!(" (asks you: {})", question.id));
        format!("{:width$}  {state}  {since:5}  {pid:>8}  {command}{kind}{asks}", session.name)
    }));
    lines.join("\n") + "\n"
}

/// Everything about one session.
pub(crate) fn session(session: &SessionInfo, now: Timestamp) -> String {
    let mut lines = vec![
        ("name", session.name.clone()),
        ("state", {
            let kind = session.kind.as_ref().map_or_else(String::new, |kind| format!(" ({kind})"));
            format!("{}{kind} for {}", state(session.state, 0), ago(session.since, now))
        }),
        ("because", plain(&session.because.join("; "))),
        ("command", plain(&session.command.join(" "))),
        ("directory", plain(&session.cwd)),
        ("terminal", format!("{}x{}, {} bytes of output", session.cols, session.rows, session.output)),
    ];
    if let Some(line) = newer_than_recorded(session) {
        lines.push(("version", plain(&line)));
    }
    if let Some(title) = &session.title {
        lines.push(("title", plain(title)));
    }
    if let Some(pid) = session.pid.filter(|_| session.exit.is_none()) {
        let holder = session.holder.map_or_else(String::new, |holder| format!(", held by {holder}"));
        lines.push(("process", format!("{pid}{holder}")));
    }
    for past in &session.past {
        let reason = past.reason.as_ref().map_or_else(String::new, |reason| format!(": {}", plain(reason)));
        let text = format!("process {} {}{reason}, {} ago", past.number, past.how, ago(past.ended, now));
        lines.push(("earlier", text));
    }
    if let Some(terminal) = &session.terminal {
        let mode = if terminal.canonical { "collects lines" } else { "raw" };
        let echo = if terminal.echo { ", echoes" } else { "" };
        let reader = terminal.foreground.map_or_else(String::new, |group| format!(", read by group {group}"));
        let pending =
            if terminal.pending > 0 { format!(", {} bytes unread", terminal.pending) } else { String::new() };
        lines.push(("input", format!("{mode}{echo}{reader}{pending}")));
    }
    if let Some(state) = session.claims.as_ref().and_then(|claims| claims["state"].as_str()) {
        lines.push(("claims", format!("to be {} (its own word)", plain(state))));
    }
    if session.waiting > 0 {
        lines.push(("messages", format!("{} waiting to be typed", session.waiting)));
    }
    if let Some(text) = session.deliveries.as_ref().map(prompts) {
        lines.push(("prompts", text));
    }
    for question in &session.questions {
        let text = format!("{}: {} (ostler ask answer {0} TEXT)", question.id, plain(&question.question));
        lines.push(("asks you", text));
    }
    if let Some(progress) = &session.progress {
        let percent = progress.percent.map_or_else(String::new, |percent| format!(" ({percent} %)"));
        let text = format!("{}{percent}, {} ago", plain(&progress.text), ago(progress.at, now));
        lines.push(("progress", text));
    }
    if let Some(awaited) = &session.awaited {
        lines.push(("waits for", plain(&waited_for(awaited))));
    }
    if let Some(exit) = &session.exit {
        lines.push(("used", format!("{:.2} s of CPU, {} KiB of memory at most", exit.cpu, exit.max_rss_kib)));
        if !exit.survivors.is_empty() {
            let pids: Vec<String> = exit.survivors.iter().map(u32::to_string).collect();
            lines.push(("left over", format!("processes {} (ostler stop ends them)", pids.join(", "))));
        }
    }
    if let Some(standing) = &session.carry_on {
        lines.push(("carry-on", crate::commands::carry_on_line(standing)));
    }
    lines.push(("id", session.id.clone()));
    lines.push(("files", session.dir.clone()));
    let lines: Vec<String> = lines.iter().map(|(name, value)| format!("{name:10} {value}")).collect();
    lines.join("\n") + "\n"
}

/// What an agent waits for, in words.
fn waited_for(awaited: &Awaited) -> String {
    let what = match &awaited.what {
        AwaitedThing::Process { pid, .. } => format!("process {pid}"),
        AwaitedThing::Shell { name } => format!("its shell {name}"),
        AwaitedThing::File { path } => format!("the file {path}"),
        AwaitedThing::Time => "a time".to_owned(),
    };
    let until = awaited.until.and_then(|at| Timestamp::from_millisecond(i64::try_from(at.0).ok()?).ok());
    let until = until.map_or_else(String::new, |at| format!(", until {at:.0} at most"));
    let note = awaited.note.as_ref().map_or_else(String::new, |note| format!(": {note}"));
    format!("{what}{until}{note}")
}

/// What became of a session's prompts, in words.
fn prompts(counts: &serde_json::Map<String, serde_json::Value>) -> String {
    let count = |name: &str| counts.get(name).and_then(serde_json::Value::as_u64).unwrap_or(0);
    let told = |name: &str, word: &str| Some(count(name)).filter(|n| *n > 0).map(|n| format!("{n} {word}"));
    let taken = format!("{} of {} taken", count("submitted"), count("sent"));
    let at_once = told("first_try", "at the first try");
    let rest = [
        told("acknowledged", "confirmed"),
        told("escalated", "by another way"),
        told("waiting", "waiting"),
        told("uncertain", "uncertain"),
        told("failed", "failed"),
    ];
    let rates = [
        ("overall", "arrived"),
        ("first_try", "at once"),
        ("acknowledged", "confirmed"),
        ("visible", "of contexts seen"),
    ];
    let percent = |(name, word): (&str, &str)| Some(format!("{:.0} % {word}", rate(counts, name)? * 100.0));
    let rates: Vec<String> = rates.into_iter().filter_map(percent).collect();
    let told = [Some(taken), at_once].into_iter().chain(rest).flatten().collect::<Vec<_>>().join(", ");
    if rates.is_empty() { told } else { format!("{told} ({})", rates.join(", ")) }
}

/// A success rate by its name, if there is anything that it could be of: `first_try` and `overall` of the prompts that came
/// to an end, `acknowledged` of those that should be, `visible` of what agents have to know.
pub(crate) fn rate(counts: &serde_json::Map<String, serde_json::Value>, name: &str) -> Option<f64> {
    let count = |name: &str| counts.get(name).and_then(serde_json::Value::as_u64).unwrap_or(0);
    let ended = count("submitted") + count("failed") + count("uncertain");
    let (part, whole) = match name {
        "first_try" => (count("first_try"), ended),
        "overall" => (count("submitted"), ended),
        "acknowledged" => (count("acknowledged"), count("ack_wanted")),
        "visible" => (count("contexts_visible"), count("contexts")),
        _ => return None,
    };
    #[expect(clippy::cast_precision_loss, reason = "for people and graphs")]
    let rate = part.min(whole) as f64 / whole as f64;
    (whole > 0).then_some(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_of_prompts_is_told_in_words() {
        let counts =
            serde_json::json!({ "sent": 5, "submitted": 3, "first_try": 2, "uncertain": 1, "waiting": 1 });
        let text = prompts(counts.as_object().unwrap());
        assert_eq!(
            text,
            "3 of 5 taken, 2 at the first try, 1 waiting, 1 uncertain (75 % arrived, 50 % at once)"
        );
        let counts = serde_json::json!({ "sent": 1, "waiting": 1, "ack_wanted": 4, "acknowledged": 3, "contexts": 2, "contexts_visible": 2 });
        let text = prompts(counts.as_object().unwrap());
        assert_eq!(text, "0 of 1 taken, 3 confirmed, 1 waiting (75 % confirmed, 100 % of contexts seen)");
        assert_eq!(prompts(serde_json::json!({ "sent": 1 }).as_object().unwrap()), "0 of 1 taken");
    }

    #[test]
    fn durations_are_told_in_their_largest_unit() {
        let at = |seconds: i64| Timestamp::from_second(seconds).unwrap();
        for (seconds, text) in [(0, "0s"), (119, "119s"), (120, "2m"), (7_200, "2h"), (172_800, "2d")] {
            assert_eq!(ago(at(1_000), at(1_000 + seconds)), text);
        }
        assert_eq!(ago(at(5), at(1)), "0s");
    }

    #[test]
    fn json_steers_no_terminal_and_means_the_same() {
        let hostile = "a\u{9b}2J\u{7f}é";
        let json = without_controls(&serde_json::to_string(hostile).unwrap()).into_owned();
        assert!(!json.contains(['\u{9b}', '\u{7f}']));
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), hostile);
    }

    #[test]
    fn a_hostile_title_does_not_reach_the_terminal() {
        assert_eq!(plain("a\x1b]0;x\x07b\nc"), "a]0;xb c");
        assert_eq!(plain("rm\u{202e}x"), "rm\\u{202e}x");
    }

    #[test]
    fn what_steers_a_terminal_is_shown_as_an_escape() {
        assert_eq!(visible("plain ü\n\tمرحبا"), "plain ü\n\tمرحبا");
        assert_eq!(visible("a\x1b[2J\u{202e}b\r"), "a\\u{1b}[2J\\u{202e}b\\u{d}");
        let json = serde_json::to_string("\u{2066}").unwrap();
        assert_eq!(without_controls(&json), "\"\\u2066\"");
    }
}
