//! `ostler transcript`

use std::process::ExitCode;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ostler_protocol::{Request, Response, TranscriptEntry, TranscriptPage};

use crate::cli::Transcript;
use crate::error::CommandError;
use crate::{client, output};

pub(crate) fn run(args: &Transcript) -> Result<ExitCode, CommandError> {
    let since = args.since.map(|since| since.moment(Timestamp::now()));
    let mut after = None;
    // What is there comes first, and is not waited for.
    let mut follow = false;
    loop {
        let request = Request::Transcript { name: args.name.clone(), after: after.take(), follow };
        let Response::Transcript(page) = client::call(&request)? else { return Err(super::unexpected()) };
        let TranscriptPage { entries, next, more, ended } = page;
        for entry in &entries {
            let is_wanted = entry.at.is_none_or(|at| since.is_none_or(|since| at >= since));
            if !is_wanted {
                continue;
            }
            if args.json {
                output::json(entry)?;
            } else if let Some(text) = text(entry) {
                output::print(&output::visible(&text))?;
            }
        }
        if !more && (!args.follow || ended) {
            return Ok(ExitCode::SUCCESS);
        }
        after = Some(next);
        follow = args.follow && !more;
    }
}

/// An entry as people read it.
fn text(entry: &TranscriptEntry) -> Option<String> {
    let head = match entry.kind.as_str() {
        "prompt" => ">".to_owned(),
        "said" => String::new(),
        "ended" => return None,
        kind => format!("({kind})"),
    };
    let at = entry.at.map(|at| format!("[{}] ", clock_time(at))).unwrap_or_default();
    let gap = if head.is_empty() || entry.text.is_empty() { "" } else { " " };
    Some(format!("{at}{head}{gap}{}\n\n", entry.text))
}

/// A moment as clocks here show it.
pub(super) fn clock_time(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}
