//! `ostler list`

use std::process::ExitCode;

use ostler_protocol::{Request, Response};

use crate::cli::List;
use crate::error::CommandError;
use crate::{client, output};

pub(crate) fn run(args: &List) -> Result<ExitCode, CommandError> {
    let Response::Sessions { sessions } = client::call(&Request::List { all: args.all })? else {
        return Err(super::unexpected());
    };
    if args.json {
        output::json(&sessions)?;
    } else if sessions.is_empty() {
        output::print("no sessions; `ostler start PROGRAM` begins one\n")?;
    } else {
        output::print(&output::sessions(&sessions, jiff::Timestamp::now()))?;
    }
    Ok(ExitCode::SUCCESS)
}
