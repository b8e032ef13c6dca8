//! What came of a start: the words for people, and the exit code.

use std::process::ExitCode;

use ostler_core::State;
use ostler_protocol::{MessageInfo, SessionInfo};

use super::{enough, is_gone, is_unrecognised};
use crate::commands::{agents, send};
use crate::error::{CommandError, Kind};

/// What to say of the start of an agent that was given `messages`, if it was waited for.
pub(in crate::commands) fn verdict(
    session: &SessionInfo,
    messages: &[MessageInfo],
    wait: bool,
) -> Result<ExitCode, CommandError> {
    let name = &session.name;
    if session.state == State::Exited {
        return ended(session, messages.is_empty());
    }
    if is_gone(session) {
        let message =
            format!("the agent of {name} has ended, and what started it runs on{}", send::screen_end(name));
        return Err(
            CommandError::new(Kind::Failed, message).hint(format!("ostler logs {name}; ostler stop {name}"))
        );
    }
    let Some(open) = messages.iter().find(|message| message.proof < enough(message, messages.len() == 1))
    else {
        return standing(session, wait && messages.is_empty() && session.preset.is_some());
    };
    let shown = send::screen_end(name);
    if let Some(failure) = &open.failure {
        let id = &open.id;
        let retry = format!("ostler messages retry {id} tries again");
        let hint = match open.escalated.as_deref() {
            Some("file") => {
                format!("its instructions file has it now, and ostler context load {name}; {retry}")
            }
            Some(_) => format!("ostler context load {name} has it; {retry}"),
            None => format!("{retry}; ostler messages drop {id} forgets it"),
        };
        let message = format!("what it should know or do did not arrive: {failure}{shown}");
        return Err(CommandError::new(Kind::Failed, message).hint(hint));
    }
    let kind = if session.state == State::Blocked { Kind::Blocked } else { Kind::TimedOut };
    let what = if kind == Kind::Blocked { "a person is needed" } else { "it takes long" };
    Err(CommandError::new(kind, format!("{name} has not taken everything yet, {what}{shown}"))
        .hint(format!("ostler attach {name}; what it should know and do is delivered when it can be")))
}

/// The program is gone already.
fn ended(session: &SessionInfo, asked_nothing: bool) -> Result<ExitCode, CommandError> {
    let name = &session.name;
    let because = session.because.join("; ");
    let logs = format!("ostler logs {name} shows what it said");
    // It did what it was asked to by its arguments, such as to tell its version; there is nothing to send to.
    if asked_nothing && session.exit.as_ref().is_some_and(|exit| exit.status == Some(0)) {
        agents::print_note(&format!("{name} ended at once: {because}; {logs}"));
        return Ok(ExitCode::SUCCESS);
    }
    let message = format!("{name} ended at once: {because}{}", send::screen_end(name));
    // An agent should be there to be sent to. What any other program is for, and how fast it should end, is its own
    // business: an exit code would depend on a race.
    if asked_nothing && session.preset.is_none() {
        message.lines().for_each(agents::print_note);
        return Ok(ExitCode::SUCCESS);
    }
    Err(CommandError::new(Kind::Failed, message).hint(logs))
}

/// The program runs, and nothing is left to give it; `awaited` is whether it should be ready for the first thing.
fn standing(session: &SessionInfo, awaited: bool) -> Result<ExitCode, CommandError> {
    let name = &session.name;
    let shown = || send::screen_end(name);
    let attach = format!("ostler attach {name}");
    match session.state {
        State::Blocked if !session.answering => {
            let kind = session.kind.as_deref().unwrap_or("dialog");
            let message = format!("{name} waits for a person ({kind})");
            if awaited {
                let error = CommandError::new(Kind::Blocked, format!("{message}{}", shown()));
                return Err(error.hint(format!("{attach}; what is sent to it waits meanwhile")));
            }
            for line in format!("{message}: {attach}{}", shown()).lines() {
                agents::print_note(line);
            }
        }
        _ if is_unrecognised(session) => agents::print_note(&format!(
            "nothing on the screen of {name} is known, so nobody can tell whether it is ready: ostler screen {name}"
        )),
        State::Starting | State::Blocked if awaited => {
            let error = CommandError::new(Kind::TimedOut, format!("{name} is not ready yet{}", shown()));
            return Err(error.hint(format!("{attach}; what is sent to it waits until it is ready")));
        }
        _ => {}
    }
    Ok(ExitCode::SUCCESS)
}
