//! A session as users see it.

use ostler_core::State;
use ostler_core::start_plan::StartupRoute;
use ostler_protocol::{
    AnsweredInfo, ChoiceInfo, DialogInfo, ExitInfo, MessageInfo, ProcessInfo, ProgressInfo, SessionInfo,
    TerminalInfo,
};
use ostler_session::{Answered, PendingDialog, TerminalStatus};
use ostler_store::{Ending, Message, PastProcess, Session};

use crate::clock::shown;

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
        carry_on: None,
        exit: None,
        process: session.process,
        conversation: None,
        last_heartbeat: None,
        progress: None,
        awaited: None,
        questions: Vec::new(),
        past: Vec::new(),
    }
}

/// A session that is looked after.
pub(super) fn of_running(record: &Session, session: &ostler_session::Session) -> SessionInfo {
    let mut info = from_record(record);
    info.pid = session.pid();
    let size = session.screen().size();
    (info.cols, info.rows) = (size.cols, size.rows);
    (info.state, info.kind, info.because) = session.described();
    if session.is_observed() {
        let verdict = session.observer().detector().verdict();
        info.confidence = rounded(verdict.confidence);
        info.until.clone_from(&verdict.until);
    }
    info.since = shown(session.since());
    info.title = session.screen().title().map(str::to_owned);
    info.output = session.offset();
    info.waiting = session.waiting();
    info.holder = session.holder();
    info.claims = session.claims().and_then(|claims| serde_json::to_value(claims).ok());
    info.usage = Some(session.usage()).filter(|usage| *usage != ostler_core::Usage::default());
    info.answering = session.is_answering();
    info.carry_on = session.carried_on();
    info.conversation = session.conversation_id().map(str::to_owned);
    info.last_heartbeat = session.last_heartbeat().map(shown);
    info.progress = session.progress().map(|progress| ProgressInfo {
        text: progress.text.clone(),
        percent: progress.percent,
        at: shown(progress.at),
    });
    info.awaited = session.awaited().cloned();
    if session.missing() > 0 {
        info.because.push(format!("{} bytes of output were lost", session.missing()));
    }
    if let Some(ending) = session.ending() {
        add_ending(&mut info, ending, session.stop_requested());
    }
    info
}

/// A terminal as users see it.
pub(super) fn terminal(status: &TerminalStatus) -> TerminalInfo {
    TerminalInfo {
        canonical: status.canonical,
        echo: status.echo,
        signals: status.signals,
        foreground: Some(status.foreground).filter(|group| *group > 0),
        pending: status.pending,
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

/// A process that a session had, as users see it.
pub(crate) fn process(process: PastProcess) -> ProcessInfo {
    ProcessInfo {
        number: process.number,
        pid: process.pid,
        started: shown(process.began),
        ended: shown(process.ending.at),
        how: process.ending.kind,
        reason: process.ending.reason,
        dir: process.dir,
    }
}

/// A recorded message as users see it.
pub(crate) fn message(session: &str, message: &Message) -> MessageInfo {
    #[expect(clippy::cast_precision_loss, reason = "seconds for people")]
    let seconds = |at: ostler_core::Wall| at.0.saturating_sub(message.created.0) as f64 / 1e3;
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
        way: Some(message.terms.way)
            .filter(|way| *way != StartupRoute::Message)
            .map(|way| way.as_str().into()),
        raw: message.terms.raw,
        ack: message.terms.ack,
        created: shown(message.created),
        elapsed: message.submitted.map(seconds),
        bytes: message.bytes,
    }
}

/// A dialog as people see it.
pub(crate) fn dialog(session: &str, dialog: PendingDialog) -> DialogInfo {
    let PendingDialog { id, rule, kind, text, takes_text, always, .. } = dialog;
    let selected = text.selected;
    let choices = text.options.into_iter().zip(1..).enumerate().map(|(at, (option, place))| ChoiceInfo {
        number: option.number.unwrap_or(place),
        label: option.label,
        selected: selected == Some(at),
        always: always == Some(at),
    });
    let (session, choices) = (session.to_owned(), choices.collect());
    DialogInfo { id, session, kind, rule, about: text.about, choices, takes_text }
}

/// What became of an answer, as people see it.
pub(crate) fn answered(session: &str, answered: Answered) -> AnsweredInfo {
    let Answered { id, choice, left, pressed, next } = answered;
    let outcome = match (left, pressed) {
        (None, _) => "answered",
        (Some(_), true) => "uncertain",
        (Some(_), false) => "unanswered",
    };
    AnsweredInfo {
        id,
        session: session.to_owned(),
        choice,
        outcome: outcome.to_owned(),
        reason: left.map(str::to_owned),
        next: next.map(|next| dialog(session, *next)),
    }
}
