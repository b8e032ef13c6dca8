//! `ostler messages`, `ostler ack`

use std::fmt::Write;
use std::process::ExitCode;

use ostler_protocol::{MessageInfo, Request, Response};

use crate::cli::{Ack, Messages};
use crate::error::CommandError;
use crate::{client, output};

pub(crate) fn run(command: &Messages) -> Result<ExitCode, CommandError> {
    match command {
        Messages::List { name, all, json } => list(name.clone(), *all, *json),
        Messages::Retry(args) => {
            let (id, name) = (args.id.clone(), args.session.clone());
            one(&Request::RetryMessage { id, name }, args.json)
        }
        Messages::Drop(args) => {
            let (id, name) = (args.id.clone(), args.session.clone());
            one(&Request::DropMessage { id, name }, args.json)
        }
    }
}

pub(crate) fn ack(args: &Ack) -> Result<ExitCode, CommandError> {
    // In a session, the mark in the environment says in which.
    let session = std::env::var(ostler_hold::SESSION_MARK).ok();
    one(&Request::Acknowledge { id: args.id.clone(), session }, args.json)
}

fn list(name: Option<String>, all: bool, json: bool) -> Result<ExitCode, CommandError> {
    let Response::Messages { messages } = client::call(&Request::Messages { name, all })? else {
        return Err(super::unexpected());
    };
    if json {
        output::json(&messages)?;
    } else if messages.is_empty() {
        let which = if all { "" } else { " under way or given up" };
        output::print(&format!("there are no messages{which}\n"))?;
    } else {
        output::print(&messages.iter().map(line).collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn one(request: &Request, json: bool) -> Result<ExitCode, CommandError> {
    let Response::Message(message) = client::call(request)? else { return Err(super::unexpected()) };
    if json {
        output::json(&message)?;
    } else {
        output::print(&line(&message))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A message in one line.
pub(super) fn line(message: &MessageInfo) -> String {
    let mut line = format!(
        "{:<12} {:<12} {:<10} {:<13} {:>7} B",
        message.id,
        message.session,
        message.state,
        message.proof.as_str(),
        message.bytes
    );
    let why = message.failure.as_ref().or(message.waits_for.as_ref()).or(message.evidence.last());
    if let Some(why) = why {
        let _ = write!(line, "  {why}");
    }
    line.push('\n');
    line
}
