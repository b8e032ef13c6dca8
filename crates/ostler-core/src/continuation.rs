//! Sends an agent on that stopped before its work is done, and leaves one in peace that should not be pushed.
//!
//! # Theory of operation
//!
//! An agent that is carried on has [`Terms`]: its goal, checks, and how far it may go. When it stops, what is known of the stop
//! is gathered ([`Action::Examine`]: the checks are run, the work tree is looked at), analysed
//! ([`stop_analysis`](crate::stop_analysis)), and what is done follows from a table. A stop that says by itself what it means
//! (a dialog, a limit, a process that ended) needs no examination.
//!
//! Brakes hold whatever the analysis says, and each of them ends in a person who is told, never in silence:
//!
//! - prompts are counted, [`MAX_TURNS`] at most, and are at least a pause apart, longer while nothing changes;
//! - three stops in a row with the same last words, the same failures and an unchanged work tree are no progress;
//! - time and fresh tokens are budgets;
//! - a *hold* wins over everything at once.
//!
//! Where a limit or a provider's trouble stopped the agent, the machine waits: until the limit ends and a little longer, or
//! ever longer where that is not known. Then the agent is prompted once; if it is still limited, it stops again and is waited
//! for again.
//!
//! A process that crashed is run again, three times an hour at most, and told to go on; one that a person stopped is left alone.
//!
//! A person's prompt is a new piece of work: everything is counted afresh.
//!
//! # Clocks
//!
//! Pauses and the ends of limits are moments of the wall clock, for they outlive the daemon and mean what people mean. A clock
//! can be set: nothing is waited for longer than ten minutes without a look at it.
//!
//! # The shell's part
//!
//! The session tells of stops, prompts, examinations and time, records the machine with every decision before anything is done
//! about it, and performs the actions.

mod event;
mod judging;
mod memory;
mod progress;
mod prompt;
mod terms;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use event::{Action, Event, Examined};
pub use memory::{Decision, Phase, Standing};
pub use progress::Stand;
pub use terms::{MAX_TURNS, Terms};

use crate::stop::{Stop, Stopped, Trigger};
use crate::{Failure, Now, Steady, Wall};

/// How long an examination may take; then what is known counts.
const EXAMINATION: Duration = Duration::from_mins(30);
/// No moment of the wall clock is waited for longer without a look at it.
const GLANCE: Duration = Duration::from_mins(10);
/// A prompt of ours that is not in the agent after so long is lost: it could not be recorded.
const UNRECORDED: Duration = Duration::from_mins(2);
/// How long after its process was run again it is looked whether the agent has to be sent on: where it came back by itself,
/// and where a person brought it back.
const COMEBACK: Duration = Duration::from_secs(2);
const RESUMED: Duration = Duration::from_secs(10);
/// Examinations in a row that may be cut short by the end of a daemon.
const CUT_SHORT: u32 = 3;

/// An agent that is carried on, or not.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Continuation {
    terms: Option<Terms>,
    held: bool,
    phase: Phase,
    /// Prompts over the life of the session, for their names.
    number: u32,
    /// Prompts of ours for the present piece of work.
    turns: u32,
    /// When the present piece of work began, and what had been spent by then.
    began: Wall,
    spent_before: u64,
    spent: u64,
    /// When the last prompt of ours was given.
    prompted: Option<Wall>,
    /// Limits in a row of which the end was not known.
    limits: u32,
    /// The agent is being stopped, as its terms say.
    paused: bool,
    /// Examinations in a row that were not finished.
    cut_short: u32,
    progress: progress::Progress,
    warned: bool,
    decision: Option<Decision>,
    /// When its process is run again, and when that was decided of late.
    resumes: Option<Wall>,
    resumed: Vec<Wall>,
    #[serde(skip)]
    due: Option<Steady>,
}

impl Continuation {
    /// Whether the agent is carried on.
    pub fn is_on(&self) -> bool {
        self.terms.is_some()
    }

    /// Whether nothing automatic may be done.
    pub fn is_held(&self) -> bool {
        self.held
    }

    /// Where it stands, for people; nothing if the agent is neither carried on nor held.
    pub fn standing(&self) -> Option<Standing> {
        if self.terms.is_none() && !self.held {
            return None;
        }
        Some(Standing {
            phase: self.phase.clone(),
            held: self.held,
            resumes: self.resumes,
            turns: self.turns,
            max_turns: self.terms.as_ref().map_or(0, Terms::turns),
            decision: self.decision.clone(),
        })
    }

    /// The prompt that is on its way, if one is.
    pub fn prompting(&self) -> Option<u32> {
        match self.phase {
            Phase::Prompting { number } => Some(number),
            _ => None,
        }
    }

