//! The life of a session's program: its holder, its end, and what is recorded of that.

use std::time::Duration;

use ostler_core::lifecycle::{self, End, Evidence, Lifecycle, Phase};
use ostler_core::message::Ending;
use ostler_core::{State, Steady};
use ostler_screen::Size;

use crate::change::Change;
use crate::effect::{Effect, Log, Request};
use crate::event::{Abilities, Exit, LastOutput, TerminalStatus};
use crate::note::{Note, Then};
use crate::session::Session;
use crate::terminal::Terminal;

/// How long a holder whose program has ended may stay; it leaves earlier unless it is still killing.
const FAREWELL: Duration = Duration::from_secs(30);
/// How long the end of a session that an earlier daemon looked after waits for what its hooks reported meanwhile.
const REPORTS: Duration = Duration::from_secs(10);

/// Where a session stands between its start and its end.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) lifecycle: Lifecycle,
    /// The transport is connected.
    pub(crate) connected: bool,
    /// What the transport can do.
    pub(crate) abilities: Abilities,
    /// Process id of the holder.
    pub(crate) holder: Option<u32>,
    /// The holder's word on the end.
    exit: Option<Exit>,
    /// How the program ended.
    pub(crate) ending: Option<Ending>,
    /// What hooks reported while there was no daemon may come until then: it belongs before the end.
    reports_until: Option<Steady>,
    /// The end is being recorded.
    finishing: bool,
    /// The end is recorded.
    recorded: bool,
    /// When an ended session is left, whatever its holder does.
    pub(crate) leave_at: Option<Steady>,
    /// How long the program may take to end by itself.
    grace_ms: u32,
    /// A newer daemon has the session.
    pub(crate) stood_down: bool,
}

impl Life {
    /// `recovered` says since when an earlier daemon's session is looked after.
    pub(crate) fn new(lifecycle: Lifecycle, recovered: Option<Steady>) -> Self {
        Self {
            lifecycle,
            connected: false,
            abilities: Abilities { keys: true, terminal: true },
            holder: None,
            exit: None,
            ending: None,
            reports_until: recovered.map(|at| at.plus(REPORTS)),
            finishing: false,
            recorded: false,
            leave_at: None,
            grace_ms: 5_000,
            stood_down: false,
        }
    }

    pub(crate) fn is_ended(&self) -> bool {
        matches!(self.lifecycle.phase(), Phase::Ended(_))
    }

    /// The program has ended, and what is to be said of its messages is still open: a report may tell.
    pub(crate) fn is_ending(&self) -> bool {
        self.is_ended() && !self.finishing
    }

    /// How long the end waits for reports at most, where it does.
    pub(crate) fn end_waits_until(&self) -> Option<Steady> {
        self.reports_until.filter(|_| self.ending.is_some())
    }
}

impl Session {
    /// Whether there is nothing left to do.
    pub fn is_over(&self) -> bool {
        self.life.stood_down
            || self.life.is_ended() && self.life.recorded && self.is_recorded() && !self.life.connected
    }

    /// Whether a newer daemon has the session: nothing of it is ours any more.
    pub fn has_stood_down(&self) -> bool {
        self.life.stood_down
    }

    /// Whether commands are taken now. In the moments after a start, answers would be out of date.
    pub fn listens(&self) -> bool {
        !matches!(self.life.lifecycle.phase(), Phase::Launching | Phase::Attaching { attempt: 0 })
            && !self.terminal.is_catching_up()
    }

    /// Gives an event to the lifecycle and does what it says.
    pub(crate) fn on_lifecycle(&mut self, event: lifecycle::Event) {
        let before = self.described().0;
        for action in self.life.lifecycle.handle(event, self.now.steady) {
            match action {
                lifecycle::Action::Connect => self.push(Effect::Connect),
                lifecycle::Action::Stop => {
                    let grace_ms = self.life.grace_ms;
                    self.request(Request::Stop { grace_ms });
                }
                lifecycle::Action::StopBySignal => self.push(Effect::StopBySignal),
                // How it ended is in the phase; what it left behind is still to be read.
                lifecycle::Action::Finish(_) => self.push(Effect::ReadRemains),
            }
        }
        let (state, kind, because) = self.described();
        if state != before && self.life.is_ended() {
            self.since = self.now.wall;
            self.push(Effect::Log(Log::State { state, kind, confidence: 1.0, because }));
        }
        // The end is told when it is recorded, or could not be.
        if !self.life.is_ended() {
            self.publish();
            // An agent that is within reach again may have stopped before, as it still is.
            if state != before {
                self.look_for_stop();
            }
        }
        // Nobody is asked about a program that cannot be seen.
        self.note(Note::UpdateJudge);
    }

    pub(crate) fn on_connect(&mut self, status: &TerminalStatus, abilities: Abilities) {
        self.life.connected = true;
        self.life.abilities = abilities;
        self.life.holder = status.holder;
        self.on_welcome(status);
        self.request(Request::Subscribe { from: self.terminal.offset });
        self.terminal.catch_up(status.written, self.now.steady);
        self.note(Note::Life(lifecycle::Event::Connected));
        let actions = self.typing.connected(status.keys, status.replies);
        self.note(Note::Typing(actions));
        // What was asked on a connection that was lost is not answered on this one.
        if self.outbox.inspecting.is_some() {
            self.inspect();
        }
        self.note(Note::Deliver);
    }

