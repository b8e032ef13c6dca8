//! When an agent is ready, when it stops, and when it goes on.
//!
//! # Theory of operation
//!
//! [`AgentStatus::stop`] says which stop a status amounts to; the watch says when it counts. A dialog may be answered by a
//! policy, an agent may rest for a moment between two tools, and what went wrong may be known more exactly in a moment. So
//! every stop has to last: how long depends on what shows it and on how sure the state is. A stop that lasted is reported
//! once for its prompt. An agent that goes on after a dialog or after a question has resumed; the same prompt can then stop
//! again.
//!
//! An agent that has been idle since before its prompt is a special case. It has not begun yet, or it did its work
//! unobserved: while no daemon ran, or faster than anybody can see. Only time tells.
//!
//! # Clocks
//!
//! Deadlines are on the steady clock. Of the states and prompts themselves only the wall clock's moment is known, because
//! they outlive the daemon. Each is put on the steady clock once, when the watch first hears of it, and not before the watch
//! last heard something else. A wall clock that is set afterwards changes nothing.
//!
//! # The shell's part
//!
//! The shell gives the watch every change of the status and of the prompt, asks for the status again at the watch's
//! deadline, and keeps [`Said`] where a restart must not report a stop again.

mod moment;

use std::time::Duration;

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

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
/// An agent that has a prompt and has been idle since before it for this long did its work unobserved.
const UNSEEN: Duration = Duration::from_secs(10);
/// A screen that was found again after a restart is understood by then.
const CATCHING_UP: Duration = Duration::from_secs(3);
/// A dialog that the policy answers is gone by then.
const DIALOG: Duration = Duration::from_secs(3);
/// How long an agent may retry what retrying cannot mend.
const HOPELESS: Duration = Duration::from_secs(5);

/// What the agent has been given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptState {
    /// Nothing: it is being started.
    Nothing,
    /// A prompt is on its way.
    Delivering,
    /// It has a prompt.
    Prompt {
        /// When it was sent; this also tells one prompt from another.
        sent: Wall,
        /// When the agent had it.
        taken: Option<Wall>,
    },
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

/// What was reported already: the watch's memory across restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Said {
    /// A dialog is open.
    pub blocked: bool,
    /// The prompt that was sent then has stopped.
    pub stopped: Option<Wall>,
    /// It stopped with a question, which a person may answer.
    pub asked: bool,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The agent's status is this now.
    StatusChanged(AgentStatus),
    /// The agent has been given this.
    PromptChanged(PromptState),
    /// The session is gone, and no status will come.
    SessionGone {
        /// How its process ended, if there is a record.
        exit: Option<Exit>,
        /// A person or a program asked ostler to end it.
        stop_requested: bool,
    },
    /// Time has passed.
    TimePassed,
}

/// What the watch found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// The agent can be given its first prompt.
    Ready,
    /// A person answered, or the dialog is gone: the agent goes on.
    Resumed,
    /// The agent does no more.
    Stopped(Stopped),
    /// The session has spent this much in all.
    Spent(Usage),
}

/// Watches one agent until its process has ended.
#[derive(Debug, Clone)]
pub struct StopWatch {
    patience: Patience,
    zone: TimeZone,
    said: Said,
    ready: bool,
    over: bool,
    spent: Usage,
    /// A screen that was found again is understood by then.
    understood: Moment,
    prompt: Given,
    seen: Option<Seen>,
    deadline: Option<Steady>,
}

/// What the agent has been given, on the steady clock.
#[derive(Debug, Clone, Copy)]
struct Given {
    state: PromptState,
    /// When the watch heard of it.
    heard: Moment,
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
    /// Watches an agent that has been given `prompt`. Times without a zone are in `zone`.
    pub fn new(prompt: PromptState, said: Said, patience: Patience, zone: TimeZone, now: Now) -> Self {
        Self {
            patience,
            zone,
            said,
            ready: prompt != PromptState::Nothing,
            over: false,
            spent: Usage::default(),
            understood: Moment::of(now.steady).plus(CATCHING_UP),
            prompt: Given::new(prompt, Moment::EARLIEST, now),
            seen: None,
            deadline: None,
        }
    }