    /// When the process that has ended is to be run again, if it is.
    pub fn resumes_at(&self) -> Option<Wall> {
        self.resumes
    }

    /// Its process is not run again after all: a person wants that, or it could not be, for this reason.
    pub fn stay_ended(&mut self, trouble: Option<String>) {
        self.resumes = None;
        if let Some(why) = trouble {
            self.phase = Phase::NeedsOwner { why };
        } else {
            (self.terms, self.phase) = (None, Phase::Off);
        }
    }

    /// What the next process of the session has of it: the agent is carried on as before, and nothing is under way. One
    /// that came back by itself is told to go on.
    #[must_use]
    pub fn in_next_process(mut self, now: Wall) -> Self {
        let pause = if self.resumes.take().is_some() { COMEBACK } else { RESUMED };
        if !matches!(self.phase, Phase::Off | Phase::Yielded | Phase::Done { .. }) {
            let why = "its process was run again".to_owned();
            let until = now.plus(pause);
            self.phase = Phase::Waiting { until, why, failures: Vec::new(), look: true };
        }
        self.due = None;
        self
    }

    /// When `Tick` is due.
    pub fn deadline(&self) -> Option<Steady> {
        self.due.filter(|_| !self.held)
    }

    /// Takes an event in and says what to do, after it is recorded.
    #[must_use]
    pub fn handle(&mut self, event: Event, now: Now) -> Vec<Action> {
        match event {
            Event::Began(terms) => {
                self.terms = Some(terms.bounded());
                self.begin_afresh(now);
                self.go(Phase::Watching, now)
            }
            Event::Ended => {
                let withdraw = self.withdrawn();
                self.terms = None;
                self.phase = Phase::Off;
                self.due = None;
                withdraw
            }
            Event::Held(held) => self.hold(held, now),
            Event::Spent(tokens) => {
                self.spent = self.spent.max(tokens);
                Vec::new()
            }
            _ if self.terms.is_none() => Vec::new(),
            Event::Prompted { ours: true } => match self.phase {
                Phase::Prompting { .. } => {
                    self.prompted = Some(now.wall);
                    self.go(Phase::Watching, now)
                }
                // It stopped again before that was known.
                _ => Vec::new(),
            },
            Event::Prompted { ours: false } => {
                let withdraw = self.withdrawn();
                self.begin_afresh(now);
                self.limits = 0;
                self.phase = Phase::Watching;
                self.due = None;
                withdraw
            }
            Event::Resumed => match self.phase {
                Phase::NeedsOwner { .. } | Phase::Waiting { .. } | Phase::Done { .. } => {
                    self.go(Phase::Watching, now)
                }
                _ => Vec::new(),
            },
            Event::TakenOver => {
                let withdraw = self.withdrawn();
                self.go(Phase::Yielded, now);
                withdraw
            }
            Event::Stopped(stopped) => self.stopped(&stopped, now),
            Event::Requested => self.requested(now),
            Event::Examined(examined) => self.examined(&examined, now),
            Event::NotDelivered => self.not_delivered(now),
            Event::Restarted => self.restarted(now),
            Event::Tick => self.tick(now),
        }
    }

    fn begin_afresh(&mut self, now: Now) {
        self.turns = 0;
        self.began = now.wall;
        self.spent_before = self.spent;
        self.progress = progress::Progress::default();
        self.warned = false;
    }

    fn go(&mut self, phase: Phase, now: Now) -> Vec<Action> {
        self.due = match &phase {
            Phase::Examining { .. } => Some(now.steady.plus(EXAMINATION)),
            Phase::Waiting { until, .. } => {
                let wait = until.since(now.wall).min(GLANCE);
                Some(now.steady.plus(wait))
            }
            Phase::Prompting { .. } => Some(now.steady.plus(UNRECORDED)),
            Phase::Off | Phase::Watching | Phase::NeedsOwner { .. } | Phase::Yielded | Phase::Done { .. } => {
                None
            }
        };
        self.phase = phase;
        Vec::new()
    }

    fn withdrawn(&self) -> Vec<Action> {
        match self.phase {
            Phase::Prompting { number } => vec![Action::Withdraw { number }],
            _ => Vec::new(),
        }
    }

    fn hold(&mut self, held: bool, now: Now) -> Vec<Action> {
        if std::mem::replace(&mut self.held, held) == held {
            return Vec::new();
        }
        if held {
            // A prompt of ours that is not typed yet is held back where it waits.
            return Vec::new();
        }
        if let Phase::Waiting { until, look, .. } = &mut self.phase
            && *until <= now.wall
        {
            // What was found out before the hold may not be so any more.
            *look = true;
        }
        let phase = self.phase.clone();
        self.go(phase, now)
    }

