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
//! can be set: nothing is waited for longer than [`GLANCE`] without a look at it.
//!
//! # The shell's part
//!
//! The session tells of stops, prompts, examinations and time, records the machine with every decision before anything is done
//! about it, and performs the actions.

mod memory;
mod progress;
mod prompt;
mod terms;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use memory::{Decision, Phase, Standing};
pub use progress::Stand;
pub use terms::{MAX_TURNS, Terms};

use crate::awaited::Awaited;
use crate::stop::{Stop, Stopped, Trigger};
use crate::stop_analysis::{self, Action as Decided, Analysis, Checked, Conclusion, LastWords, Observed};
use crate::{Failure, Now, Steady, Wall};

/// How long an examination may take; then what is known counts.
const EXAMINATION: Duration = Duration::from_mins(30);
/// A limit is over a little later than is said, and not for all agents at the same moment.
const JITTER: Duration = Duration::from_mins(1);
/// How long a limit lasts of which the end is not known: at first, and at most.
const UNKNOWN_LIMIT: Duration = Duration::from_mins(5);
const LONGEST_LIMIT: Duration = Duration::from_hours(1);
/// No moment of the wall clock is waited for longer without a look at it.
const GLANCE: Duration = Duration::from_mins(10);
/// Resumed processes are counted over so long.
const RESUMES: Duration = Duration::from_hours(1);
/// How long after a crash the process is run again; five times as long after the next one.
const FIRST_RESUME: Duration = Duration::from_secs(3);
/// The longest pause, as a multiple of the usual one.
const LONGEST_PAUSE: u32 = 16;
/// A prompt of ours that is not in the agent after so long is lost: it could not be recorded.
const UNRECORDED: Duration = Duration::from_mins(2);

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The agent is to be carried on, from now on.
    Began(Terms),
    /// It is not any more.
    Ended,
    /// The agent stopped.
    Stopped(Stopped),
    /// A person or the agent asks that it goes on.
    Requested,
    /// The examination is over.
    Examined(Examined),
    /// The agent took a prompt: ours, or another one.
    Prompted {
        /// It was ours.
        ours: bool,
    },
    /// The agent goes on by itself, or a person answered its dialog.
    Resumed,
    /// Our prompt could not be given to the agent.
    NotDelivered,
    /// Nothing may be done, whatever happens, or it may again.
    Held(bool),
    /// The session has spent so many fresh tokens in all.
    Spent(u64),
    /// The shell was restarted.
    Restarted,
    /// Time has passed.
    Tick,
}