    fn on_welcome(&mut self, status: &TerminalStatus) {
        let inherited = if status.keys > 0 { status.written } else { 0 };
        self.dialogs.inherited.get_or_insert(inherited);
        // A ledger that is ahead of the record has typed messages that the record lost.
        self.resume_deliveries(Some(status.messages), status.keys > 0);
        if self.pid != Some(status.child) {
            self.pid = Some(status.child);
            self.record(Change::Started { pid: status.child });
            self.push(Effect::FollowTranscript);
        }
        if self.terminal.offset > status.written {
            // A screen with more on it than there is: not one of this session.
            self.terminal = Terminal::new(self.terminal.screen.size());
        }
        let size = Size::clamped(status.size.0, status.size.1);
        if size != self.terminal.screen.size() {
            self.resize(size);
        }
    }

    /// Asks for the terminal's settings.
    pub(crate) fn inspect(&mut self) {
        if self.life.abilities.terminal {
            return self.request(Request::Inspect);
        }
        // Nobody can tell what the program has read: it counts as unread, and so no key is repeated.
        let (size, written) = (self.terminal.screen.size(), self.terminal.offset);
        self.note(Note::Inspected(TerminalStatus {
            child: self.pid.unwrap_or_default(),
            size: (size.cols, size.rows),
            written,
            messages: self.outbox.last_written,
            pending: 1,
            ..TerminalStatus::default()
        }));
    }

    pub(crate) fn on_disconnect(&mut self, evidence: Evidence) {
        self.terminal.stop_catching_up();
        self.answer_inspectors(None);
        self.inspected = None;
        self.disconnect();
        self.note(Note::Life(lifecycle::Event::Disconnected(evidence)));
    }

    /// Lets go of the transport.
    pub(crate) fn disconnect(&mut self) {
        if self.life.connected {
            self.life.connected = false;
            self.push(Effect::Disconnect);
            self.typing.disconnected();
        }
    }

    pub(crate) fn on_exit(&mut self, exit: Exit) {
        self.life.exit = Some(exit);
        self.note(Note::Life(lifecycle::Event::Exited { status: exit.status, signal: exit.signal }));
    }

    /// A person wants the program gone.
    pub(crate) fn on_stop(&mut self, grace_ms: u32) {
        self.life.grace_ms = grace_ms;
        if !self.life.lifecycle.stop_requested() {
            // Wanted on a full disk too.
            self.record(Change::StopRequested);
        }
        self.note(Note::Life(lifecycle::Event::StopRequested));
    }

    /// What an ended program has left behind.
    pub(crate) fn on_remains(&mut self, exit: Option<Exit>, output: Option<LastOutput>) {
        self.life.exit = self.life.exit.or(exit);
        // What the holder had no time to hand over is in its ring.
        if let Some(LastOutput { offset, modes, bytes }) = output {
            if offset > self.terminal.offset {
                self.terminal.gap(self.terminal.offset, offset, &modes);
            }
            // A terminal that is gone is owed no answers.
            drop(self.terminal.feed(offset, &bytes));
        }
        let Phase::Ended(end) = self.life.lifecycle.phase() else { return };
        let mut ending = ending(end, self.now.wall);
        if let Some(exit) = self.life.exit {
            ending.at = exit.at;
            ending.output = exit.written;
            ending.cpu_us = exit.cpu_us;
            ending.max_rss_kib = exit.max_rss_kib;
        }
        ending.output = ending.output.max(self.terminal.offset);
        self.life.leave_at = Some(self.now.steady.plus(FAREWELL));
        self.life.ending = Some(ending);
        // Messages first: nobody comes back to those of a session that has ended.
        let typed = self.life.exit.map(|exit| exit.typed);
        let actions = self.typing.ended(typed);
        self.note(Note::Typing(actions));
        self.resume_deliveries(typed, false);
        self.note(Note::Finish);
    }

    /// Everything that hooks reported while there was no daemon was heard.
    pub(crate) fn on_spool_heard(&mut self) {
        self.life.reports_until = None;
        self.note(Note::Finish);
    }

    /// Records the end, behind what is to be said of messages and dialogs: once it is known, and every report was heard.
    pub(crate) fn finish(&mut self) {
        let unheard = self.life.reports_until.is_some() || self.has_unheard_reports();
        let waits = unheard && self.guards(crate::Safeguard::ReportsBeforeTheEnd);
        if self.life.finishing || self.life.ending.is_none() || waits {
            return;
        }
        self.life.finishing = true;
        self.end_messages();
        self.end_dialog();
        self.look_at_interrupt();
        self.look_for_stop();
        let Some(ending) = self.life.ending.clone() else { return };
        self.push(Effect::KeepSummary(Box::new(self.conversation.summary.clone())));
        // The next process goes on with the conversation that the last report named.
        if let Some(memory) = self.remembered() {
            self.record(Change::Remembered { memory });
        }
        self.record_then(Change::Ended(ending), vec![Then::Ended]);
        self.push_behind(Effect::State(State::Exited));
    }

    pub(crate) fn on_end_recorded(&mut self) {
        self.life.recorded = true;
        self.request(Request::Release);
        let summary = std::mem::take(&mut self.conversation.summary);
        self.push(Effect::Ended(Box::new(summary)));
    }
}

/// What the phase of a session's life says to a user: state, kind, reasons.
pub(crate) fn describe(phase: &Phase) -> (State, Option<String>, Vec<String>) {
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
fn ending(end: &End, at: ostler_core::Wall) -> Ending {
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
