//! The part of a run in which an agent works.

use std::time::Duration;

use super::record::{Attempt, Changes, Turn};
use super::{Act, Action, AgentId, Blocked, Context, GiveUp, Outcome, Phase, Policy, Run, Stage, Stop, Then};
use crate::Wall;
use crate::breaker::Probes;
use crate::pre_context::{self, Kind, ProviderSwitch, Retry};

impl Run {
    pub(super) fn is_agent(&self, agent: AgentId) -> bool {
        self.agent.as_ref().is_some_and(|known| known.id == agent)
    }

    pub(super) fn stage_of(&self, agent: AgentId) -> Option<Stage> {
        match self.phase {
            Phase::Agent { stage, .. } if self.is_agent(agent) => Some(stage),
            _ => None,
        }
    }

    pub(super) fn is_delivering(&self, act: Act) -> bool {
        self.act() == act && matches!(self.phase, Phase::Agent { stage: Stage::Delivering, .. })
    }

    /// Gives the next attempt to the agent that is there.
    pub(super) fn again(&mut self, now: Wall) -> Vec<Action> {
        let Some(provider) = self.agent.as_ref().map(|agent| agent.provider.clone()) else {
            return self.choose();
        };
        self.turn(&provider, now);
        self.deliver(now)
    }

    pub(super) fn turn(&mut self, provider: &str, now: Wall) {
        // What was said long ago is of less use than room.
        self.attempts.iter_mut().flat_map(|attempt| &mut attempt.turns).for_each(Turn::shorten_words);
        let agent = self.agent.as_ref().map(|agent| agent.id);
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.turns.push(Turn::new(provider, agent, now));
        }
    }

    pub(super) fn deliver(&mut self, now: Wall) -> Vec<Action> {
        let Some(agent) = self.agent.as_ref().map(|agent| agent.id) else { return self.choose() };
        if self.iterations >= self.policy.iterations() {
            return self.end(Outcome::GivenUp { why: GiveUp::Iterations }, now);
        }
        self.iterations += 1;
        let (act, context) = (self.next_act(), self.context());
        let phase = self.agent_phase(Stage::Delivering, now);
        self.go(phase, vec![Action::Deliver { act, agent, context, prompt: self.prompt.clone() }])
    }

    /// What the agent is told of those before it.
    fn context(&self) -> Option<Context> {
        let (attempt, before) = self.attempts.split_last()?;
        let before = before.last().or_else(|| self.earlier.attempts.last());
        let error = before.and_then(Attempt::first_error);
        match (attempt.turns.as_slice(), before) {
            ([.., previous, _], _) => self.switch_context(previous, &attempt.changes(), error),
            (_, Some(failed)) if error.is_some() => self.retry_context(attempt.number, &failed.errors),
            // It was broken off before its checks.
            (_, Some(left)) => self.switch_context(left.turns.last()?, &self.all_changes(), error),
            (_, None) => None,
        }
    }

    fn switch_context(&self, previous: &Turn, changes: &Changes, error: Option<&str>) -> Option<Context> {
        let finished = matches!(previous.stop, Some(Stop::Idle { .. }));
        let switch = ProviderSwitch {
            provider: &previous.provider,
            reason: previous.reason.as_deref().filter(|_| !finished).unwrap_or("it was not done yet"),
            created: &changes.created,
            modified: &changes.modified,
            error,
        };
        let text = pre_context::provider_switch(&switch, &self.policy.pre_context);
        (!text.is_empty()).then_some(Context { kind: Kind::ProviderSwitch, text })
    }

    fn retry_context(&self, attempt: u32, errors: &[String]) -> Option<Context> {
        let Changes { created, modified, .. } = self.all_changes();
        let errors: Vec<String> = self.findings().iter().chain(errors).cloned().collect();
        let attempt = self.earlier.count.saturating_add(attempt);
        let retry = Retry { attempt, errors: &errors, created: &created, modified: &modified };
        let text = pre_context::retry(&retry, &self.policy.pre_context);
        (!text.is_empty()).then_some(Context { kind: Kind::Retry, text })
    }

    pub(super) fn submitted(&mut self, proof: String, now: Wall) -> Vec<Action> {
        if let Some(turn) = self.last_turn() {
            (turn.submitted, turn.proof) = (Some(now), Some(proof));
        }
        self.go(self.agent_phase(Stage::Working, now), Vec::new())
    }

    pub(super) fn agent_phase(&self, stage: Stage, now: Wall) -> Phase {
        Phase::Agent { stage, due: due_at(stage, &self.policy, now), blocked: None }
    }

    /// The agent does no more.
    pub(super) fn stopped(&mut self, stop: Stop, now: Wall) -> Vec<Action> {
        let exited = matches!(stop, Stop::Exited { .. } | Stop::Ended | Stop::Lost);
        let Phase::Agent { stage, ref mut blocked, .. } = self.phase else {
            if exited {
                // It ended while its work was looked at: the next attempt needs another one.
                self.agent = None;
            }
            return Vec::new();
        };
        match stop {
            Stop::Blocked { kind } => {
                let until = now.plus(Duration::from_secs(self.policy.blocked_secs));
                blocked.get_or_insert(Blocked { kind, until, in_words: false });
                return Vec::new();
            }
            // Idle before it worked says nothing, nor does idle after a question that was dealt with already.
            Stop::Idle { .. }
                if stage != Stage::Working || blocked.is_some_and(|blocked| blocked.in_words) =>
            {
                return Vec::new();
            }
            _ => {}
        }
        let Some(agent) = self.agent.clone() else { return Vec::new() };
        if exited {
            self.agent = None;
        }
        let evidence = stop.evidence();
        let reason = reason(stop, evidence.and_then(|(evidence, _)| evidence.reason()));
        let submitted = self.close_turn(Some(stop), &reason, now);
        match (stop, evidence) {
            (_, Some((evidence, until))) => {
                let trip =
                    Action::TripBreaker { provider: agent.provider, evidence, until, probe: agent.probe };
                let mut actions = vec![trip];
                // The breaker knows what became of the probe.
                if let Some(agent) = &mut self.agent {
                    agent.probe = None;
                }
                actions.extend(self.stop_agent());
                self.observe(Then::Switch { exclude: true }, actions, now)
            }
            (Stop::Idle { asks }, None) => {
                let provider = agent.provider;
                let close = submitted.map(|began| Action::CloseBreaker { provider, began });
                if let Some(agent) = &mut self.agent {
                    agent.probe = None;
                }
                self.observe(Then::Check { asks }, close.into_iter().collect(), now)
            }
            (Stop::Exited { status: Some(0), signal: None }, None) => {
                let actions = released(agent.provider, agent.probe);
                let then = if stage == Stage::Working {
                    Then::Check { asks: false }
                } else {
                    Then::Switch { exclude: true }
                };
                self.observe(then, actions, now)
            }
            (Stop::Lost, None) => {
                let actions = released(agent.provider, agent.probe);
                self.observe(Then::Switch { exclude: false }, actions, now)
            }
            (Stop::Exited { .. } | Stop::Ended, None) => {
                let actions = released(agent.provider, agent.probe);
                self.observe(Then::GiveUp { why: GiveUp::AgentEnded }, actions, now)
            }
            // The request was at fault, or the conversation is: a new agent has a new one.
            (_, None) => {
                let actions = self.stop_agent();
                self.observe(Then::Retry { error: reason }, actions, now)
            }
        }
    }

    /// Goes on with another provider, though nothing speaks against this one's.
    pub(super) fn unusable(&mut self, reason: &str, now: Wall) -> Vec<Action> {
        self.close_turn(None, reason, now);
        let actions = self.stop_agent();
        self.observe(Then::Switch { exclude: true }, actions, now)
    }

    /// The agent is not there; its provider's breaker has nothing to do with that.
    pub(super) fn not_started(&mut self, reason: &str, now: Wall) -> Vec<Action> {
        let Some(agent) = self.agent.take() else { return Vec::new() };
        self.close_turn(None, &format!("cannot be started: {reason}"), now);
        let actions = released(agent.provider, agent.probe);
        self.observe(Then::Switch { exclude: true }, actions, now)
    }

    /// Stops in the middle: a budget is used up.
    pub(super) fn break_off(&mut self, why: GiveUp, now: Wall) -> Vec<Action> {
        if !matches!(self.phase, Phase::Agent { .. }) {
            return self.end(Outcome::GivenUp { why }, now);
        }
        self.close_turn(None, &why.to_string(), now);
        let actions = self.stop_agent();
        self.observe(Then::GiveUp { why }, actions, now)
    }

    /// Ends the agent, and its probe if nobody knows what became of it.
    pub(super) fn stop_agent(&mut self) -> Vec<Action> {
        let Some(agent) = self.agent.take() else { return Vec::new() };
        let mut actions = released(agent.provider, agent.probe);
        actions.push(Action::StopAgent { agent: agent.id });
        actions
    }

    pub(super) fn release_probe(&mut self) -> Vec<Action> {
        let Some(agent) = &mut self.agent else { return Vec::new() };
        released(agent.provider.clone(), agent.probe.take())
    }

    fn observe(&mut self, then: Then, mut actions: Vec<Action>, now: Wall) -> Vec<Action> {
        actions.push(Action::ObserveTree { act: self.next_act() });
        self.go(Phase::Observing { due: then.look_due(now), then }, actions)
    }

    pub(super) fn last_turn(&mut self) -> Option<&mut Turn> {
        self.attempts.last_mut().and_then(|attempt| attempt.turns.last_mut())
    }

    /// Records the end of a turn; the answer is when it began.
    fn close_turn(&mut self, stop: Option<Stop>, reason: &str, now: Wall) -> Option<Wall> {
        let turn = self.last_turn()?;
        turn.ended = Some(now);
        turn.stop = stop;
        turn.reason = Some(reason.to_owned());
        turn.submitted
    }
}

