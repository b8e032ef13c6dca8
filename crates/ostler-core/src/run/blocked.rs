//! The part of a run whose agent waits for a person.
//!
//! A question is answered by a person, not by another attempt. Who comes in time finds the run waiting; who comes later
//! finds it reported as blocked, with its agent as it was, and the run goes on all the same.

use std::time::Duration;

use super::record::Status;
use super::{Action, Blocked, Event, Outcome, Phase, Run, Stage, Stop, Then};
use crate::{Asking, Wall};

impl Run {
    /// Whether it was reported as blocked, and goes on when somebody comes to its agent.
    pub fn is_parked(&self) -> bool {
        matches!(self.phase, Phase::Parked { .. })
    }

    /// Its report was made: whoever takes it up makes no other one.
    pub fn was_reported(&mut self) {
        if self.is_parked() {
            self.outbox.clear();
        }
    }

    /// The agent asked something in its last words, and nothing tells that it is done all the same.
    pub(super) fn await_answer(&mut self, now: Wall) -> Vec<Action> {
        let until = now.plus(Duration::from_secs(self.policy.blocked_secs));
        let blocked = Some(Blocked { kind: Asking::Question, until, in_words: true });
        self.go(Phase::Agent { stage: Stage::Working, due: None, blocked }, Vec::new())
    }

    /// A person answered: time begins afresh.
    pub(super) fn resumed(&mut self, now: Wall) -> Vec<Action> {
        match &mut self.phase {
            Phase::Agent { stage, due, blocked } => {
                *blocked = None;
                *due = super::agent::due_at(*stage, &self.policy, now);
                Vec::new()
            }
            // Answered before it was known whether that is needed: what is found out meanwhile is old.
            Phase::Observing { then: Then::Check { asks: true }, .. }
            | Phase::Checking { asks: true, .. } => {
                self.go(self.agent_phase(Stage::Working, now), Vec::new())
            }
            _ => Vec::new(),
        }
    }

    /// Nobody came in time.
    pub(super) fn park(&mut self, stage: Stage, blocked: Blocked, now: Wall) -> Vec<Action> {
        let provider = self.agent.as_ref().map(|agent| agent.provider.clone());
        let outcome = Outcome::Blocked { kind: blocked.kind, provider };
        // Whoever comes to answer finds the agent as it is.
        let mut actions = self.release_probe();
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.end(Status::Abandoned, Vec::new(), now);
        }
        actions.push(Action::Report { outcome: outcome.clone() });
        self.go(Phase::Parked { stage, blocked, outcome }, actions)
    }

    /// What still changes a run that was reported as blocked.
    pub(super) fn while_parked(&mut self, event: &Event, now: Wall) -> Vec<Action> {
        match *event {
            Event::AgentResumed { agent } if self.is_agent(agent) => self.unpark(now),
            Event::AgentStopped { agent, stop } if self.is_agent(agent) => self.left(stop, now),
            Event::Cancelled => self.end(Outcome::Cancelled, now),
            Event::Spent { tokens } => {
                self.tokens = self.tokens.max(tokens);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// Somebody came after all. The time in between does not count.
    fn unpark(&mut self, now: Wall) -> Vec<Action> {
        let Phase::Parked { stage, .. } = self.phase else { return Vec::new() };
        if let Some(since) = self.attempts.last_mut().and_then(super::Attempt::reopen) {
            self.began = self.began.plus(now.since(since));
        }
        self.go(self.agent_phase(stage, now), Vec::new())
    }

    /// The agent of a run that was reported as blocked is gone.
    fn left(&mut self, stop: Stop, now: Wall) -> Vec<Action> {
        let Phase::Parked { stage, outcome, .. } = &self.phase else { return Vec::new() };
        let worked = *stage == Stage::Working;
        match stop {
            // A person finished it by hand, and left it in good order: the checks tell whether it is done.
            Stop::Exited { status: Some(0), signal: None } if worked => {
                self.unpark(now);
                self.stopped(stop, now)
            }
            Stop::Exited { .. } | Stop::Ended | Stop::Lost => {
                let outcome = outcome.clone();
                self.agent = None;
                self.go(Phase::Ended { outcome }, Vec::new())
            }
            _ => Vec::new(),
        }
    }
}
