//! The part of a run that looks at what was done, and decides what comes next.

use std::time::Duration;

use super::record::{Attempt, Changes, HelperRecord, Status};
use super::{Action, Context, GiveUp, Outcome, Phase, Run, Then};
use crate::Timestamp;
use crate::pre_context::{self, Failed, Helper, Kind};

/// Equal first errors in a row that are a loop.
const LOOP: usize = 3;

impl Run {
    /// The work tree was looked at.
    pub(super) fn observed(&mut self, changes: Option<Changes>, now: Timestamp) -> Vec<Action> {
        let Phase::Observing { then, .. } = &self.phase else { return Vec::new() };
        let then = then.clone();
        if let Some(turn) = self.last_turn() {
            let seen = changes.map(Changes::bounded);
            turn.changes = match (turn.changes.take(), seen) {
                (Some(before), Some(seen)) => Some(before.then(&seen)),
                (before, seen) => seen.or(before),
            };
        }
        match then {
            Then::Check { .. } if self.policy.has_checks => self.check(now),
            Then::Check { asks: true } if self.agent.is_some() => self.await_answer(now),
            Then::Check { .. } => {
                self.close(Status::Unchecked, Vec::new(), now);
                self.end(Outcome::FinishedUnchecked, now)
            }
            Then::Switch { exclude } => self.switch(exclude, now),
            Then::Retry { error } => self.failed(vec![error], now),
            Then::GiveUp { why } => self.end(Outcome::GivenUp { why }, now),
        }
    }

    fn check(&mut self, now: Timestamp) -> Vec<Action> {
        let act = self.next_act();
        let due = now.plus(Duration::from_secs(self.policy.check_secs));
        self.go(Phase::Checking { due }, vec![Action::RunChecks { act }])
    }

    /// The checks were run.
    pub(super) fn checked(&mut self, passed: bool, failures: Vec<String>, now: Timestamp) -> Vec<Action> {
        if !matches!(self.phase, Phase::Checking { .. }) {
            return Vec::new();
        }
        if passed {
            self.close(Status::Passed, Vec::new(), now);
            return self.end(Outcome::Done, now);
        }
        let said = failures.iter().any(|failure| !failure.trim().is_empty());
        self.failed(if said { failures } else { vec!["a check failed and said nothing".into()] }, now)
    }

    /// The attempt failed.
    fn failed(&mut self, errors: Vec<String>, now: Timestamp) -> Vec<Action> {
        self.close(Status::Failed, errors, now);
        let time_up = self.policy.time().is_some_and(|time| now >= self.began.plus(time));
        let why = if time_up {
            GiveUp::Time
        } else if self.policy.is_spent(self.tokens) {
            GiveUp::Tokens
        } else if self.policy.stop_unchanged && self.is_unchanged() {
            GiveUp::Unchanged
        } else if self.is_loop() {
            if self.policy.helper && self.helper.is_none() {
                return self.ask_helper(now);
            }
            GiveUp::Loop
        } else if self.number() >= self.attempts_allowed() {
            GiveUp::Attempts
        } else {
            return self.retry(now);
        };
        self.end(Outcome::GivenUp { why }, now)
    }

    fn retry(&mut self, now: Timestamp) -> Vec<Action> {
        let mut actions = if self.policy.fresh_agent { self.stop_agent() } else { Vec::new() };
        actions.extend(self.attempt(now));
        self.outbox.clone_from(&actions);
        actions
    }

    /// Attempts that may be made, with those that a helper earned.
    fn attempts_allowed(&self) -> u32 {
        let earned = match self.helper {
            Some(HelperRecord::Answered { .. }) => self.policy.helper_attempts,
            Some(HelperRecord::Failed { .. }) | None => 0,
        };
        self.policy.attempts().saturating_add(earned)
    }

    /// Whether the next prompt would be the last one again, though that one changed nothing.
    fn is_unchanged(&self) -> bool {
        let [.., before, last] = self.attempts.as_slice() else { return false };
        last.changed_nothing() && last.errors == before.errors
    }

    /// Whether the last attempts all failed in the same way.
    fn is_loop(&self) -> bool {
        let last = &self.attempts[self.attempts.len().saturating_sub(LOOP)..];
        let first = last.first().and_then(Attempt::first_error);
        last.len() == LOOP && first.is_some() && last.iter().all(|attempt| attempt.first_error() == first)
    }

    fn ask_helper(&mut self, now: Timestamp) -> Vec<Action> {
        let files: Vec<Vec<String>> = self
            .attempts
            .iter()
            .map(|attempt| {
                let Changes { mut created, modified, .. } = attempt.changes();
                created.extend(modified);
                created
            })
            .collect();
        let attempts: Vec<Failed<'_>> = self
            .attempts
            .iter()
            .zip(&files)
            .map(|(attempt, files)| Failed {
                number: attempt.number,
                files,
                error: attempt.first_error().unwrap_or_default(),
            })
            .collect();
        let text = pre_context::helper(&Helper { attempts: &attempts }, &self.policy.pre_context);
        let context = (!text.is_empty()).then_some(Context { kind: Kind::Helper, text });
        let act = self.next_act();
        let due = now.plus(Duration::from_secs(self.policy.helper_secs));
        self.go(
            Phase::AskingHelper { due },
            vec![Action::AskHelper { act, context, prompt: self.prompt.clone() }],
        )
    }

    /// The helper answered, or could not.
    pub(super) fn helped(&mut self, record: HelperRecord, now: Timestamp) -> Vec<Action> {
        if !matches!(self.phase, Phase::AskingHelper { .. }) {
            return Vec::new();
        }
        let answered = matches!(record, HelperRecord::Answered { .. });
        self.helper = Some(record);
        if answered && self.number() < self.attempts_allowed() {
            self.retry(now)
        } else {
            self.end(Outcome::GivenUp { why: GiveUp::Loop }, now)
        }
    }

    /// What a helper found, for the attempts behind it.
    pub(super) fn findings(&self) -> &[String] {
        match &self.helper {
            Some(HelperRecord::Answered { findings, .. }) => findings,
            Some(HelperRecord::Failed { .. }) | None => &[],
        }
    }

    fn close(&mut self, status: Status, errors: Vec<String>, now: Timestamp) {
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.end(status, errors, now);
        }
    }
}
