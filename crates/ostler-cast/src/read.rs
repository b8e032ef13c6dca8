//! Event lines back to events.

use std::time::Duration;

use serde::Deserialize;

use crate::Header;

/// A recording read from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// What the file says about itself.
    pub header: Header,
    /// The events in the order of the file.
    pub events: Vec<Event>,
    /// The last line was cut short, as by a crash of the writer, and is left out of `events`.
    pub truncated: bool,
}

/// One thing that happened in the recorded terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The time since the recording began.
    pub at: Duration,
    /// What happened.
    pub kind: EventKind,
}

/// What happened in the recorded terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// The program wrote to the terminal.
    Output(String),
    /// Something was typed into the terminal.
    Input(String),
    /// The terminal changed its size.
    Resize {
        /// New columns.
        cols: u16,
        /// New rows.
        rows: u16,
    },
    /// Someone marked this moment.
    Marker(String),
    /// An event this version does not know.
    Other {
        /// The event's code.
        code: String,
        /// The event's data.
        data: String,
    },
}

/// Why a text is not an asciicast v2 recording.
#[derive(Debug, thiserror::Error)]
pub enum CastError {
    /// The text has no line at all.
    #[error("the recording is empty")]
    Empty,
    /// The first line is not a header.
    #[error("line {line} is not an asciicast header: {source}")]
    Header {
        /// The line's number, from 1.
        line: usize,
        /// What the JSON parser said.
        source: serde_json::Error,
    },
    /// The header names another version of the format.
    #[error("asciicast version {0} is not supported, only version 2")]
    Version(u64),
    /// A line in the middle is not an event.
    #[error("line {line} is not an asciicast event: {reason}")]
    Event {
        /// The line's number, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

#[derive(Deserialize)]
struct RawHeader {
    width: u16,
    height: u16,
    // Some writers use fractions of a second.
    timestamp: Option<serde_json::Number>,
    title: Option<String>,
    command: Option<String>,
    env: Option<std::collections::BTreeMap<String, serde_json::Value>>,
    #[serde(default)]
    ostler: RawAgent,
}

#[derive(Default, Deserialize)]
struct RawAgent {
    agent: Option<String>,
    version: Option<String>,
}

impl Recording {
    /// Reads a whole recording.
    ///
    /// Blank lines are skipped. A last line without a newline that is not an event was cut short while it was
    /// written: it sets [`Recording::truncated`].
    pub fn parse(text: &str) -> Result<Self, CastError> {
        let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()).peekable();
        let (line, first) = lines.next().ok_or(CastError::Empty)?;
        let header = parse_header(line, first)?;
        let (mut events, mut truncated) = (Vec::new(), false);
        while let Some((line, event)) = lines.next() {
            match parse_event(event) {
                Ok(event) => events.push(event),
                Err(_) if lines.peek().is_none() && !text.ends_with('\n') => truncated = true,
                Err(reason) => return Err(CastError::Event { line, reason }),
            }
        }
        Ok(Self { header, events, truncated })
    }
}

fn parse_header(line: usize, text: &str) -> Result<Header, CastError> {
    /// Read on its own first: other versions shape the rest of the header differently.
    #[derive(Deserialize)]
    struct Version {
        version: u64,
    }
    let bad = |source| CastError::Header { line, source };
    let Version { version } = serde_json::from_str(text).map_err(bad)?;
    if version != 2 {
        return Err(CastError::Version(version));
    }
    let raw: RawHeader = serde_json::from_str(text).map_err(bad)?;
    let term = raw.env.as_ref().and_then(|env| env.get("TERM")).and_then(|term| term.as_str());
    Ok(Header {
        width: raw.width,
        height: raw.height,
        timestamp: raw.timestamp.and_then(|number| seconds(&number)).map(|at| at.as_secs()),
        title: raw.title,
        command: raw.command,
        term: term.map(str::to_owned),
        agent: raw.ostler.agent,
        agent_version: raw.ostler.version,
    })
}

fn seconds(number: &serde_json::Number) -> Option<Duration> {
    Duration::try_from_secs_f64(number.as_f64()?).ok()
}

fn parse_event(line: &str) -> Result<Event, String> {
    let (at, code, data): (serde_json::Number, String, String) =
        serde_json::from_str(line).map_err(|error| error.to_string())?;
    let at = seconds(&at).ok_or_else(|| format!("{at} is not a time"))?;
    let kind = match code.as_str() {
        "o" => EventKind::Output(data),
        "i" => EventKind::Input(data),
        "m" => EventKind::Marker(data),
        "r" => {
            let size =
                data.split_once('x').and_then(|(cols, rows)| Some((cols.parse().ok()?, rows.parse().ok()?)));
            let (cols, rows) = size.ok_or_else(|| format!("{data:?} is not a size like 80x24"))?;
            EventKind::Resize { cols, rows }
        }
        _ => EventKind::Other { code, data },
    };
    Ok(Event { at, kind })
}