    fn stopped(&mut self, stopped: &Stopped, now: Now) -> Vec<Action> {
        let Stopped { trigger, stop, .. } = *stopped;
        if is_end(stop) && std::mem::take(&mut self.paused) {
            return Vec::new();
        }
        match stop {
            Stop::Ended => {
                let withdraw = self.withdrawn();
                self.terms = None;
                self.phase = Phase::Off;
                self.due = None;
                withdraw
            }
            // A person has it.
            _ if self.phase == Phase::Yielded && !is_end(stop) => Vec::new(),
            // It is prompted anyway.
            Stop::Idle { .. } | Stop::StatusError
                if matches!(self.phase, Phase::Waiting { .. } | Phase::Prompting { .. }) =>
            {
                Vec::new()
            }
            Stop::Idle { .. } | Stop::StatusError => self.examine(trigger, stop, now),
            Stop::TurnFailed { failure: Failure::Invalid | Failure::Other, .. } => {
                self.examine(trigger, stop, now)
            }
            _ => {
                let mut actions = self.withdrawn();
                actions.extend(self.judge(trigger, stop, &Examined::default(), now));
                actions
            }
        }
    }

    fn requested(&mut self, now: Now) -> Vec<Action> {
        match self.phase {
            // It is on its way anyway.
            Phase::Examining { .. } | Phase::Prompting { .. } => Vec::new(),
            _ => self.examine(Trigger::ExplicitRequest, Stop::Idle { asks: false }, now),
        }
    }

    fn examine(&mut self, trigger: Trigger, stop: Stop, now: Now) -> Vec<Action> {
        let checks = self.terms.as_ref().map(|terms| terms.checks.clone()).unwrap_or_default();
        self.go(Phase::Examining { trigger, stop }, now);
        vec![Action::Examine(checks)]
    }

    fn examined(&mut self, examined: &Examined, now: Now) -> Vec<Action> {
        let Phase::Examining { trigger, stop } = self.phase else { return Vec::new() };
        self.cut_short = 0;
        if let Some(trouble) = &examined.trouble {
            return self.call_owner(Vec::new(), trouble.clone(), now);
        }
        if examined.queued {
            return self.go(Phase::Watching, now);
        }
        self.judge(trigger, stop, examined, now)
    }

    fn not_delivered(&mut self, now: Now) -> Vec<Action> {
        if !matches!(self.phase, Phase::Prompting { .. } | Phase::Watching) {
            return Vec::new();
        }
        self.call_owner(Vec::new(), "the agent did not take the prompt to go on".into(), now)
    }

    /// What was asked for before is asked for again; a moment that has passed has come.
    fn restarted(&mut self, now: Now) -> Vec<Action> {
        let phase = self.phase.clone();
        self.go(phase, now);
        match self.phase {
            Phase::Examining { trigger, stop } => {
                self.cut_short += 1;
                if self.cut_short >= CUT_SHORT {
                    let why = format!("its checks were cut short {CUT_SHORT} times by the end of the daemon");
                    return self.call_owner(Vec::new(), why, now);
                }
                self.examine(trigger, stop, now)
            }
            _ => Vec::new(),
        }
    }

    fn tick(&mut self, now: Now) -> Vec<Action> {
        if self.held || self.due.is_none_or(|due| now.steady < due) {
            return Vec::new();
        }
        match self.phase.clone() {
            Phase::Waiting { until, .. } if now.wall < until => {
                let phase = self.phase.clone();
                self.go(phase, now)
            }
            Phase::Waiting { look: true, .. } => {
                self.examine(Trigger::ExplicitRequest, Stop::Idle { asks: false }, now)
            }
            Phase::Waiting { failures, .. } => match &self.terms {
                Some(terms) if self.turns < terms.turns() => self.prompt(&failures, now),
                _ => self.call_owner(Vec::new(), format!("{} prompts were given", self.turns), now),
            },
            Phase::Examining { trigger, stop } => self.judge(trigger, stop, &Examined::default(), now),
            Phase::Prompting { .. } => self.not_delivered(now),
            Phase::Off | Phase::Watching | Phase::NeedsOwner { .. } | Phase::Yielded | Phase::Done { .. } => {
                Vec::new()
            }
        }
    }
}

/// Whether the process has ended: nobody is there to be prompted.
fn is_end(stop: Stop) -> bool {
    matches!(stop, Stop::Exited { .. } | Stop::Lost | Stop::Ended)
}

#[cfg(test)]
mod tests;
