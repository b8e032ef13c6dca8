//! `ostler logs`

mod lines;
mod painted;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ostler_protocol::{SessionInfo, Since, ViewRequest};
use ostler_screen::asciicast::{EventKind, Recording};
use ostler_screen::{Screen, Size};

use self::lines::{Lines, SCROLLBACK};
use super::view::{self, Event};
use crate::cli::Logs;
use crate::error::CommandError;
use crate::output;

/// A screen that is followed and did not change for so long is at rest.
const QUIET: Duration = Duration::from_millis(400);
/// One that always changes is looked at this often.
const GLANCE: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &Logs) -> Result<ExitCode, CommandError> {
    let request =
        ViewRequest { name: args.name.clone(), since: Since::Oldest, follow: args.follow, keys: None };
    let mut view = view::open(request)?;
    if args.raw {
        return raw(view);
    }
    let mut lines = Lines::new(Size::clamped(view.session.cols, view.session.rows));
    let missing = match view.missing {
        0 => 0,
        missing => missing.saturating_sub(recorded(&view.session, missing, &mut lines)?),
    };
    if missing > 0 {
        note(missing);
    }
    let mut looked = Instant::now();
    loop {
        if args.follow && !view.wait(QUIET)? {
            say(&lines.still(true))?;
            looked = Instant::now();
        }
        match view.next()? {
            Event::Bytes(bytes) => {
                say(&lines.feed(&bytes, args.follow))?;
                if args.follow && looked.elapsed() >= GLANCE {
                    say(&lines.still(false))?;
                    looked = Instant::now();
                }
            }
            Event::Resized(cols, rows) => lines.resize(Size::clamped(cols, rows)),
            Event::Restarted(missing) => {
                note(missing);
                say(&lines.rest())?;
                lines = Lines::new(lines.size());
            }
            Event::Ended(_) => break,
        }
    }
    say(&lines.rest())?;
    Ok(ExitCode::SUCCESS)
}

/// The bytes as the program wrote them.
fn raw(mut view: view::View) -> Result<ExitCode, CommandError> {
    if view.missing > 0 {
        note(view.missing);
    }
    loop {
        match view.next()? {
            Event::Bytes(bytes) => output::print_bytes(&bytes)?,
            Event::Restarted(missing) => note(missing),
            Event::Resized(..) => {}
            Event::Ended(_) => return Ok(ExitCode::SUCCESS),
        }
    }
}

/// What a program that has ended left in its terminal, above its last row too: what it showed on another screen is gone with
/// that.
pub(super) fn left_by(name: &str) -> Result<String, CommandError> {
    let request = ViewRequest { name: name.to_owned(), since: Since::Oldest, follow: false, keys: None };
    let mut view = view::open(request)?;
    let mut screen = Screen::new(Size::clamped(view.session.cols, view.session.rows), SCROLLBACK);
    loop {
        match view.next()? {
            Event::Bytes(bytes) => drop(screen.feed(&bytes)),
            Event::Resized(cols, rows) => screen.resize(Size::clamped(cols, rows)),
            Event::Restarted(_) => {}
            Event::Ended(_) => break,
        }
    }
    // One that was killed has not left its other screen.
    drop(screen.feed(b"\x1b[?1049l"));
    let text = screen.history_text().join("\n");
    let text = text.trim_end().trim_start_matches('\n');
    Ok(if text.is_empty() { String::new() } else { format!("{text}\n") })
}

/// Reads what is no longer kept otherwise from the session's recording, if there is one; returns how much that was.
fn recorded(session: &SessionInfo, missing: u64, lines: &mut Lines) -> Result<u64, CommandError> {
    let Ok(text) = std::fs::read_to_string(Path::new(&session.dir).join("session.cast")) else {
        return Ok(0);
    };
    // The last line may be in the midst of being written.
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    let Ok(recording) = Recording::parse(whole) else { return Ok(0) };
    lines.resize(Size::clamped(recording.header.width, recording.header.height));
    let mut read = 0;
    for event in recording.events {
        match event.kind {
            EventKind::Output(text) if read < missing => {
                let left = usize::try_from(missing - read).unwrap_or(usize::MAX);
                let part = &text.as_bytes()[..text.len().min(left)];
                say(&lines.feed(part, false))?;
                read += part.len() as u64;
            }
            EventKind::Resize { cols, rows } if read < missing => lines.resize(Size::clamped(cols, rows)),
            _ => {}
        }
    }
    Ok(read)
}

fn say(text: &str) -> Result<(), CommandError> {
    if text.is_empty() { Ok(()) } else { output::print(&output::visible(text)) }
}

fn note(missing: u64) {
    let _ = writeln!(std::io::stderr(), "ostler: {missing} earlier bytes of output are no longer kept");
}