    /// What was reported already, to be kept for the next daemon.
    pub fn said(&self) -> Said {
        self.said
    }

    /// Whether the agent's process has ended, and that was reported.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// When to come back, even if nothing happens.
    pub fn deadline(&self) -> Option<Steady> {
        self.deadline
    }

    /// Takes an event in and says what follows from it, in this order.
    #[must_use]
    pub fn handle(&mut self, event: Event, now: Now) -> Vec<Report> {
        self.deadline = None;
        if self.over {
            return Vec::new();
        }
        let mut reports = Vec::new();
        match event {
            Event::StatusChanged(status) => {
                if status.usage != self.spent {
                    self.spent = status.usage;
                    reports.push(Report::Spent(status.usage));
                }
                self.seen = Some(Seen::new(status, self.seen.as_ref(), now));
            }
            Event::PromptChanged(prompt) if prompt != self.prompt.state => {
                let earliest = match self.prompt.state {
                    PromptState::Delivering => self.prompt.heard,
                    PromptState::Nothing | PromptState::Prompt { .. } => Moment::EARLIEST,
                };
                self.prompt = Given::new(prompt, earliest, now);
            }
            Event::SessionGone { exit, stop_requested } => {
                let stop = Stop::of_process(exit, stop_requested);
                self.over = true;
                return vec![Report::Stopped(self.stopped(Trigger::PtyExit, stop, exit, now))];
            }
            Event::PromptChanged(_) | Event::TimePassed => {}
        }
        while let Some(report) = self.next(now) {
            reports.push(report);
        }
        reports
    }

    /// The next thing to report; what is not due yet sets the deadline.
    fn next(&mut self, now: Now) -> Option<Report> {
        let Seen { status, entered, .. } = self.seen.as_ref().filter(|_| !self.over)?;
        let found = status.stop(now.wall, &self.zone);
        let (entered, state, exit) = (*entered, status.state, status.exit);
        match found {
            Some((Trigger::PtyExit, stop)) => {
                self.over = true;
                return Some(Report::Stopped(self.stopped(Trigger::PtyExit, stop, exit, now)));
            }
            Some((Trigger::DialogOpen, stop)) => {
                if self.said.blocked || !self.is_due(entered.plus(DIALOG), now) {
                    return None;
                }
                self.said.blocked = true;
                return Some(Report::Stopped(self.stopped(Trigger::DialogOpen, stop, exit, now)));
            }
            Some((Trigger::TurnEnded | Trigger::RetriesFailing, _)) | None => {}
        }
        if self.said.blocked {
            self.said.blocked = false;
            return Some(Report::Resumed);
        }
        if self.said.asked && state == State::Working {
            (self.said.asked, self.said.stopped) = (false, None);
            return Some(Report::Resumed);
        }
        if !self.ready && status.is_ready() {
            self.ready = true;
            return Some(Report::Ready);
        }
        let (trigger, stop) = found?;
        let PromptState::Prompt { sent, .. } = self.prompt.state else { return None };
        let due = self.turn_over(trigger).filter(|_| self.said.stopped != Some(sent))?;
        if !self.is_due(due, now) {
            return None;
        }
        self.said.stopped = Some(sent);
        self.said.asked = stop == Stop::Idle { asks: true };
        Some(Report::Stopped(self.stopped(trigger, stop, exit, now)))
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
            last_heartbeat: seen.and_then(|seen| seen.status.last_heartbeat).map(|at| now.wall_at(at)),
        }
    }
}

impl Given {
    /// What the watch hears of now, and was sent no earlier than `earliest`.
    fn new(state: PromptState, earliest: Moment, now: Now) -> Self {
        let heard = Moment::of(now.steady);
        let (sent, taken) = match state {
            PromptState::Nothing | PromptState::Delivering => (heard, heard),
            PromptState::Prompt { sent, taken } => {
                let sent = Moment::of_wall(sent, now).max(earliest);
                (sent, taken.map_or(sent, |taken| Moment::of_wall(taken, now).max(sent)))
            }
        };
        Self { state, heard, sent, taken }
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
