//! What an agent should know when it begins, put together within a number of bytes.
//!
//! Three things compete for the space: the task, what was done before, and code that has to do with the task. Each
//! gets what it needs if there is room for all; else each gets its share, and what one does not need goes to the
//! others. Whatever is left out is said to be.

mod shares;

use std::fmt::Write as _;

use jiff::Timestamp;
use ostler_core::continuity::{Record, Source};

use shares::divide;

/// The usual size, in bytes.
pub const BUDGET: usize = 8 << 10;

/// Records that are told of, at most: what is older is out of date.
const RECORDS: usize = 8;
/// A record that would have less space than this is left out.
const SMALLEST_RECORD: usize = 160;
/// Commits and files of a record that are told.
const COMMITS: usize = 5;
const FILES: usize = 12;
/// What a summary ends in that was cut.
const CUT: &str = "> [cut]\n";
/// Room that is kept for a word on what is left out.
const NOTE: usize = 120;

/// What to make a context of.
#[derive(Debug, Clone, Copy, Default)]
pub struct Parts<'a> {
    /// The root of the project.
    pub project: &'a str,
    /// What the agent is to do.
    pub task: Option<&'a str>,
    /// What was done before, newest first.
    pub records: &'a [Record],
    /// Code that has to do with the task, best first.
    pub places: &'a [Place],
}

/// A line of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, seen from the project.
    pub file: String,
    /// The number of the line, from 1.
    pub line: u64,
    /// The line.
    pub text: String,
}

/// The heading of what was done before.
pub const EARLIER: &str = "## Earlier work in this project";

