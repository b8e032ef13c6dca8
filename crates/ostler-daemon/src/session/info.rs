//! A session as users see it.

use ostler_core::State;
use ostler_core::lifecycle::{End, Phase};
use ostler_protocol::{ExitInfo, MessageInfo, SessionInfo};
use ostler_store::{Ending, Message, Session};

use crate::clock::shown;

/// What the phase of a session's life says to a user: state, kind, reasons.
pub(super) fn describe(phase: &Phase) -> (State, Option<String>, Vec<String>) {
    let some = |text: &str| Some(text.to_owned());
    match phase {
        Phase::Launching => (State::Starting, None, vec!["the program is being started".into()]),
        Phase::Attaching { attempt: 0 } => {
            (State::Unknown, some("attaching"), vec!["its holder is being contacted".into()])
        }
        Phase::Attaching { .. } | Phase::Unreachable { .. } => {
            (State::Unknown, some("unreachable"), vec!["its holder lives and does not answer".into()])
        }
        Phase::Attached => (State::Unknown, None, vec!["the program runs".into()]),
        Phase::Ended(end) => {
            let (kind, reason) = describe_end(end);
            (State::Exited, some(kind), vec![reason])
        }
    }
}

fn describe_end(end: &End) -> (&'static str, String) {
    match end {
        End::Exited { status: Some(status), .. } => ("exited", format!("exit status {status}")),
        End::Exited { signal, .. } => ("killed", format!("ended by signal {}", signal.unwrap_or(0))),
        End::Lost => ("lost", "its holder was killed, and its terminal went with it".into()),
        End::Failed { reason } => ("failed", reason.clone()),
    }
}

/// The recorded form of an end; what the exit record adds is filled in by the caller.
pub(super) fn ending(end: &End, at: ostler_core::Timestamp) -> Ending {
    let (kind, reason) = describe_end(end);
    let (status, signal) = match end {
        End::Exited { status, signal } => (*status, *signal),
        _ => (None, None),
    };
    Ending {
        kind: kind.into(),
        status,
        signal,
        reason: Some(reason),
        at,
        output: 0,
        cpu_us: 0,
        max_rss_kib: 0,
    }
}

/// A confidence as people want it: two digits.
pub(super) fn rounded(confidence: f32) -> f64 {
    (f64::from(confidence) * 100.0).round() / 100.0
}

/// What the record alone says of a session.
pub(super) fn from_record(session: &Session) -> SessionInfo {
    let start = &session.start;
    let program = start.command.first().map_or("", String::as_str);
    SessionInfo {
        id: start.id.clone(),
        name: start.name.clone(),
        agent: start
            .agent
            .clone()
            .unwrap_or_else(|| program.rsplit('/').next().unwrap_or(program).to_owned()),
        agent_version: start.agent_version.clone(),
        preset: start.agent.clone(),
        pid: session.pid,
        state: State::Unknown,
        kind: None,
        confidence: 1.0,
        until: None,
        since: shown(start.created),
        because: Vec::new(),
        command: start.command.clone(),
        cwd: start.cwd.clone(),
        cols: start.cols,
        rows: start.rows,
        started: shown(start.created),
        title: None,
        output: 0,
        waiting: 0,
        deliveries: None,
        holder: None,
        dir: start.dir.clone(),
        terminal: None,
        claims: None,
        usage: None,
        answering: false,
        exit: None,
    }
}

/// Adds how the session ended.
pub(super) fn add_ending(info: &mut SessionInfo, ending: &Ending, stopped: bool) {
    info.state = State::Exited;
    info.kind = Some(ending.kind.clone());
    info.confidence = 1.0;
    info.until = None;
    info.since = shown(ending.at);
    info.because = ending.reason.clone().into_iter().collect();
    if stopped {
        info.because.push("a stop was requested".into());
    }
    info.output = info.output.max(ending.output);
    #[expect(clippy::cast_precision_loss, reason = "seconds for people")]
    let cpu = ending.cpu_us as f64 / 1e6;
    info.exit = Some(ExitInfo {
        status: ending.status,
        signal: ending.signal,
        at: shown(ending.at),
        stopped,
        survivors: Vec::new(),
        cpu,
        max_rss_kib: ending.max_rss_kib,
    });
}

/// A recorded message as users see it.
pub(crate) fn message(session: &str, message: &Message) -> MessageInfo {
    #[expect(clippy::cast_precision_loss, reason = "seconds for people")]
    let seconds = |at: ostler_core::Timestamp| at.0.saturating_sub(message.created.0) as f64 / 1e3;
    MessageInfo {
        id: message.id.clone(),
        session: session.to_owned(),
        state: message.state.as_str().to_owned(),
        proof: message.proof,
        evidence: message.evidence.clone(),
        attempts: message.attempts,
        enters: message.enters,
        waits_for: None,
        failure: message.failure.clone(),
        escalated: message.escalated.clone(),
        sender: message.terms.sender.clone(),
        priority: message.terms.priority,
        mode: message.terms.mode,
        raw: message.terms.raw,
        ack: message.terms.ack,
        created: shown(message.created),
        elapsed: message.submitted.map(seconds),
        bytes: message.bytes,
    }
}
