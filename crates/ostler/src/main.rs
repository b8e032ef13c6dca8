//! ostler looks after terminal coding agents. See `ostler --help`.

mod cli;
mod client;
mod commands;
mod error;
mod hints;
mod output;

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
        None => cli::Cli::parse().command,
    };
    match commands::run(command) {
        Ok(code) => code,
        Err(error) => error.report(),
    }
}
