//! `ostler interrupt`

use std::process::ExitCode;

use ostler_protocol::{InterruptInfo, Request, Response};

use crate::cli::Interrupt;
use crate::error::{CommandError, Kind};
use crate::{client, output};

pub(crate) fn run(args: &Interrupt) -> Result<ExitCode, CommandError> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the parser bounds it")]
    let patience_ms = (args.timeout * 1000.0).min(f64::from(u32::MAX)) as u32;
    let request = Request::Interrupt { name: args.name.clone(), patience_ms };
    let Response::Interrupted(told) = client::call_once(&request)? else { return Err(super::unexpected()) };
    if args.json {
        output::json(&told)?;
    }
    let said = verdict(&told);
    match said {
        Ok(text) if !args.json => output::print(&format!("{} {text}\n", told.session.name))?,
        Ok(_) => {}
        Err(error) => return Err(error),
    }
    Ok(ExitCode::SUCCESS)
}

/// What became of it, in words.
fn verdict(told: &InterruptInfo) -> Result<String, CommandError> {
    let InterruptInfo { outcome, pressed, session } = told;
    let name = &session.name;
    let fail = |kind, text: String| Err(CommandError::new(kind, text));
    match outcome.as_str() {
        "stopped" => Ok(format!("interrupted: it is {} now", session.state)),
        "nothing" => Ok(format!("had nothing to interrupt: it is {}", session.state)),
        "working" => fail(Kind::TimedOut, format!("{name:?} was interrupted and is still working"))
            .map_err(|error| error.hint(format!("`ostler screen {name}` shows what it does"))),
        "dialog" => {
            let when = if *pressed { "a dialog opened" } else { "nothing was pressed: a dialog is open" };
            fail(Kind::Blocked, format!("{when}, and the interrupt keys would answer it"))
                .map_err(|error| error.hint(format!("`ostler answer {name}` shows it and answers it")))
        }
        "ended" => fail(Kind::Failed, format!("session {name:?} has ended")),
        "unread" => fail(Kind::TimedOut, "nothing was pressed: the agent does not read its input".into()),
        _ => fail(Kind::Failed, format!("nothing was pressed: what {name:?} does is not known"))
            .map_err(|error| error.hint(format!("`ostler explain {name}` says why"))),
    }
}
