//! A task with all its attempts, until it is done or there is no point in going on.
//!
//! # Theory of operation
//!
//! A run chooses a provider, starts its agent, gives it the prompt and waits until the agent stops. What comes next
//! depends on structured evidence alone, never on words on a screen: an agent that is idle after its work has the
//! tree looked at and the checks run; one that failed has its provider's breaker told, and another provider goes
//! on within the same attempt; one that waits for a person gets some time, and then the run says so and ends. Only
//! checks that pass make a run done. Checks that fail make another attempt, which is told what failed and what is
//! there already.
//!
//! Where the task has criteria in words, a helper is asked for commands that verify them once the checks pass, or the
//! agent is finished where there are none. A command of its that fails counts as a check that fails; those that pass
//! are recorded and make nothing done that is not. Criteria that nobody can verify leave the run as it is without them.
//!
//! Everything is bounded: attempts, prompts, changes of provider, waiting, time and tokens. Three things end a run
//! sooner: three attempts in a row that fail in the same way (a helper is asked once; what its commands find earns another
//! attempt), an attempt that changed nothing and failed as the one before it, for the same prompt would be given again, and
//! a check that cannot be run. Failures are compared without times, numbers and directories (`same_failure.rs`).
//!
//! A run that waits for a provider looks again when a breaker closes. A crash of the only agent is waited for too, as often
//! as the task may be attempted.
//!
//! # The shell's part
//!
//! The shell gives every event to [`Run::handle`], stores the run, then performs the actions. Each act has a name;
//! its answer carries that name, and answers to anything but the present act change nothing. After a restart the shell
//! loads the run and gives it `Restarted`: it gets the actions of the last step again, with their names, and can tell
//! from its own records which of them were done. Nothing is counted twice, for all counting happens in what is stored.
//! Times are those of the clock that people use, for they outlive the shell.

mod agent;
mod blocked;
mod earlier;
mod event;
mod execution;
mod inquiry;
mod judge;
mod outcome;
mod phase;
mod policy;
mod provider;
mod record;
mod same_failure;
mod story;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use earlier::Earlier;
pub use event::{Act, Action, AgentId, AttemptNotes, Context, Event};
pub use execution::Execution;
pub use outcome::{GiveUp, Outcome};
pub use phase::{Blocked, Inquiry, Phase, Stage, Then};
pub use policy::{MAX_ITERATIONS, Policy};
pub use record::{Attempt, Changes, HelperAnswer, HelperRecord, Status, Turn};
pub use same_failure::plain_failure;
pub use story::Step;

pub use crate::stop::Stop;

use crate::Wall;
use crate::breaker::Probes;

/// The agent that a run uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Agent {
    id: AgentId,
    provider: String,
    probe: Option<Probes>,
}

/// A task with all its attempts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The prompt, as it was given.
    prompt: String,
    policy: Policy,
    phase: Phase,
    began: Wall,
    /// What was asked for so far.
    step: u32,
    /// Prompts so far.
    iterations: u32,
    /// Changes of provider so far.
    switches: u32,
    /// Waits for a provider so far, and how long they were.
    waits: u32,
    waited_ms: u64,
    /// Tokens so far.
    tokens: u64,
    attempts: Vec<Attempt>,
    agent: Option<Agent>,
    /// Providers that failed in this attempt, since the run last waited for one.
    tried: Vec<String>,
    helper: Option<HelperRecord>,
    /// Attempts that a helper's answer earned.
    #[serde(default)]
    earned: u32,
    /// What came of the criteria of the present attempt.
    #[serde(default)]
    criteria: Option<HelperRecord>,
    /// What earlier runs of the same task left.
    #[serde(default)]
    earlier: Earlier,
    /// The actions of the last step.
    outbox: Vec<Action>,
}

