//! A scripted terminal agent with a switch for every misbehaviour.
//!
//! # Directives
//!
//! A directive is a word `!name` at the start of the prompt or after white space; a text argument
//! (`TEXT`, `COMMAND`, `CONTENT`) runs to the next directive or the end of the line. Unknown names are plain text.
//! Directives run in order, and unless one of them speaks (`!say`, `!quote`, `!error`, `!limit`) or ends the
//! program, the default reply follows: `--reply`, or `ok:` and the first 40 characters of the prompt.
//!
//! | directive | what the stand-in does |
//! |---|---|
//! | `!work 3s` | shows the spinner for that long (`ms`, `s` or `m`; 1s if left out) |
//! | `!silent 15s` | works without drawing anything, not even typed text |
//! | `!tool NAME 2s` | shows a tool call that takes that long |
//! | `!permission COMMAND` | opens a permission dialog; digits, `y`, `n`, arrows and Enter answer it |
//! | `!question TEXT` | opens a question dialog; digits, arrows and Enter answer it |
//! | `!say TEXT` | streams TEXT word by word |
//! | `!quote` | streams prose that quotes a composer, a spinner and a dialog |
//! | `!error 429 resets 7pm` | ends the turn with an API error; 401 and 403 also ask for a login |
//! | `!limit 7pm` | ends the turn with a usage limit that resets then |
//! | `!write FILE CONTENT` | really writes FILE under the working directory (`\n` is a newline) |
//! | `!exit N` | leaves cleanly with that code |
//! | `!crash` | kills itself without restoring the terminal |
//!
//! `--reply TEXT` and the `do` of a script use the same grammar; plain text in them is said.
//! A script is a JSON array of `{"when": "words in the prompt", "do": "!work 1s done", "repeat": false}`:
//! the first entry that matches and was not used yet answers. A script goes before the
//! prompt's own directives, and these before `--reply`.
//!
//! # The log
//!
//! Every line of `--log` is `{"t": milliseconds since start, "event": "…", …}`; [`Record`] lists
//! the events. `submitted` is logged once per message, when its Enter was taken, also when the
//! message is queued behind a running turn.

mod app;
mod composer;
mod conversation;
mod decode;
mod event;
mod flood;
mod frame;
mod keys;
mod lines;
mod menu;
mod options;
mod painter;
mod playbook;
mod process;
mod record;
mod reply;
mod script;
mod shell;
mod signals;
mod sink;
mod terminal;
mod turn;
mod view;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

pub use app::App;
pub use decode::{Decoder, Key};
pub use event::{Effect, Ending, Event};
pub use frame::{Frame, Row, Size, Style};
pub use options::{Damage, Input, Look, Mode, Options, Output, Process, Refusal, Startup, StatusMode};
pub use painter::Painter;
pub use playbook::Playbook;
pub use record::Record;
pub use reply::{Reply, ReplyKind};

/// A preset for the stand-in, as a user would write it.
pub const PRESET: &str = include_str!("preset.toml");

/// Parses `args` (the first is the program's name) and runs the stand-in.
///
/// Help, version and usage errors are printed as for any command line program.
pub fn main_from(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match Options::try_parse_from(args) {
        Ok(options) => run(options),
        Err(error) => {
            // Nothing is left to do when even the usage message cannot be printed.
            let _ = error.print();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        }
    }
}

/// Runs the stand-in on the process's standard input and output until it ends.
///
/// With `--ignore-hup` or `--ignore-term` the process executes itself again with the same arguments,
/// so call this only from a program whose whole purpose is to be the stand-in.
pub fn run(options: Options) -> ExitCode {
    let outcome = process::ignore_signals(&options.process).and_then(|()| match options.mode {
        Mode::Tui => shell::run(options),
        Mode::Sink => sink::run(options.sink.as_deref()),
    });
    outcome.unwrap_or_else(|error| {
        // Standard error is most likely the same dead terminal.
        let _ = writeln!(std::io::stderr(), "stand-in: {error}");
        ExitCode::from(2)
    })
}
