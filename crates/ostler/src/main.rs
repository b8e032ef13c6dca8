//! ostler looks after terminal coding agents. See `ostler --help`.

mod cli;
mod client;
mod commands;
mod error;
mod hints;
mod output;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    // Before anything else: what becomes the sandbox must have no threads and hold nothing.
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == "sandbox-exec") {
        return ostler_work::sandbox::sandbox_exec(words);
    }
    // An agent waits for its hooks, and to build the whole command line takes longer than a report does.
    let command = match cli::Hook::from_words(std::env::args_os()) {
        Some(hook) => cli::Command::Hook(hook),
        None => match cli::Cli::try_parse() {
            Ok(cli) => cli.command,
            Err(error) => return refuse(&error),
        },
    };
    match commands::run(command) {
        Ok(code) => code,
        Err(error) => error.report(),
    }
}

/// Tells what is wrong with a command line, or shows its help. What was given stands in it, and must not steer the
/// terminal.
fn refuse(error: &clap::Error) -> ExitCode {
    let steers = |word: OsString| matches!(output::visible(&word.to_string_lossy()), Cow::Owned(_));
    if std::env::args_os().any(steers) {
        let _ = io::stderr().write_all(output::visible(&error.render().to_string()).as_bytes());
        return error::Kind::Usage.exit_code();
    }
    error.exit()
}
