//! `ostler attach`
use crate::error::CommandError;
use std::process::ExitCode;
pub(crate) fn run(_: &crate::cli::Attach) -> Result<ExitCode, CommandError> {
    Ok(ExitCode::SUCCESS)
}
