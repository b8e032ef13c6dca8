//! `ostler logs`

use std::io::Write;
use std::process::ExitCode;

use ostler_protocol::{Since, ViewRequest};
use ostler_screen::{Screen, Size};

use super::view::{self, Event};
use crate::cli::Logs;
use crate::error::CommandError;
use crate::output;

/// Lines that a program may redraw before they are printed; what scrolls out of this was long printed.
const SCROLLBACK: usize = 10_000;

pub(crate) fn run(args: &Logs) -> Result<ExitCode, CommandError> {
    let request =
        ViewRequest { name: args.name.clone(), since: Since::Oldest, follow: args.follow, keys: None };
    let mut view = view::open(request)?;
    if view.missing > 0 {
        note(view.missing);
    }
    let size = Size::clamped(view.session.cols, view.session.rows);
    let mut lines = (!args.raw).then(|| Lines::new(size));
    loop {
        match view.next()? {
            Event::Bytes(bytes) => match &mut lines {
                Some(lines) => {
                    let finished = lines.feed(&bytes, args.follow);
                    output::print(&output::visible(&finished))?;
                }
                None => output::print_bytes(&bytes)?,
            },
            Event::Resized(cols, rows) => {
                if let Some(lines) = &mut lines {
                    lines.screen.resize(Size::clamped(cols, rows));
                }
            }
            Event::Restarted(missing) => {
                note(missing);
                if let Some(lines) = &mut lines {
                    let rest = lines.rest();
                    output::print(&output::visible(&rest))?;
                    *lines = Lines::new(lines.screen.size());
                }
            }
            Event::Ended(_) => break,
        }
    }
    if let Some(mut lines) = lines {
        output::print(&output::visible(&lines.rest()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn note(missing: u64) {
    let _ = writeln!(std::io::stderr(), "ostler: {missing} earlier bytes of output are no longer kept");
}

/// Turns output into lines of text: a line is finished when the cursor has left it downwards.
struct Lines {
    screen: Screen,
    /// Absolute number of the first line that was not printed.
    next: u64,
}

impl Lines {
    fn new(size: Size) -> Self {
        Self { screen: Screen::new(size, SCROLLBACK), next: 0 }
    }

    /// Takes output and returns the lines that are finished by it. A full-screen program has none.
    fn feed(&mut self, bytes: &[u8], now: bool) -> String {
        let mut out = String::new();
        // Pieces small enough that no line scrolls away unprinted.
        for piece in bytes.chunks(SCROLLBACK) {
            drop(self.screen.feed(piece));
            if now || self.screen.top_line() - self.screen.first_line() > SCROLLBACK as u64 / 2 {
                out += &self.finished();
            }
        }
        out
    }

    fn finished(&mut self) -> String {
        if self.screen.modes().alternate_screen {
            return String::new();
        }
        let end = self.screen.top_line() + u64::from(self.screen.cursor().row);
        self.take(end)
    }

    /// What is on the screen at the end.
    fn rest(&mut self) -> String {
        let all = self.screen.first_line() + self.screen.history_text().len() as u64;
        let rest = self.take(all);
        let text = rest.trim_end_matches('\n');
        if text.is_empty() { String::new() } else { format!("{text}\n") }
    }

    fn take(&mut self, end: u64) -> String {
        let first = self.screen.first_line();
        let begin = self.next.max(first);
        if end <= begin {
            return String::new();
        }
        let skip = usize::try_from(begin - first).unwrap_or(usize::MAX);
        let count = usize::try_from(end - begin).unwrap_or(usize::MAX);
        self.next = end;
        let lines = self.screen.history_text();
        lines.iter().skip(skip).take(count).flat_map(|line| [line.as_str(), "\n"]).collect()
    }
}
