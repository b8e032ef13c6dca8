//! `ostler wrap`

use std::process::ExitCode;

use super::{attach, start};
use crate::cli::{Attach, Wrap};
use crate::error::CommandError;

/// Starts an agent and puts it in this terminal; ends as the agent does.
pub(crate) fn run(args: &Wrap) -> Result<ExitCode, CommandError> {
    attach::need_terminal("wrap", "`ostler start` works without one")?;
    let session = start::begin_in_terminal(args.start(attach::terminal_size()))?;
    let attachment = Attach { name: session.id, read_only: false, detach_key: args.detach_key };
    Ok(match attach::attach(&attachment, true)? {
        Some(ended) => ended.exit.map_or(ExitCode::SUCCESS, |exit| match (exit.status, exit.signal) {
            (Some(status), _) => ExitCode::from(status),
            // As shells say it.
            (None, signal) => ExitCode::from(128_u8.saturating_add(signal.unwrap_or(0))),
        }),
        None => ExitCode::SUCCESS,
    })
}