/// Puts a context together, in Markdown: at most `budget` bytes, nothing at all if there is nothing to tell.
pub fn assemble(parts: &Parts<'_>, budget: usize) -> String {
    let title = format!("# Context for {}\n", one_line(parts.project, 300));
    let task = parts.task.map(str::trim).filter(|task| !task.is_empty());
    // In their order, with their weights where there is not enough room.
    let sections: [(&str, usize, Section<'_>); 3] = [
        ("## Task", 3, Section::Task(task)),
        (EARLIER, 5, Section::Records(parts.records)),
        ("## Code that may have to do with the task", 2, Section::Places(parts.places)),
    ];
    let sections: Vec<_> = sections.into_iter().filter(|(_, _, section)| !section.is_empty()).collect();
    if sections.is_empty() {
        return String::new();
    }
    // A blank line, the heading, a blank line.
    let headings: usize = sections.iter().map(|(heading, ..)| heading.len() + 3).sum();
    let Some(room) = budget.checked_sub(title.len() + headings) else {
        return String::new();
    };
    let wishes: Vec<(usize, usize)> =
        sections.iter().map(|(_, weight, section)| (section.fit(usize::MAX).len(), *weight)).collect();
    let mut text = title;
    for ((heading, _, section), share) in sections.iter().zip(divide(room, &wishes)) {
        let body = section.fit(share);
        if !body.is_empty() {
            let _ = write!(text, "\n{heading}\n\n{body}");
        }
    }
    text
}

/// What one section is made of.
enum Section<'a> {
    Task(Option<&'a str>),
    Records(&'a [Record]),
    Places(&'a [Place]),
}

impl Section<'_> {
    fn is_empty(&self) -> bool {
        match self {
            Self::Task(task) => task.is_none(),
            Self::Records(records) => records.is_empty(),
            Self::Places(places) => places.is_empty(),
        }
    }

    /// The section in at most so many bytes, ending in a newline if there is anything in it.
    fn fit(&self, room: usize) -> String {
        match self {
            Self::Task(task) => {
                fit_text(&ostler_screen::SafeText::new(task.unwrap_or_default()).to_string(), room)
            }
            Self::Records(records) => fit_records(records, room),
            Self::Places(places) => fit_places(places, room),
        }
    }
}

/// Text that is cut at its end, with a word on what is missing.
fn fit_text(text: &str, room: usize) -> String {
    if text.len() < room {
        return format!("{text}\n");
    }
    let Some(left) = room.checked_sub(NOTE) else { return String::new() };
    let kept = text[..text.floor_char_boundary(left)].trim_end();
    format!("{kept}\n[cut: {} more bytes]\n", text.len() - kept.len())
}

fn fit_records(records: &[Record], room: usize) -> String {
    let newest = &records[..records.len().min(RECORDS)];
    let whole: Vec<String> = newest.iter().map(|record| record_text(record, usize::MAX)).collect();
    let text = with_note(&whole.join("\n"), records.len() - newest.len());
    if text.len() <= room {
        return text;
    }
    let Some(mut left) = room.checked_sub(NOTE) else { return String::new() };
    let mut told: Vec<String> = Vec::new();
    for (index, (record, whole)) in newest.iter().zip(whole).enumerate() {
        // The newest matters most, and not alone.
        let is_last = index + 1 == newest.len();
        let share = if is_last { left } else { (left / 2).max(SMALLEST_RECORD) };
        let entry = if whole.len() <= share { whole } else { record_text(record, share) };
        // With the blank line that comes before it.
        if entry.is_empty() || entry.len() + 1 > left {
            break;
        }
        left -= entry.len() + 1;
        told.push(entry);
    }
    with_note(&told.join("\n"), records.len() - told.len())
}

fn with_note(text: &str, missing: usize) -> String {
    match missing {
        0 => text.to_owned(),
        missing => {
            let blank = if text.is_empty() { "" } else { "\n" };
            format!("{text}{blank}[{missing} more left out: `ostler context show` has them]\n")
        }
    }
}

/// A record in at most so many bytes; nothing if even its head does not fit.
fn record_text(record: &Record, room: usize) -> String {
    let mut head = format!("### {}", moment(record));
    match (&record.session, &record.agent) {
        (Some(session), Some(agent)) => _ = write!(head, ", session {session} ({agent})"),
        (Some(session), None) => _ = write!(head, ", session {session}"),
        (None, Some(agent)) => _ = write!(head, ", {agent}"),
        (None, None) => {}
    }
    head.push_str(match record.source {
        Source::Person => ", noted by a person\n",
        Source::Agent => ", noted by the agent\n",
        Source::Session => "\n",
    });
    let Some(left) = room.checked_sub(head.len()) else { return String::new() };
    let mut open = String::new();
    if !record.open.is_empty() {
        open.push_str("Open:\n");
        record.open.iter().for_each(|point| _ = writeln!(open, "- {point}"));
    }
    let (summary, state) = (quoted(&record.summary), state(record));
    let shares = divide(left, &[(summary.len(), 4), (open.len(), 4), (state.len(), 2)]);
    let summary = match shares[0].checked_sub(CUT.len()) {
        _ if summary.len() <= shares[0] => summary,
        Some(room) => fit_lines(&summary, room) + CUT,
        None => String::new(),
    };
    format!("{head}{summary}{}{}", fit_lines(&open, shares[1]), fit_lines(&state, shares[2]))
}

/// In what state the work tree was left.
fn state(record: &Record) -> String {
    let first = |entries: &[String], most: usize, joint: &str| {
        let missing = entries.len().saturating_sub(most);
        let mut text = entries[..entries.len() - missing].join(joint);
        if missing > 0 {
            let _ = write!(text, "{joint}… and {missing} more");
        }
        text
    };
    let branch = record.branch.as_ref().map(|branch| format!("branch {branch}"));
    let at: Vec<String> = branch.into_iter().chain(record.commit.clone()).collect();
    let mut state = String::new();
    if !at.is_empty() {
        let _ = writeln!(state, "At: {}", at.join(", "));
    }
    if !record.commits.is_empty() {
        let _ = writeln!(state, "Commits: {}", first(&record.commits, COMMITS, "; "));
    }
    if !record.files.is_empty() {
        let _ = writeln!(state, "Changed files: {}", first(&record.files, FILES, ", "));
    }
    state
}

/// As many whole lines as fit; of the first, its beginning.
fn fit_lines(text: &str, room: usize) -> String {
    let mut kept = String::new();
    for line in text.split_inclusive('\n') {
        if kept.len() + line.len() > room {
            let rest = room - kept.len();
            if rest > 40 {
                kept.push_str(line[..line.floor_char_boundary(rest - 4)].trim_end());
                kept.push_str("…\n");
            }
            break;
        }
        kept.push_str(line);
    }
    kept
}

/// Text of somebody else, as Markdown quotes it: it cannot be taken for a section of ours.
fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for line in text.trim().lines() {
        let _ = writeln!(quoted, "{}", format!("> {line}").trim_end());
    }
    quoted
}

fn fit_places(places: &[Place], room: usize) -> String {
    let lines: Vec<String> = places
        .iter()
        .map(|place| {
            let (file, text) = (one_line(&place.file, 300), one_line(&place.text, 160));
            format!("- {file}:{}: {text}\n", place.line)
        })
        .collect();
    let whole: usize = lines.iter().map(String::len).sum();
    let left = if whole <= room { room } else { room.saturating_sub(NOTE) };
    let (mut text, mut missing) = (String::new(), lines.len());
    for line in &lines {
        if text.len() + line.len() > left {
            break;
        }
        text.push_str(line);
        missing -= 1;
    }
    if missing > 0 && room >= NOTE {
        let _ = writeln!(text, "[{missing} more places left out]");
    }
    text
}

fn moment(record: &Record) -> String {
    i64::try_from(record.at.0)
        .ok()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok())
        .map(|at| at.strftime("%Y-%m-%d %H:%M UTC").to_string())
        .unwrap_or_default()
}

fn one_line(text: &str, longest: usize) -> String {
    let text: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    ostler_core::continuity::cut(&text, longest)
}

#[cfg(test)]
mod tests;
