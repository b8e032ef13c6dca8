//! `ostler screen`

use std::process::ExitCode;

use ostler_protocol::{SessionInfo, Since, ViewRequest};
use ostler_screen::{Screen, Size};
use serde::Serialize;

use super::view::{self, Event};
use crate::cli;
use crate::error::CommandError;
use crate::output;

#[derive(Serialize)]
struct ScreenJson {
    name: String,
    state: ostler_core::State,
    text: String,
    #[serde(flatten)]
    screen: ostler_screen::Snapshot,
}

pub(crate) fn run(args: &cli::Screen) -> Result<ExitCode, CommandError> {
    let (session, screen) = look(&args.name)?;
    if args.json {
        let (name, state) = (session.name, session.state);
        output::json(&ScreenJson { name, state, text: screen.text(), screen: screen.snapshot() })?;
    } else if args.ansi {
        let mut bytes = screen.to_ansi();
        bytes.extend_from_slice(b"\x1b[0m\n");
        output::print_bytes(&bytes)?;
    } else {
        output::print(&format!("{}\n", output::visible(&screen.text())))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A session and its screen as they are now.
pub(super) fn look(name: &str) -> Result<(Box<SessionInfo>, Screen), CommandError> {
    let request = ViewRequest { name: name.to_owned(), since: Since::Screen, follow: false, keys: None };
    let mut view = view::open(request)?;
    let mut screen = Screen::new(Size::clamped(view.session.cols, view.session.rows), 0);
    loop {
        match view.next()? {
            Event::Bytes(bytes) => drop(screen.feed(&bytes)),
            Event::Ended(session) => return Ok((session, screen)),
            Event::Resized(..) | Event::Restarted(_) => {}
        }
    }
}
