//! `ostler resume`

use std::process::ExitCode;
use std::time::{Duration, Instant};

use ostler_core::State;
use ostler_protocol::{CarryOnRequest, OsText, Request, Response, ResumeRequest, SessionInfo};

use super::{agents, carry_on, start};
use crate::cli::Resume;
use crate::error::CommandError;
use crate::{client, output};

pub(crate) fn run(args: &Resume) -> Result<ExitCode, CommandError> {
    if is_held(&args.name)? {
        let released = carry_on::ask(Some(&args.name), CarryOnRequest::Release)?;
        return carry_on::tell(&released, args.json);
    }
    let mut request = ResumeRequest {
        id: String::new(),
        name: args.name.clone(),
        args: args.args.as_ref().map(|args| args.iter().map(OsText::from).collect()),
        fresh: args.fresh,
        env: start::own_environment(),
        extra_env: start::extra_environment(&args.env),
        open_files: start::open_files(),
        umask: start::umask(),
    };
    let resumed = start::until_begun(|| {
        request.id = client::fresh_id();
        Request::Resume(Box::new(request.clone()))
    })?;
    if resumed.carry_on.as_ref().is_some_and(|standing| standing.held) {
        carry_on::ask(Some(&resumed.id), CarryOnRequest::Release)?;
    }
    let deadline = Instant::now() + Duration::from_secs_f64(args.timeout);
    let goes_on = resumed.conversation.is_some();
    super::agents::note_if_new(&resumed);
    let session = start::settled(resumed, !args.no_wait, deadline)?;
    if args.json {
        output::json(&session)?;
    } else {
        output::print(&format!("{}\n", session.name))?;
        report(&session, goes_on, args.fresh)?;
    }
    let verdict = start::verdict(&session, &[], !args.no_wait);
    if goes_on && session.state == State::Exited {
        let hint = format!("if it cannot continue its conversation: ostler resume {} --fresh", session.name);
        return verdict.map_err(|error| error.hint(hint));
    }
    verdict
}

/// Whether the session runs, and is on hold.
fn is_held(name: &str) -> Result<bool, CommandError> {
    let session = super::session(client::call(&Request::Status { name: name.to_owned() })?)?;
    let held = session.carry_on.as_ref().is_some_and(|standing| standing.held);
    Ok(held && session.state != State::Exited)
}

/// Says what a person should know about the session that came back.
fn report(session: &SessionInfo, goes_on: bool, fresh: bool) -> Result<(), CommandError> {
    let name = &session.name;
    if session.preset.is_some() && !goes_on && !fresh {
        agents::print_note(&format!(
            "{name} began a new conversation: the last one is not known, or {} cannot continue one. `ostler context load \
             {name}` prints what is known of the project",
            session.agent
        ));
    }
    let list = Request::Messages { name: Some(session.id.clone()), all: false };
    let Response::Messages { messages } = client::call(&list)? else { return Err(super::unexpected()) };
    let given_up = messages.iter().filter(|message| message.state == "failed").count();
    if given_up > 0 {
        let (noun, pronoun) = if given_up == 1 { ("message", "it") } else { ("messages", "each") };
        agents::print_note(&format!(
            "{given_up} {noun} did not get through before; `ostler messages list {name}` shows {pronoun}, `ostler messages \
             retry ID` tries again"
        ));
    }
    Ok(())
}
