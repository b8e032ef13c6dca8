//! `ostler events`

use std::process::ExitCode;

use ostler_protocol::{Request, Response};

use crate::cli::Events;
use crate::error::CommandError;
use crate::{client, output};

pub(crate) fn run(args: &Events) -> Result<ExitCode, CommandError> {
    let mut after = 0;
    let mut follow = false;
    loop {
        let request = Request::Events { name: args.name.clone(), after, follow };
        let Response::Events { events } = client::call(&request)? else { return Err(super::unexpected()) };
        for event in &events {
            if args.json {
                output::json(event)?;
            } else {
                let session = event.session.as_deref().unwrap_or("-");
                let details = output::plain(&event.details.to_string());
                output::print(&format!(
                    "{:.3}  {:12}  {:22}  {}\n",
                    event.at, session, event.event, details
                ))?;
            }
            after = event.seq;
        }
        if events.is_empty() && !follow {
            if !args.follow {
                return Ok(ExitCode::SUCCESS);
            }
            follow = true;
        }
    }
}
