//! `ostler send`

use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ostler_core::State;
use ostler_hold::wire::MAX_INPUT;
use ostler_protocol::{MessageInfo, Proof, Request, Response, SendTerms};
use serde::Serialize;

use super::screen;
use crate::cli::{Level, Send};
use crate::error::{CommandError, Kind};
use crate::{client, output};

/// Seconds that are waited unless said otherwise: for a proof, and for the end of a turn.
const TIMEOUT: f64 = 30.0;
const REPLY: f64 = 600.0;
/// Rows of the screen that are shown when a message does not get through.
const SHOWN_ROWS: usize = 12;

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
    let wait = args.wait.map_or(if args.raw { Proof::Written } else { Proof::Submitted }, Proof::from);
    let replies = args.wait == Some(Level::Reply);
    if replies && args.command {
        return Err(CommandError::new(Kind::Usage, "a command of the agent's own may begin no turn")
            .hint("leave --command away, or --wait reply"));
    }
    if args.raw && wait > Proof::Written {
        return Err(CommandError::new(
            Kind::Usage,
            "of raw bytes no more can be proven than that they are written",
        )
        .hint("leave --raw away, or --wait"));
    }
    if !args.raw {
        tell_removed(&body);
    }
    let id = args.id.unwrap_or_else(client::fresh_id);
    let terms = SendTerms {
        raw: args.raw,
        sender: args.from,
        priority: args.priority.into(),
        mode: args.mode.into(),
        ack: args.ack || wait == Proof::Acknowledged,
        command: args.command,
        expires_ms: args.expires.map(|expires| Duration::from_secs_f64(expires).as_millis()).map(millis),
    };
    let request =
        |wait| Request::Send { name: args.name.clone(), id: id.clone(), wait, terms: terms.clone() };
    let began = Instant::now();
    let timeout = Duration::from_secs_f64(args.timeout.unwrap_or(if replies { REPLY } else { TIMEOUT }));
    let answer = match client::call_with(&request(wait), Some(&body), Some(timeout)) {
        // The same message again, to learn how far it has got; it is not typed twice.
        Err(error) if error.kind == Kind::TimedOut => {
            client::call_with(&request(Proof::Queued), Some(&body), Some(Duration::from_secs(5)))
        }
        other => other,
    };
    let answer = answer.map_err(|error| name_the_message(error, &id));
    if let (Err(CommandError { message, hint, .. }), true) = (&answer, args.json) {
        let (session, failure) = (args.name.as_str(), message.as_str());
        output::json(&Refused { id: &id, session, state: "refused", failure, hint: hint.as_deref() })?;
    }
    let answer = answer?;
    let Response::Message(message) = answer else { return Err(super::unexpected()) };
    if !replies {
        return report(&message, wait, args.json);
    }
    if message.proof < wait || message.state == "failed" {
        return report(&message, wait, args.json);
    }
    await_reply(&message, timeout.saturating_sub(began.elapsed()), args.json)
}

/// Waits for the end of the turn of a message that was taken, and prints the answer.
fn await_reply(message: &MessageInfo, timeout: Duration, json: bool) -> Result<ExitCode, CommandError> {
    let (name, id) = (&message.session, &message.id);
    let request = Request::Reply { name: name.clone(), id: id.clone() };
    let answer = client::call_with(&request, None, Some(timeout)).map_err(|error| match error.kind {
        Kind::TimedOut => CommandError::new(Kind::TimedOut, format!("{name:?} is still at work on it"))
            .hint(format!("ask again with --id {id}, or: ostler wait {name} idle; ostler last {name}")),
        _ => error,
    });
    let Response::Reply(reply) = answer? else { return Err(super::unexpected()) };
    if json {
        output::json(&reply)?;
    } else if let Some(answer) = &reply.answer {
        output::print(&format!("{}\n", output::visible(answer)))?;
    }
    let why = reply.detail.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    let failed = |kind, text: &str| Err(CommandError::new(kind, format!("{text}{why}")));
    match reply.outcome.as_str() {
        "done" if reply.answer.is_some() => Ok(ExitCode::SUCCESS),
        "done" => failed(Kind::Failed, "the turn is over, and what the agent said is not known")
            .map_err(|error| error.hint(format!("`ostler screen {name}` shows what it shows"))),
        "blocked" => failed(Kind::Blocked, "the agent asks something").map_err(|error| {
            error.hint(format!("`ostler answer {name}` shows it; then ask again with --id {id}"))
        }),
        "interrupted" => failed(Kind::Failed, "the turn was interrupted"),
        "ended" => failed(Kind::Failed, "the program has ended"),
        _ => failed(Kind::Failed, "the turn failed"),
    }
}

