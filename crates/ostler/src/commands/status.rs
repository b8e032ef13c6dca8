//! `ostler status`

use std::process::ExitCode;

use ostler_protocol::Request;

use crate::cli::Named;
use crate::error::CommandError;
use crate::{client, output};

pub(crate) fn run(args: &Named) -> Result<ExitCode, CommandError> {
    let session = super::session(client::call(&Request::Status { name: args.name.clone() })?)?;
    if args.json {
        output::json(&session)?;
    } else {
        output::print(&output::session(&session, jiff::Timestamp::now()))?;
    }
    Ok(ExitCode::SUCCESS)
}
