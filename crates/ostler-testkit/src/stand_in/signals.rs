//! What the stand-in tells the terminal beside its screen: modes, queries, title, status.

use std::time::Duration;

use super::app::{App, Phase};
use super::menu::MenuKind;
use super::options::{Options, StatusMode};
use super::turn::Outcome;

/// Time between two frames of the spinner.
const SPIN: Duration = Duration::from_millis(120);

const SPINNER: [&str; 6] = ["·", "✢", "✳", "✶", "✻", "✽"];
const TITLE_SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

const STATUS_QUERY: &str = "\x1b]7501;?\x1b\\";

/// DA1, cursor position, keyboard flags, terminal version, background colour.
const QUERIES: &str = "\x1b[c\x1b[6n\x1b[?u\x1b[>0q\x1b]11;?\x1b\\";

/// What is written before the first frame.
pub(super) fn setup(options: &Options) -> Vec<u8> {
    let mut text = String::new();
    if !options.look.cooked {
        text.push_str(if options.look.alt_screen {
            "\x1b[?1049h\x1b[2J\x1b[?2004h"
        } else {
            "\x1b[2J\x1b[?2004h"
        });
    }
    if options.startup.query {
        text.push_str(QUERIES);
    }
    if options.startup.query || options.look.status == Some(StatusMode::Answered) {
        text.push_str(STATUS_QUERY);
    }
    text.into_bytes()
}

/// What is written after the last frame of a clean end.
pub(super) fn teardown(options: &Options, status_on: bool) -> Vec<u8> {
    let mut text = String::new();
    if status_on {
        text.push_str("\x1b]7501;state=clear:app=stand-in\x1b\\");
    }
    if !options.look.cooked {
        text.push_str("\x1b[?2004l\x1b[?25h\x1b]0;\x1b\\");
        // Without an alternate screen the last frame stays, and the shell's prompt goes below it.
        text.push_str(if options.look.alt_screen { "\x1b[?1049l" } else { "\x1b[999;1H\r\n" });
    }
    text.into_bytes()
}

/// The window title. A dialog has the title of an idle prompt, as in the real programs.
pub(super) fn title(app: &App) -> String {
    let name = &app.options.look.name;
    match &app.phase {
        Phase::Blank { .. } | Phase::Greeting(_) => String::new(),
        Phase::Idle { .. } | Phase::Asking { .. } => format!("✳ {name}"),
        Phase::Working(turn) => format!("{} {name}", glyph(&TITLE_SPINNER, turn.started, app.now)),
        Phase::Lying { since } => format!("{} {name}", glyph(&TITLE_SPINNER, *since, app.now)),
    }
}

/// The program status; nothing is reported before the prompt is up.
pub(super) fn status(phase: &Phase) -> String {
    let state = match phase {
        Phase::Blank { .. } | Phase::Greeting(_) => return String::new(),
        Phase::Idle { outcome: Outcome::Done } => "done",
        Phase::Idle { outcome: Outcome::Error | Outcome::Limit } => "error",
        Phase::Idle { outcome: Outcome::Auth } | Phase::Asking { .. } => "blocked",
        Phase::Idle { .. } => "idle",
        Phase::Working(_) | Phase::Lying { .. } => "working",
    };
    let kind = match phase {
        Phase::Idle { outcome: Outcome::Auth } => ":kind=auth",
        Phase::Asking { menu, .. } if menu.kind == MenuKind::Question => ":kind=question",
        Phase::Asking { .. } => ":kind=permission",
        _ => "",
    };
    format!("state={state}:app=stand-in{kind}")
}

/// The spinner of the status line.
pub(super) fn spinner(since: Duration, now: Duration) -> &'static str {
    glyph(&SPINNER, since, now)
}

/// When the spinner turns next.
pub(super) fn next_spin(since: Duration, now: Duration) -> Duration {
    let turns = u32::try_from(turns(since, now)).unwrap_or(u32::MAX);
    since + SPIN.saturating_mul(turns.saturating_add(1))
}

fn glyph<const N: usize>(glyphs: &[&'static str; N], since: Duration, now: Duration) -> &'static str {
    glyphs[usize::try_from(turns(since, now)).unwrap_or(0) % N]
}

fn turns(since: Duration, now: Duration) -> u128 {
    now.saturating_sub(since).as_millis() / SPIN.as_millis()
}
