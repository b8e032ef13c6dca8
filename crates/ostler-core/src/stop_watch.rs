//! When an agent is ready, when it stops, and when it goes on.
//!
//! # Theory of operation
//!
//! [`AgentStatus::stop`] says which stop a status amounts to; the watch says when it counts. A dialog may be answered by a
//! policy, an agent may rest for a moment between two tools, and what went wrong may be known more exactly in a moment. So
//! every stop has to last: how long depends on what shows it and on how sure the state is. A stop that lasted is returned
//! once, to be recorded. An agent that goes on after a dialog or after a question has resumed; the same prompt can then stop
//! again.
//!
//! An agent that has been idle since before its prompt is a special case. It has not begun yet, or it did its work
//! unobserved: while no daemon ran, or faster than anybody can see. Only time tells.
//!
//! [`Findings`] is what the watch has found so far, the latest of everything. Whoever acts on it, such as a run, has a
//! [`Listener`], which says what is new. A listener that comes late, or that lives again after a restart, misses nothing.
//!
//! # Clocks
//!
//! Deadlines are on the steady clock. Of the states and prompts themselves only the wall clock's moment is known, because
//! they outlive the daemon. Each is put on the steady clock once, when the watch first hears of it, and not before the watch
//! last heard something else. A wall clock that is set afterwards changes nothing.
//!
//! # The shell's part
//!
//! The session gives the watch every change of the status and of the prompt, gives it the status again at the watch's
//! deadline, records every stop that it returns, and keeps [`Findings`] for the next daemon.

mod listener;
mod moment;

use std::time::Duration;

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

pub use self::listener::{Listener, Report};
use self::moment::Moment;
use crate::agent_status::AgentStatus;
use crate::stop::{Exit, Stop, Stopped, Trigger};
use crate::{Failure, Now, State, Steady, Usage, Wall};

/// A state that would end a turn has to last this long: an agent may rest for a moment between two tools.
const SETTLE: Duration = Duration::from_millis(150);
/// The same where the agent itself says so: it knows whether it rests.
const SETTLE_SHORT: Duration = Duration::from_millis(50);
/// The same where nothing definite speaks for it.
const SETTLE_LONG: Duration = Duration::from_millis(600);
/// The same where its transcript has yet to tell of the end: it is written a moment later, and has what the answer cost.
const SETTLE_BEHIND: Duration = Duration::from_millis(700);
/// An agent that has a prompt and has been idle since before it for this long did its work unobserved.
const UNSEEN: Duration = Duration::from_secs(10);
/// A screen that was found again after a restart is understood by then.
const CATCHING_UP: Duration = Duration::from_secs(3);
/// A dialog that the policy answers is gone by then.
const DIALOG: Duration = Duration::from_secs(3);
/// How long an agent may retry what retrying cannot mend.
const HOPELESS: Duration = Duration::from_secs(5);

/// What the agent has been given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PromptState {
    /// Nothing: it is being started.
    #[default]
    Nothing,
    /// It has a prompt.
    Prompt {
        /// When it was sent; this also tells one prompt from another.
        sent: Wall,
        /// When the agent had it.
        taken: Option<Wall>,
    },
}

impl PromptState {
    fn sent(self) -> Option<Wall> {
        match self {
            Self::Nothing => None,
            Self::Prompt { sent, .. } => Some(sent),
        }
    }
}

/// How long an agent may retry calls to its model that fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Patience(Option<Duration>);

impl Patience {
    /// As long as it wants: it gives up by itself.
    pub const UNLIMITED: Self = Self(None);

    /// For so long; zero is no limit.
    pub fn limited(retry: Duration) -> Self {
        Self(Some(retry).filter(|retry| !retry.is_zero()))
    }

    /// How long an agent may retry after such a failure, if there is a limit.
    ///
    /// Retrying mends neither a plan that is used up nor a login that is refused.
    pub fn after(self, failure: Failure) -> Option<Duration> {
        match failure {
            Failure::Quota | Failure::Auth => self.0.map(|retry| retry.min(HOPELESS)),
            Failure::RateLimit | Failure::Overloaded | Failure::Unavailable => self.0,
            // Nothing that speaks against the provider.
            Failure::Invalid | Failure::Other => None,
        }
    }
}

/// What the watch has found so far, and its memory across restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Findings {
    /// The agent can be given its first prompt, or has been given one.
    pub ready: bool,
    /// A dialog is open that no policy answers.
    pub dialog: Option<Stopped>,
    /// How the turn of the last prompt ended.
    pub turn: Option<Stopped>,
    /// How the process ended.
    pub end: Option<Stopped>,
    /// What the session has spent in all.
    pub spent: Usage,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The agent's status is this now, or still is at the deadline.
    StatusChanged(AgentStatus),
    /// The agent has been given this.
    PromptChanged(PromptState),
    /// It may retry calls that fail for so long.
    PatienceChanged(Patience),
}

/// Watches one agent until its process has ended.
#[derive(Debug, Clone)]
pub struct StopWatch {
    patience: Patience,
    zone: TimeZone,
    found: Findings,
    /// A screen that was found again is understood by then.
    understood: Moment,
    prompt: PromptTimes,
    seen: Option<Seen>,
    deadline: Option<Steady>,
}

/// What the agent has been given, on the steady clock.
#[derive(Debug, Clone, Copy)]
struct PromptTimes {
    state: PromptState,
    sent: Moment,
    taken: Moment,
}

/// The last status.
#[derive(Debug, Clone)]
struct Seen {
    status: AgentStatus,
    /// When the agent got into this state.
    entered: Moment,
    /// When the watch last heard of it.
    heard: Moment,
}