impl Run {
    /// A run of a prompt that has not begun.
    pub fn new(prompt: impl Into<String>, policy: Policy) -> Self {
        Self {
            prompt: prompt.into(),
            policy,
            phase: Phase::New,
            began: Wall(0),
            step: 0,
            iterations: 0,
            switches: 0,
            waits: 0,
            waited_ms: 0,
            tokens: 0,
            attempts: Vec::new(),
            agent: None,
            tried: Vec::new(),
            helper: None,
            earned: 0,
            criteria: None,
            earlier: Earlier::default(),
            outbox: Vec::new(),
        }
    }

    /// What it may do.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Where it stands.
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// How it ended, if it has.
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.phase {
            Phase::Ended { outcome } | Phase::Parked { outcome, .. } => Some(outcome),
            _ => None,
        }
    }

    /// Whether nothing can change it any more.
    pub fn is_final(&self) -> bool {
        matches!(self.phase, Phase::Ended { .. })
    }

    /// Its attempts, the oldest first.
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// The agent it uses now, and whose.
    pub fn agent(&self) -> Option<(AgentId, &str)> {
        self.agent.as_ref().map(|agent| (agent.id, agent.provider.as_str()))
    }

    /// The agent that stays when the run has ended: one that waits for a person.
    pub fn agent_left(&self) -> Option<AgentId> {
        let blocked = matches!(self.outcome(), Some(Outcome::Blocked { .. }));
        self.agent().map(|(agent, _)| agent).filter(|_| blocked)
    }

    /// Its agent is being started, and has nothing to do yet.
    pub fn is_starting(&self) -> bool {
        matches!(
            self.phase,
            Phase::Agent { stage: Stage::Starting, .. } | Phase::Parked { stage: Stage::Starting, .. }
        )
    }

    /// The prompt that its agent works on, or asked something about that a person may answer, where `sent` is when the last
    /// one was sent.
    pub fn prompt(&self, sent: Option<Wall>) -> Option<Wall> {
        let works = matches!(
            self.phase,
            Phase::Agent { stage: Stage::Working, .. }
                | Phase::Parked { stage: Stage::Working, .. }
                | Phase::Observing { then: Then::Check { asks: true }, .. }
                | Phase::Checking { asks: true, .. }
        );
        sent.filter(|_| works)
    }

    /// It waits for this look at the work tree.
    pub fn is_observing(&self, act: Act) -> bool {
        self.act() == act && matches!(self.phase, Phase::Observing { .. })
    }

    /// It waits for these checks.
    pub fn is_checking(&self, act: Act) -> bool {
        self.act() == act && matches!(self.phase, Phase::Checking { .. })
    }

    /// How long the look at the work tree may take that comes before it begins.
    pub fn first_look(&self) -> Duration {
        self.policy.time().map_or(phase::LOOK, |time| time.min(phase::LOOK))
    }

    /// The agent that works at it, or did last.
    pub fn last_agent(&self) -> Option<(AgentId, Option<Stop>)> {
        let turn = self.attempts.last()?.turns.last()?;
        Some((turn.agent?, turn.stop))
    }

    /// Its agent has a dialog open.
    pub fn is_blocked(&self) -> bool {
        let (Phase::Agent { blocked: Some(blocked), .. } | Phase::Parked { blocked, .. }) = &self.phase
        else {
            return false;
        };
        !blocked.in_words
    }

    /// The probe that its agent is, to be renewed while it works.
    pub fn probe(&self) -> Option<Probes> {
        self.agent.as_ref().and_then(|agent| agent.probe)
    }

    /// Prompts so far, and how many there may be.
    pub fn iterations(&self) -> (u32, u32) {
        (self.iterations, self.policy.iterations())
    }

    /// Changes of provider so far.
    pub fn switches(&self) -> u32 {
        self.switches
    }

    /// What a helper found of attempts that failed in the same way, if one was asked.
    pub fn helper(&self) -> Option<&HelperRecord> {
        self.helper.as_ref()
    }

    /// What came of the criteria of the last attempt, if it got so far.
    pub fn criteria(&self) -> Option<&HelperRecord> {
        self.criteria.as_ref()
    }

    /// What all attempts changed together.
    pub fn changes(&self) -> Changes {
        self.attempts.iter().fold(Changes::default(), |all, attempt| all.then(&attempt.changes()))
    }

    /// When `Tick` is due.
    pub fn deadline(&self) -> Option<Wall> {
        let own = match &self.phase {
            Phase::New | Phase::Choosing | Phase::Parked { .. } | Phase::Ended { .. } => None,
            Phase::Waiting { until } => Some(*until),
            Phase::Agent { blocked: Some(blocked), .. } => Some(blocked.until),
            Phase::Agent { due, .. } => *due,
            Phase::Observing { due, .. } | Phase::Checking { due, .. } | Phase::AskingHelper { due, .. } => {
                Some(*due)
            }
        };
        own.into_iter().chain(self.time_up()).min()
    }

    /// When the run's time is up, where that ends something.
    fn time_up(&self) -> Option<Wall> {
        match &self.phase {
            Phase::New
            | Phase::Choosing
            // The last look, which has a time of its own.
            | Phase::Observing { then: Then::GiveUp { .. }, .. }
            | Phase::Parked { .. }
            | Phase::Ended { .. } => None,
            Phase::Waiting { .. }
            | Phase::Agent { .. }
            | Phase::Observing { .. }
            | Phase::Checking { .. }
            | Phase::AskingHelper { .. } => self.policy.time().map(|time| self.began.plus(time)),
        }
    }

    /// Takes an event in and says what to do, after the run is stored.
    #[must_use]
    pub fn handle(&mut self, event: Event, now: Wall) -> Vec<Action> {
        if event == Event::Restarted {
            self.begin_afresh(now);
            return self.outbox.clone();
        }
        match self.phase {
            Phase::Ended { .. } => return Vec::new(),
            Phase::Parked { .. } => return self.while_parked(&event, now),
            _ => {}
        }
        match event {
            Event::Started { since } if self.phase == Phase::New => {
                self.began = since;
                self.attempt(now)
            }
            Event::ProviderChosen { act, provider, probe } if self.is_at(act, &Phase::Choosing) => {
                self.chosen(provider, probe, now)
            }
            Event::NoProvider { act, shut } if self.is_at(act, &Phase::Choosing) => {
                self.no_provider(shut, now)
            }
            Event::AgentReady { agent } if self.stage_of(agent) == Some(Stage::Starting) => self.deliver(now),
            Event::StartFailed { agent, reason } if self.stage_of(agent) == Some(Stage::Starting) => {
                self.not_started(&reason, now)
            }
            Event::PromptSubmitted { act, proof } if self.is_delivering(act) => self.submitted(proof, now),
            Event::DeliveryFailed { act, reason } if self.is_delivering(act) => {
                self.unusable(&format!("prompt not taken: {reason}"), now)
            }
            Event::AgentStopped { agent, stop } if self.is_agent(agent) => self.stopped(stop, now),
            Event::AgentResumed { agent } if self.is_agent(agent) => self.resumed(now),
            Event::TreeObserved { act, changes, words } if self.act() == act => {
                self.observed(changes, words.as_deref(), now)
            }
            Event::ChecksFinished { act, passed, failures } if self.act() == act => {
                self.checked(passed, failures, now)
            }
            Event::HelperAnswered { act, answer } if self.act() == act => {
                self.helped(HelperRecord::Answered(answer.bounded()), now)
            }
            Event::HelperFailed { act, reason } if self.act() == act => {
                self.helped(HelperRecord::Failed { reason }, now)
            }
            Event::Spent { tokens } => {
                self.tokens = self.tokens.max(tokens);
                let at_work = matches!(self.phase, Phase::Agent { .. });
                if at_work && self.policy.is_spent(self.tokens) {
                    self.break_off(GiveUp::Tokens, now)
                } else {
                    Vec::new()
                }
            }
            Event::Cancelled => self.end(Outcome::Cancelled, now),
            Event::Tick => self.tick(now),
            Event::ProviderOpened => self.provider_opened(now),
            Event::CheckNotRunnable { act, reason } if self.act() == act => self.not_checkable(reason, now),
            // Old news, and news that change nothing.
            _ => Vec::new(),
        }
    }

    /// What is asked for again after a restart has its whole time again: nobody was there to hear of it meanwhile.
    fn begin_afresh(&mut self, now: Wall) {
        let policy = &self.policy;
        match &mut self.phase {
            Phase::Agent { stage, due, .. } => *due = agent::due_at(*stage, policy, now),
            Phase::Observing { due, then } => *due = then.look_due(now),
            Phase::Checking { due, .. } => *due = now.plus(Duration::from_secs(policy.check_secs)),
            Phase::AskingHelper { due, .. } => *due = now.plus(Duration::from_secs(policy.helper_secs)),
            Phase::New
            | Phase::Choosing
            | Phase::Waiting { .. }
            | Phase::Parked { .. }
            | Phase::Ended { .. } => {}
        }
    }

    fn tick(&mut self, now: Wall) -> Vec<Action> {
        if self.time_up().is_some_and(|up| now >= up) {
            return self.too_late_to_go_on(now);
        }
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return Vec::new();
        }
        match self.phase {
            Phase::Waiting { .. } => self.choose_anew(),
            Phase::Agent { stage, blocked: Some(blocked), .. } => self.park(stage, blocked, now),
            Phase::Agent { stage: Stage::Starting, .. } => self.unusable("agent did not become ready", now),
            Phase::Agent { .. } => self.unusable("prompt not taken in time", now),
            Phase::Observing { .. } => self.observed(None, None, now),
            Phase::Checking { .. } => {
                let limit = format!("the checks did not end within {} s", self.policy.check_secs);
                self.checked(false, vec![limit], now)
            }
            Phase::AskingHelper { .. } => {
                self.helped(HelperRecord::Failed { reason: "no answer in time".into() }, now)
            }
            Phase::New | Phase::Choosing | Phase::Parked { .. } | Phase::Ended { .. } => Vec::new(),
        }
    }

    /// Begins the next attempt.
    fn attempt(&mut self, now: Wall) -> Vec<Action> {
        let number = self.number() + 1;
        let doubted = self.doubted().map(str::to_owned);
        self.attempts.push(Attempt::new(number, now));
        self.criteria = None;
        self.tried = doubted.into_iter().collect();
        if self.agent.is_some() { self.again(now) } else { self.choose() }
    }

    /// Enters a phase. What is to be done is kept until the next one, for a shell that dies in between.
    fn go(&mut self, phase: Phase, actions: Vec<Action>) -> Vec<Action> {
        self.phase = phase;
        self.outbox.clone_from(&actions);
        actions
    }

    /// Ends the run.
    fn end(&mut self, outcome: Outcome, now: Wall) -> Vec<Action> {
        let mut actions = self.stop_agent();
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.end(Status::Abandoned, Vec::new(), now);
        }
        actions.push(Action::Report { outcome: outcome.clone() });
        self.go(Phase::Ended { outcome }, actions)
    }

    /// The number of the present attempt, from 1.
    fn number(&self) -> u32 {
        self.attempts.last().map_or(0, |attempt| attempt.number)
    }

    /// The last thing that was asked for.
    fn act(&self) -> Act {
        Act { attempt: self.number(), step: self.step }
    }

    fn next_act(&mut self) -> Act {
        self.step += 1;
        self.act()
    }

    fn is_at(&self, act: Act, phase: &Phase) -> bool {
        self.act() == act && self.phase == *phase
    }
}

#[cfg(test)]
mod tests;
