//! `ostler demo`
use crate::error::CommandError;
use std::process::ExitCode;
pub(crate) fn run() -> Result<ExitCode, CommandError> {
    Ok(ExitCode::SUCCESS)
}
