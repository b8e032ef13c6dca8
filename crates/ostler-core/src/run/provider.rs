//! The part of a run that finds somebody to do the work.

use std::time::Duration;

use super::record::{Attempt, Turn};
use super::{Action, Agent, GiveUp, Outcome, Phase, Run, Stage, Stop};
use crate::breaker::{Probes, Reason, UnavailableProvider};
use crate::{Asking, Failure, Wall};

/// Waits for a provider in one run.
const MAX_WAITS: u32 = 50;
/// The shortest wait for a provider.
const MIN_WAIT: Duration = Duration::from_secs(1);

impl Run {
    pub(super) fn choose(&mut self) -> Vec<Action> {
        let act = self.next_act();
        self.go(Phase::Choosing, vec![Action::ChooseProvider { act, excluding: self.tried.clone() }])
    }

    /// Chooses among all providers: whoever failed before has had time.
    pub(super) fn choose_anew(&mut self) -> Vec<Action> {
        self.tried.clear();
        self.choose()
    }

    /// A provider can be used again: a run that waits looks at once, and what it did not wait does not count.
    pub(super) fn provider_opened(&mut self, now: Wall) -> Vec<Action> {
        let Phase::Waiting { until } = self.phase else { return Vec::new() };
        let spared = u64::try_from(until.since(now).as_millis()).unwrap_or(u64::MAX);
        self.waited_ms = self.waited_ms.saturating_sub(spared);
        self.waits = self.waits.saturating_sub(1);
        self.choose_anew()
    }

    /// Whether waiting may help against this. A program that crashed may do better next time, as often as the task may be
    /// attempted.
    fn may_pass(&self, reason: Reason) -> bool {
        let crashed = |turn: &&Turn| {
            let evidence = turn.stop.as_ref().and_then(Stop::evidence);
            evidence.and_then(|(evidence, _)| evidence.reason()) == Some(Reason::Crash)
        };
        let turns = self.attempts.iter().flat_map(|attempt| &attempt.turns);
        let times = u32::try_from(turns.filter(crashed).count()).unwrap_or(u32::MAX);
        let again = times < self.policy.max_attempts;
        reason.passes() || (reason == Reason::Crash && again)
    }

    /// Waits for a provider, if that can help.
    pub(super) fn no_provider(&mut self, shut: Vec<UnavailableProvider>, now: Wall) -> Vec<Action> {
        // There is nobody else for the one whose turn failed and who is not shut out: it gets another try.
        let fresh = self.attempts.last().is_some_and(|attempt| attempt.turns.is_empty());
        let doubted = self.tried.iter().any(|tried| shut.iter().all(|shut| shut.provider != *tried));
        if fresh && doubted {
            self.tried.clear();
            return self.choose();
        }
        let opens = shut.iter().filter(|shut| self.may_pass(shut.reason)).map(|shut| shut.until).min();
        if let Some(until) = opens.map(|until| until.max(now.plus(MIN_WAIT))) {
            let wait = u64::try_from(until.since(now).as_millis()).unwrap_or(u64::MAX);
            let waited_ms = self.waited_ms.saturating_add(wait);
            let in_time = self.policy.time().is_none_or(|time| until < self.began.plus(time));
            if in_time && self.waits < MAX_WAITS && waited_ms <= self.policy.wait_secs.saturating_mul(1_000) {
                self.waits += 1;
                self.waited_ms = waited_ms;
                return self.go(Phase::Waiting { until }, Vec::new());
            }
        }
        let all_refuse = !shut.is_empty() && shut.iter().all(|shut| shut.reason == Reason::Auth);
        if all_refuse {
            self.end(Outcome::Blocked { kind: Asking::Auth, provider: None }, now)
        } else {
            self.end(Outcome::GivenUp { why: GiveUp::NoProvider { shut } }, now)
        }
    }

    /// Who failed in the last attempt so that somebody else may do better, though nothing speaks against the provider:
    /// nobody knows why, or a new conversation did not help.
    pub(super) fn doubted(&self) -> Option<&str> {
        let mut failed = self.attempts.iter().rev().map_while(Attempt::unexplained);
        let (provider, failure) = failed.next()?;
        let again = failed.next().is_some_and(|(before, _)| before == provider);
        (failure == Failure::Other || again).then_some(provider)
    }

    /// Starts the agent of a provider.
    pub(super) fn chosen(&mut self, provider: String, probe: Option<Probes>, now: Wall) -> Vec<Action> {
        if self.tried.contains(&provider) {
            return self.end(Outcome::GivenUp { why: GiveUp::NoProvider { shut: Vec::new() } }, now);
        }
        let act = self.next_act();
        self.agent = Some(Agent { id: act, provider: provider.clone(), probe });
        self.turn(&provider, now);
        let phase = self.agent_phase(Stage::Starting, now);
        self.go(phase, vec![Action::StartAgent { act, provider }])
    }

    /// Goes on with another provider within the attempt.
    pub(super) fn switch(&mut self, exclude: bool, now: Wall) -> Vec<Action> {
        if self.policy.is_spent(self.tokens) {
            return self.end(Outcome::GivenUp { why: GiveUp::Tokens }, now);
        }
        if self.switches >= self.policy.max_switches {
            return self.end(Outcome::GivenUp { why: GiveUp::Switches }, now);
        }
        self.switches += 1;
        let last = self.attempts.last().and_then(Attempt::provider).filter(|_| exclude);
        self.tried.extend(last.map(str::to_owned));
        self.choose()
    }
}
