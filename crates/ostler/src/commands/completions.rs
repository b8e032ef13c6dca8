//! `ostler completions`

use std::process::ExitCode;

use clap::CommandFactory;

use crate::cli::Cli;
use crate::error::CommandError;
use crate::output;

pub(crate) fn run(shell: clap_complete::Shell) -> Result<ExitCode, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "ostler", &mut script);
    output::print_bytes(&script)?;
    Ok(ExitCode::SUCCESS)
}
