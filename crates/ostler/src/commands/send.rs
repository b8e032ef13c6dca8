//! `ostler send`

use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::process::ExitCode;
use std::time::Duration;

use ostler_hold::wire::MAX_INPUT;
use ostler_protocol::{MessageInfo, Proof, Request, Response};

use crate::cli::{Level, Send};
use crate::error::{CommandError, Kind};
use crate::{client, output};

pub(crate) fn run(args: Send) -> Result<ExitCode, CommandError> {
    let body = if args.text == "-" {
        let mut body = Vec::new();
        std::io::stdin().lock().read_to_end(&mut body)?;
        body
    } else {
        args.text.into_vec()
    };
    if body.is_empty() {
        return Err(CommandError::new(Kind::Usage, "there is nothing to send"));
    }
    if body.len() > MAX_INPUT {
        let message = format!("{} bytes are too many for one message", body.len());
        return Err(
            CommandError::new(Kind::Usage, message).hint(format!("send at most {MAX_INPUT} bytes at a time"))
        );
    }
    let wait = match args.wait {
        Level::Queued => Proof::Queued,
        Level::Written => Proof::Written,
    };
    let id = args.id.unwrap_or_else(client::fresh_id);
    let request = |wait| Request::Send { name: args.name.clone(), id: id.clone(), wait };
    let timeout = Duration::from_secs_f64(args.timeout);
    let answer = match client::call_with(&request(wait), Some(&body), Some(timeout)) {
        Err(error) if error.kind == Kind::TimedOut => {
            // The same message again, to learn how far it has got; it is not typed twice.
            let again = client::call_with(&request(Proof::Queued), Some(&body), Some(Duration::from_secs(5)));
            again.map_err(|error| name_the_message(error, &id))?
        }
        other => other.map_err(|error| name_the_message(error, &id))?,
    };
    let Response::Message(message) = answer else { return Err(super::unexpected()) };
    report(&message, wait, args.json)
}

fn report(message: &MessageInfo, wait: Proof, json: bool) -> Result<ExitCode, CommandError> {
    if json {
        output::json(message)?;
    } else {
        let evidence = message.evidence.join("; ");
        output::print(&format!("{} {}{}\n", message.id, message.proof.as_str(), because(&evidence)))?;
    }
    if let Some(failure) = &message.failure {
        return Err(CommandError::new(Kind::Failed, format!("the message was not typed: {failure}")));
    }
    if message.proof < wait {
        return Err(CommandError::new(
            Kind::TimedOut,
            format!("the message is {}, not yet {}", message.proof.as_str(), wait.as_str()),
        )
        .hint(format!("it stays queued; ask again with --id {}", message.id)));
    }
    Ok(ExitCode::SUCCESS)
}

/// A message whose fate is not known may be recorded: sent again under its id, it is not typed twice.
fn name_the_message(error: CommandError, id: &str) -> CommandError {
    let known = error.hint.as_ref().map_or_else(String::new, |hint| format!("{hint}; "));
    match error.kind {
        Kind::TimedOut | Kind::Unreachable => error.hint(format!("{known}send it again with --id {id}")),
        _ => error,
    }
}

fn because(evidence: &str) -> String {
    if evidence.is_empty() { String::new() } else { format!(" ({evidence})") }
}
