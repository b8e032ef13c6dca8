//! The part of a run that looks at what was done, and decides what comes next.

use std::time::Duration;

use super::record::{Changes, Status};
use super::same_failure::is_same;
use super::{Action, GiveUp, Inquiry, Outcome, Phase, Run, Then};
use crate::Wall;

/// Attempts in a row that fail in the same way and so are a loop.
const LOOP: usize = 3;

impl Run {
    /// The work tree was looked at.
    pub(super) fn observed(
        &mut self,
        changes: Option<Changes>,
        words: Option<&str>,
        now: Wall,
    ) -> Vec<Action> {
        let Phase::Observing { then, .. } = &self.phase else { return Vec::new() };
        let then = then.clone();
        if let Some(turn) = self.last_turn() {
            turn.note_words(words.unwrap_or_default());
            let seen = changes.map(Changes::bounded);
            turn.changes = match (turn.changes.take(), seen) {
                (Some(before), Some(seen)) => Some(before.then(&seen)),
                (before, seen) => seen.or(before),
            };
        }
        match then {
            Then::Check { asks } if self.policy.has_checks => self.check(asks, now),
            Then::Check { asks: true } if self.agent.is_some() => self.await_answer(now),
            Then::Check { .. } => self.accomplished(now),
            Then::Switch { exclude } => self.switch(exclude, now),
            Then::Retry { error } => self.failed(vec![error], now),
            Then::GiveUp { why } => self.end(Outcome::GivenUp { why }, now),
        }
    }

    fn check(&mut self, asks: bool, now: Wall) -> Vec<Action> {
        let act = self.next_act();
        let due = now.plus(Duration::from_secs(self.policy.check_secs));
        self.go(Phase::Checking { due, asks }, vec![Action::RunChecks { act }])
    }

    /// The checks were run.
    pub(super) fn checked(&mut self, passed: bool, failures: Vec<String>, now: Wall) -> Vec<Action> {
        let Phase::Checking { asks, .. } = self.phase else { return Vec::new() };
        if passed {
            return self.accomplished(now);
        }
        // What it needs to know comes from a person: another attempt would ask again.
        if asks && self.agent.is_some() {
            return self.await_answer(now);
        }
        let said = failures.iter().any(|failure| !failure.trim().is_empty());
        self.failed(if said { failures } else { vec!["a check failed and said nothing".into()] }, now)
    }

    /// A check cannot be run: another attempt would change nothing about that.
    pub(super) fn not_checkable(&mut self, reason: String, now: Wall) -> Vec<Action> {
        if !matches!(self.phase, Phase::Checking { .. }) {
            return Vec::new();
        }
        self.close(Status::Failed, vec![reason.clone()], now);
        self.end(Outcome::GivenUp { why: GiveUp::Check { reason } }, now)
    }

    /// The attempt is finished, and nothing that verified it failed.
    pub(super) fn finished(&mut self, now: Wall) -> Vec<Action> {
        let (status, outcome) = if self.policy.has_checks {
            (Status::Passed, Outcome::Done)
        } else {
            (Status::Unchecked, Outcome::FinishedUnchecked)
        };
        self.close(status, Vec::new(), now);
        self.end(outcome, now)
    }

    /// The attempt failed.
    pub(super) fn failed(&mut self, errors: Vec<String>, now: Wall) -> Vec<Action> {
        self.close(Status::Failed, errors, now);
        let why = if let Some(why) = self.used_up(now) {
            why
        } else if self.policy.stop_unchanged && self.is_unchanged() {
            GiveUp::Unchanged
        } else if self.is_loop() {
            // Where its own commands fail, it has said what it has to say.
            if self.policy.helper && self.helper.is_none() && self.criteria.is_none() {
                return self.inquire(Inquiry::Failures, now);
            }
            GiveUp::Loop
        } else if self.number() >= self.attempts_allowed() {
            GiveUp::Attempts
        } else if self.policy.helper && self.policy.helper_always && self.criteria.is_none() {
            return self.inquire(Inquiry::Failure, now);
        } else {
            return self.retry(now);
        };
        self.end(Outcome::GivenUp { why }, now)
    }

    /// The budget that is used up, if one is.
    pub(super) fn used_up(&self, now: Wall) -> Option<GiveUp> {
        if self.policy.time().is_some_and(|time| now >= self.began.plus(time)) {
            Some(GiveUp::Time)
        } else {
            self.policy.is_spent(self.tokens).then_some(GiveUp::Tokens)
        }
    }

    pub(super) fn retry(&mut self, now: Wall) -> Vec<Action> {
        let mut actions = if self.policy.fresh_agent { self.stop_agent() } else { Vec::new() };
        actions.extend(self.attempt(now));
        self.outbox.clone_from(&actions);
        actions
    }

    /// Attempts that may be made, with those that a helper earned.
    pub(super) fn attempts_allowed(&self) -> u32 {
        self.policy.attempts().saturating_add(self.earned)
    }

    /// Whether the next prompt would be the last one again, though that one changed nothing.
    fn is_unchanged(&self) -> bool {
        let [.., before, last] = self.attempts.as_slice() else { return false };
        last.changed_nothing() && is_same(&last.errors, &before.errors)
    }

    /// Whether the last attempts all failed in the same way.
    fn is_loop(&self) -> bool {
        let last = &self.attempts[self.attempts.len().saturating_sub(LOOP)..];
        let Some(first) = last.first().filter(|first| !first.errors.is_empty()) else { return false };
        last.len() == LOOP && last.iter().all(|attempt| is_same(&attempt.errors, &first.errors))
    }

    fn close(&mut self, status: Status, errors: Vec<String>, now: Wall) {
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.end(status, errors, now);
        }
    }
}
