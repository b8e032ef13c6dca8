//! ostler looks after terminal coding agents. See `ostler --help`.

mod cli;
mod client;
mod commands;
mod error;
mod output;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
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