/// When an agent must be further. One at work may take its time.
pub(super) fn due_at(stage: Stage, policy: &Policy, now: Wall) -> Option<Wall> {
    match stage {
        Stage::Starting => Some(now.plus(Duration::from_secs(policy.start_secs))),
        Stage::Delivering => Some(now.plus(Duration::from_secs(policy.deliver_secs))),
        Stage::Working => None,
    }
}

fn released(provider: String, probe: Option<Probes>) -> Vec<Action> {
    probe.map(|probe| Action::ReleaseProbe { provider, probe }).into_iter().collect()
}

/// Why an agent stopped, in words for the next one.
fn reason(stop: Stop, against: Option<crate::breaker::Reason>) -> String {
    match (stop, against) {
        (Stop::Exited { status: Some(status), .. }, Some(reason)) => {
            format!("{} (status {status})", reason.in_words())
        }
        (Stop::Exited { signal: Some(signal), .. }, Some(reason)) => {
            format!("{} (signal {signal})", reason.in_words())
        }
        (_, Some(reason)) => reason.in_words().to_owned(),
        (Stop::Idle { .. }, None) => "idle".to_owned(),
        (Stop::TurnFailed { failure, .. }, None) => format!("turn failed ({})", failure.as_str()),
        (Stop::Exited { status: Some(0), .. }, None) => "agent ended".to_owned(),
        (Stop::Lost, None) => "terminal lost".to_owned(),
        (_, None) => "agent was ended".to_owned(),
    }
}