/// A message that was not accepted, as far as is known, in the form of one that was.
#[derive(Serialize)]
struct Refused<'a> {
    id: &'a str,
    session: &'a str,
    state: &'static str,
    failure: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

/// Tells of control characters, which never reach a terminal as part of a text.
fn tell_removed(body: &[u8]) {
    let removed = |character: &char| character.is_control() && !matches!(character, '\n' | '\r' | '\t');
    let count = String::from_utf8_lossy(body).chars().filter(removed).count();
    if count > 0 {
        super::agents::print_note(&format!(
            "left out of the text: control characters ({count}); --raw types them"
        ));
    }
}

fn millis(millis: u128) -> u64 {
    u64::try_from(millis).unwrap_or(u64::MAX)
}

fn report(message: &MessageInfo, wait: Proof, json: bool) -> Result<ExitCode, CommandError> {
    if json {
        output::json(message)?;
    } else {
        let evidence = message.evidence.last().map_or_else(String::new, |evidence| format!(" ({evidence})"));
        output::print(&format!("{} {}{evidence}\n", message.id, message.proof.as_str()))?;
    }
    // The agent may have taken a different text, which its hook tells later than its screen.
    let failed = wait >= Proof::Submitted && message.state == "failed";
    if message.proof >= wait && !failed {
        return Ok(ExitCode::SUCCESS);
    }
    if wait == Proof::Acknowledged && message.proof == Proof::Submitted && !message.ack {
        let text = "the agent has the message, and was not asked to confirm it when it was sent";
        return Err(CommandError::new(Kind::Failed, text)
            .hint("send another one, with another --id, that asks: --wait acknowledged"));
    }
    let (state, shown) = surroundings(&message.session);
    if let Some(failure) = &message.failure {
        let word = match (message.state.as_str(), message.raw) {
            ("uncertain", _) => "is uncertain",
            (_, true) => "was not typed",
            (_, false) => "was not delivered",
        };
        let elsewhere =
            message.escalated.as_deref().map_or("", |_| "; it goes another way (ostler context load)");
        let text = format!("the message {word}: {failure}{elsewhere}{shown}");
        return Err(CommandError::new(Kind::Failed, text).hint(after(message, state)));
    }
    let kind = if state == Some(State::Blocked) { Kind::Blocked } else { Kind::TimedOut };
    let why = message.waits_for.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    let text = format!("the message is {}, not yet {}{why}{shown}", message.proof.as_str(), wait.as_str());
    let id = &message.id;
    let hint = match message.proof {
        Proof::Queued => format!(
            "it stays queued and is delivered when it can be; ask again with --id {id}, or: ostler messages drop {id}"
        ),
        Proof::Written | Proof::Seen => format!(
            "it is in the terminal, and ostler goes on with it; ask again with --id {id}, or: ostler attach {}",
            message.session
        ),
        Proof::Submitted | Proof::Acknowledged => {
            format!("the agent has it; ask again with --id {id} to wait for more")
        }
    };
    Err(CommandError::new(kind, text).hint(hint))
}

/// What can be done about a message that was given up.
fn after(message: &MessageInfo, state: Option<State>) -> String {
    let id = &message.id;
    if state == Some(State::Exited) {
        return format!(
            "`ostler resume {}` runs the program again, and then `ostler messages retry {id}` sends it; `ostler messages drop \
             {id}` forgets it",
            message.session
        );
    }
    let doubt = if message.state == "uncertain" { ", and may say it twice" } else { "" };
    format!("ostler messages retry {id} tries again{doubt}; ostler messages drop {id} forgets it")
}

/// What the agent is doing and shows, for somebody who wonders why a message does not get through.
fn surroundings(name: &str) -> (Option<State>, String) {
    let Ok((session, screen)) = screen::look(name) else { return (None, String::new()) };
    let text = screen.text();
    let rows: Vec<&str> = text.lines().filter(|row| !row.trim().is_empty()).collect();
    let last = &rows[rows.len().saturating_sub(SHOWN_ROWS)..];
    let shown = match last {
        [] => "its screen is empty".to_owned(),
        rows => rows.iter().fold("its screen ends with:".to_owned(), |shown, row| shown + "\n  | " + row),
    };
    (Some(session.state), format!("\nthe session is {}; {shown}", session.state))
}

/// The end of a session's screen, for an error.
pub(super) fn screen_end(name: &str) -> String {
    surroundings(name).1
}

/// A message whose fate is not known may be recorded: sent again under its id, it is not typed twice.
fn name_the_message(error: CommandError, id: &str) -> CommandError {
    let known = error.hint.as_ref().map_or_else(String::new, |hint| format!("{hint}; "));
    match error.kind {
        Kind::TimedOut | Kind::Unreachable => error.hint(format!("{known}send it again with --id {id}")),
        _ => error,
    }
}