impl StopWatch {
    /// Watches an agent that has been given `prompt`, where so much was found before. Times without a zone are in `zone`.
    pub fn new(prompt: PromptState, found: Findings, zone: TimeZone, now: Now) -> Self {
        Self {
            patience: Patience::UNLIMITED,
            zone,
            found: Findings { ready: found.ready || prompt != PromptState::Nothing, ..found },
            understood: Moment::of(now.steady).plus(CATCHING_UP),
            prompt: PromptTimes::new(prompt, now),
            seen: None,
            deadline: None,
        }
    }

    /// What was found so far.
    pub fn found(&self) -> &Findings {
        &self.found
    }

    /// When to come back, even if nothing happens.
    pub fn deadline(&self) -> Option<Steady> {
        self.deadline
    }

    /// Takes an event in; returns a stop that counts from now on.
    #[must_use]
    pub fn handle(&mut self, event: Event, now: Now) -> Option<Stopped> {
        self.deadline = None;
        if self.found.end.is_some() {
            return None;
        }
        match event {
            Event::StatusChanged(status) => {
                self.found.spent = status.usage;
                self.seen = Some(Seen::new(status, self.seen.as_ref(), now));
            }
            Event::PromptChanged(prompt) => {
                if prompt.sent() != self.prompt.state.sent() {
                    self.found.turn = None;
                }
                if prompt != self.prompt.state {
                    self.prompt = PromptTimes::new(prompt, now);
                }
            }
            Event::PatienceChanged(patience) => self.patience = patience,
        }
        self.look(now)
    }

    /// Notes what the last status shows; what is not due yet sets the deadline.
    fn look(&mut self, now: Now) -> Option<Stopped> {
        let Seen { status, entered, .. } = self.seen.as_ref()?;
        let shown = status.stop(now.wall, &self.zone);
        let (entered, state, exit) = (*entered, status.state, status.exit);
        let is_ready = status.is_ready();
        match shown {
            Some((Trigger::PtyExit, stop)) => {
                self.found.end = Some(self.stopped(Trigger::PtyExit, stop, exit, now));
                return self.found.end;
            }
            Some((Trigger::DialogOpen, stop)) => {
                if self.found.dialog.is_some() || !self.is_due(entered.plus(DIALOG), now) {
                    return None;
                }
                self.found.dialog = Some(self.stopped(Trigger::DialogOpen, stop, exit, now));
                return self.found.dialog;
            }
            Some((Trigger::TurnEnded | Trigger::RetriesFailing | Trigger::ExplicitRequest, _)) | None => {}
        }
        self.found.dialog = None;
        self.found.ready |= is_ready;
        if state == State::Working && self.found.turn.is_some_and(|turn| turn.stop.asks()) {
            self.found.turn = None;
        }
        let (trigger, stop) = shown?;
        self.prompt.state.sent()?;
        let due = self.turn_over(trigger).filter(|_| self.found.turn.is_none())?;
        if !self.is_due(due, now) {
            return None;
        }
        self.found.turn = Some(self.stopped(trigger, stop, exit, now));
        self.found.turn
    }

    /// When the turn counts as over, if its state lasts.
    fn turn_over(&self, trigger: Trigger) -> Option<Moment> {
        let Seen { status, entered, .. } = self.seen.as_ref()?;
        if trigger == Trigger::RetriesFailing {
            let (_, retrying) = status.retrying?;
            return Some(Moment::of(retrying.at).plus(self.patience.after(retrying.what)?));
        }
        if *entered < self.prompt.sent {
            return Some(self.prompt.taken.plus(UNSEEN).max(self.understood));
        }
        Some(entered.plus(match status.confidence {
            _ if status.state == State::Idle && status.transcript_lags => SETTLE_BEHIND,
            // What went wrong may be known more exactly in a moment.
            0.97.. if status.state == State::Idle => SETTLE_SHORT,
            0.9.. => SETTLE,
            _ => SETTLE_LONG,
        }))
    }

    fn is_due(&mut self, due: Moment, now: Now) -> bool {
        let is_due = due <= Moment::of(now.steady);
        self.deadline = Some(due.steady()).filter(|_| !is_due);
        is_due
    }

    fn stopped(&self, trigger: Trigger, stop: Stop, exit: Option<Exit>, now: Now) -> Stopped {
        let seen = self.seen.as_ref();
        let last_output = seen.and_then(|seen| seen.status.last_output);
        let active = last_output.map(Moment::of).or(seen.map(|seen| seen.entered));
        Stopped {
            trigger,
            stop,
            exit,
            last_output: last_output.map(|at| now.wall_at(at)),
            idle_for: active.map_or(Duration::ZERO, |active| Moment::of(now.steady).since(active)),
            last_heartbeat: seen.and_then(|seen| seen.status.last_heartbeat),
        }
    }
}

impl PromptTimes {
    /// What the watch hears of now.
    fn new(state: PromptState, now: Now) -> Self {
        let (sent, taken) = match state {
            PromptState::Nothing => (Moment::of(now.steady), Moment::of(now.steady)),
            PromptState::Prompt { sent, taken } => {
                let sent = Moment::of_wall(sent, now);
                (sent, taken.map_or(sent, |taken| Moment::of_wall(taken, now).max(sent)))
            }
        };
        Self { state, sent, taken }
    }
}

impl Seen {
    /// What the watch hears of now, after what it heard before.
    fn new(status: AgentStatus, before: Option<&Self>, now: Now) -> Self {
        let entered = match before {
            // What else has changed is no other state: a session that was out of reach for a while has not moved.
            Some(before) if before.status.since == status.since => before.entered,
            Some(before) => Moment::of_wall(status.since, now).max(before.heard),
            None => Moment::of_wall(status.since, now),
        };
        Self { status, entered, heard: Moment::of(now.steady) }
    }
}

#[cfg(test)]
mod tests;
