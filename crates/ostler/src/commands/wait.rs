//! `ostler wait`

use std::process::ExitCode;
use std::time::Duration;

use ostler_protocol::Request;

use crate::cli::Wait;
use crate::error::{CommandError, Kind};
use crate::{client, output};

pub(crate) fn run(args: &Wait) -> Result<ExitCode, CommandError> {
    let request = Request::Wait { name: args.name.clone(), states: args.states.clone() };
    let timeout = args.timeout.map(Duration::from_secs_f64);
    let wanted: Vec<&str> = args.states.iter().map(|state| state.as_str()).collect();
    let wanted = wanted.join(" or ");
    let session = match client::call_with(&request, None, timeout) {
        Err(error) if error.kind == Kind::TimedOut => {
            let message = format!("session {:?} was not {wanted} in time", args.name);
            return Err(CommandError::new(Kind::TimedOut, message)
                .hint(format!("`ostler status {}` tells what it is", args.name)));
        }
        other => super::session(other?)?,
    };
    if args.json {
        output::json(&session)?;
    } else {
        output::print(&format!("{}\n", session.state))?;
    }
    if args.states.contains(&session.state) {
        return Ok(ExitCode::SUCCESS);
    }
    let because = session.because.join("; ");
    Err(CommandError::new(
        Kind::Failed,
        format!("session {:?} has ended ({because}) and will not be {wanted}", session.name),
    ))
}