/// What is known of a stop.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Examined {
    /// What the checks said.
    pub checks: Option<Checked>,
    /// The first line of each complaint.
    pub failures: Vec<String>,
    /// Whether the work tree is another than at the stop before.
    pub changed: Option<bool>,
    /// What the agent's last words come to.
    pub words: LastWords,
    /// The last words themselves.
    pub said: Option<String>,
    /// What is left to do, by the agent's own list.
    pub open: Vec<String>,
    /// Other prompts wait for the agent: it has something to do anyway.
    pub queued: bool,
    /// What the agent said it waits for.
    pub awaited: Option<Awaited>,
    /// What is left to do, as the agent said when it asked to be sent on.
    pub wants_on: Option<String>,
}

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Record what was decided, and why.
    Record(Decision),
    /// Run these checks and look at the work tree.
    Examine(Vec<String>),
    /// Give the agent this prompt.
    Prompt {
        /// Which it is, over the life of the session.
        number: u32,
        /// The text.
        text: String,
    },
    /// A prompt of ours that waits is not wanted any more.
    Withdraw {
        /// Which it is.
        number: u32,
    },
    /// Tell the owner.
    Notify(String),
    /// Stop the agent.
    Pause,
}

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

    /// When the process that has ended is to be run again, if it is.
    pub fn resumes_at(&self) -> Option<Wall> {
        self.resumes
    }

    /// Its process is not run again after all.
    pub fn stay_ended(&mut self) {
        self.resumes = None;
    }

    /// What the next process of the session has of it: the agent is carried on as before, and nothing is under way. One
    /// that came back by itself is told to go on.
    #[must_use]
    pub fn in_next_process(mut self, now: Wall) -> Self {
        let comes_back = self.resumes.take().is_some();
        if comes_back {
            let why = "its process ended, and was run again".to_owned();
            self.phase = Phase::Waiting { until: now, why, failures: Vec::new() };
        } else if self.phase != Phase::Off {
            self.phase = Phase::Watching;
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
            Phase::Off | Phase::Watching | Phase::NeedsOwner { .. } | Phase::Done { .. } => None,
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
            let actions = self.withdrawn();
            if let Phase::Prompting { .. } = self.phase {
                // What was about to be said is said when the hold is over, if it still makes sense.
                let then = "it was held".to_owned();
                self.phase = Phase::Waiting { until: now.wall, why: then, failures: Vec::new() };
            }
            return actions;
        }
        let phase = self.phase.clone();
        self.go(phase, now)
    }

    fn stopped(&mut self, stopped: &Stopped, now: Now) -> Vec<Action> {
        let Stopped { trigger, stop, .. } = *stopped;
        match stop {
            Stop::Ended => {
                let withdraw = self.withdrawn();
                self.terms = None;
                self.phase = Phase::Off;
                self.due = None;
                withdraw
            }
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
        if examined.queued {
            return self.go(Phase::Watching, now);
        }
        self.judge(trigger, stop, examined, now)
    }

    /// Decides what a stop means, and what is done about it.
    fn judge(&mut self, trigger: Trigger, stop: Stop, examined: &Examined, now: Now) -> Vec<Action> {
        let Some(terms) = self.terms.clone() else { return Vec::new() };
        let analysis = stop_analysis::analyse(&Observed {
            stop,
            checks: examined.checks,
            changed: examined.changed,
            words: examined.words,
            waits: examined.awaited.is_some(),
            wants_on: examined.wants_on.is_some(),
            iterations: self.turns,
            max_iterations: terms.turns(),
        });
        if let Some(until) = limit_end(stop, examined, &analysis, self.limits, now.wall) {
            self.limits += u32::from(until.1);
            let why = analysis.evidence.join("; ");
            let mut actions = vec![self.decide(trigger, &analysis, Decided::NoAction, Some(until.0))];
            actions.extend(self.go(Phase::Waiting { until: until.0, why, failures: Vec::new() }, now));
            return actions;
        }
        self.limits = 0;
        let mut decided = terms.actions.of(&analysis);
        // Who asks for it knows more than can be seen.
        if trigger == Trigger::ExplicitRequest && analysis.conclusion == Conclusion::Unknown {
            decided = Decided::InjectPrompt;
        }
        if is_end(stop) {
            if let Some(at) = self.may_resume(stop, &terms, now) {
                self.resumes = Some(at);
                self.phase = Phase::Watching;
                return vec![self.decide(trigger, &analysis, Decided::ResumeAgent, Some(at))];
            }
            decided = Decided::NotifyOwner;
        }
        match decided {
            Decided::InjectPrompt | Decided::RetryWithHints => {
                self.send_on(&terms, trigger, &analysis, decided, examined, now)
            }
            Decided::AssignNextTask => {
                let why = analysis.evidence.join("; ");
                let actions = vec![
                    self.decide(trigger, &analysis, decided, None),
                    Action::Notify(format!("done: {why}")),
                ];
                self.go(Phase::Done { why }, now);
                actions
            }
            Decided::PauseAgent => {
                let why = analysis.evidence.join("; ");
                let actions = vec![self.decide(trigger, &analysis, decided, None), Action::Pause];
                self.go(Phase::NeedsOwner { why }, now);
                actions
            }
            // Below the threshold, too, a person is told: nobody sleeps on it.
            Decided::NotifyOwner | Decided::NoAction | Decided::ResumeAgent => {
                let why = analysis.evidence.join("; ");
                let action = self.decide(trigger, &analysis, decided, None);
                self.call_owner(vec![action], why, now)
            }
        }
    }

    /// When a process that crashed is run again, if it may be.
    fn may_resume(&mut self, stop: Stop, terms: &Terms, now: Now) -> Option<Wall> {
        let crashed = matches!(stop, Stop::Lost | Stop::Exited { status: Some(1..) | None, .. });
        self.resumed.retain(|at| now.wall.since(*at) < RESUMES);
        let often = u32::try_from(self.resumed.len()).unwrap_or(u32::MAX);
        if !crashed || self.held || often >= terms.resumes_per_hour {
            return None;
        }
        self.resumed.push(now.wall);
        Some(now.wall.plus(FIRST_RESUME.saturating_mul(5u32.saturating_pow(often))))
    }

    /// Gives the agent another prompt, unless a brake says no.
    fn send_on(
        &mut self,
        terms: &Terms,
        trigger: Trigger,
        analysis: &Analysis,
        decided: Decided,
        examined: &Examined,
        now: Now,
    ) -> Vec<Action> {
        let mut actions = Vec::new();
        let stand = Stand::new(examined.said.as_deref(), &examined.failures);
        self.progress.note(stand, examined.changed);
        let brake = if self.turns >= terms.turns() {
            Some(format!("{} prompts were given", self.turns))
        } else if self.progress.is_stuck() {
            Some("no progress: the same words, the same failures and nothing changed, three times".into())
        } else {
            terms.used_up(now.wall.since(self.began), self.spent.saturating_sub(self.spent_before))
        };
        if let Some(brake) = brake {
            actions.push(self.decide(trigger, analysis, Decided::NotifyOwner, None));
            return self.call_owner(actions, brake, now);
        }
        if !self.warned
            && let Some(nearly) = terms.nearly_used_up(
                self.turns,
                now.wall.since(self.began),
                self.spent.saturating_sub(self.spent_before),
            )
        {
            self.warned = true;
            actions.push(Action::Notify(nearly));
        }
        let pause = terms.pause() * (1 << self.progress.repeats().min(LONGEST_PAUSE.ilog2()));
        let until = self.prompted.map_or(now.wall, |last| last.plus(pause).max(now.wall));
        actions.push(self.decide(trigger, analysis, decided, (until > now.wall).then_some(until)));
        let wanted = examined.wants_on.as_slice();
        let open = if wanted.is_empty() { &examined.open[..] } else { wanted };
        let failures = prompt::reasons(&examined.failures, open);
        let why = analysis.evidence.join("; ");
        if until > now.wall || self.held {
            self.go(Phase::Waiting { until, why, failures }, now);
        } else {
            actions.extend(self.prompt(&failures, now));
        }
        actions
    }

    fn prompt(&mut self, failures: &[String], now: Now) -> Vec<Action> {
        let goal = self.terms.as_ref().and_then(|terms| terms.goal.clone());
        (self.number, self.turns) = (self.number + 1, self.turns + 1);
        self.prompted = Some(now.wall);
        let number = self.number;
        self.go(Phase::Prompting { number }, now);
        vec![Action::Prompt { number, text: prompt::text(goal.as_deref(), failures) }]
    }

    fn call_owner(&mut self, mut actions: Vec<Action>, why: String, now: Now) -> Vec<Action> {
        let known = matches!(&self.phase, Phase::NeedsOwner { why: before } if *before == why);
        self.go(Phase::NeedsOwner { why: why.clone() }, now);
        if !known {
            actions.push(Action::Notify(why));
        }
        actions
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
            Phase::Examining { trigger, stop } => self.examine(trigger, stop, now),
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
            Phase::Waiting { failures, .. } => match &self.terms {
                Some(terms) if self.turns < terms.turns() => self.prompt(&failures, now),
                _ => self.call_owner(Vec::new(), format!("{} prompts were given", self.turns), now),
            },
            Phase::Examining { trigger, stop } => self.judge(trigger, stop, &Examined::default(), now),
            Phase::Prompting { .. } => self.not_delivered(now),
            Phase::Off | Phase::Watching | Phase::NeedsOwner { .. } | Phase::Done { .. } => Vec::new(),
        }
    }

    fn decide(
        &mut self,
        trigger: Trigger,
        analysis: &Analysis,
        action: Decided,
        until: Option<Wall>,
    ) -> Action {
        let task = self.terms.as_ref().and_then(|terms| terms.goal.clone());
        let decision = Decision { trigger, analysis: analysis.clone(), action, until, task };
        self.decision = Some(decision.clone());
        Action::Record(decision)
    }
}

/// Whether the process has ended: nobody is there to be prompted.
fn is_end(stop: Stop) -> bool {
    matches!(stop, Stop::Exited { .. } | Stop::Lost | Stop::Ended)
}

/// Until when to wait, and whether that is a guess, where something outside keeps the agent.
fn limit_end(
    stop: Stop,
    examined: &Examined,
    analysis: &Analysis,
    limits: u32,
    now: Wall,
) -> Option<(Wall, bool)> {
    if analysis.conclusion != Conclusion::WaitingExternal {
        return None;
    }
    if let Some(until) = examined.awaited.as_ref().and_then(|awaited| awaited.until) {
        return Some((until.max(now), false));
    }
    let told = match stop {
        Stop::Limited { until, .. } | Stop::TurnFailed { until, .. } => until,
        _ => None,
    };
    let guess = UNKNOWN_LIMIT.saturating_mul(1 << limits.min(8)).min(LONGEST_LIMIT);
    Some(told.map_or((now.plus(guess), true), |until| (until.max(now).plus(JITTER), false)))
}

#[cfg(test)]
mod tests;
