//! What a stop means for an agent that is carried on, and what is done about it.

use std::time::Duration;

use super::event::{Action, Examined};
use super::{Continuation, Decision, Phase, Stand, Terms, is_end, prompt};
use crate::stop::{Stop, Trigger};
use crate::stop_analysis::{self, Action as Decided, Analysis, Conclusion, Observed};
use crate::{Now, Wall};

/// A limit is over a little later than is said, and not for all agents at the same moment.
const JITTER: Duration = Duration::from_mins(1);
/// How long a limit lasts of which the end is not known: at first, and at most.
const UNKNOWN_LIMIT: Duration = Duration::from_mins(5);
const LONGEST_LIMIT: Duration = Duration::from_hours(1);
/// The longest pause, as a multiple of the usual one.
const LONGEST_PAUSE: u32 = 16;
/// Resumed processes are counted over so long.
const RESUMES: Duration = Duration::from_hours(1);
/// How long after a crash the process is run again; five times as long after the next one.
const FIRST_RESUME: Duration = Duration::from_secs(3);

impl Continuation {
    /// Decides what a stop means, and what is done about it.
    pub(super) fn judge(
        &mut self,
        trigger: Trigger,
        stop: Stop,
        examined: &Examined,
        now: Now,
    ) -> Vec<Action> {
        let Some(terms) = self.terms.clone() else { return Vec::new() };
        let analysis = stop_analysis::analyse(&Observed {
            stop,
            checks: examined.checks,
            changed: examined.changed,
            words: examined.words,
            asked: examined.asked.is_some(),
            waits: examined.awaited.is_some(),
            wants_on: examined.wants_on.is_some(),
            iterations: self.turns,
            max_iterations: terms.turns(),
        });
        if let Some(until) = limit_end(stop, examined, &analysis, self.limits, now.wall) {
            self.limits += u32::from(until.1);
            let why = analysis.evidence.join("; ");
            let mut actions = vec![self.decide(trigger, &analysis, Decided::NoAction, Some(until.0))];
            actions.extend(
                self.go(Phase::Waiting { until: until.0, why, failures: Vec::new(), look: true }, now),
            );
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
                let evidence = analysis.evidence.join("; ");
                let why = format!(
                    "it was stopped, as your settings say ({evidence}); `ostler resume` runs it again"
                );
                let actions = vec![self.decide(trigger, &analysis, decided, None), Action::Pause];
                self.paused = true;
                self.call_owner(actions, why, now)
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
        // One that is done, or waits for a person, has nothing to go on with.
        let at_work = !matches!(
            self.phase,
            Phase::Off | Phase::Done { .. } | Phase::NeedsOwner { .. } | Phase::Yielded
        );
        if !crashed || !at_work || self.held || often >= terms.resumes_per_hour {
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
        self.progress.note(stand, examined.changed, self.turns);
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
            self.go(Phase::Waiting { until, why, failures, look: false }, now);
        } else {
            actions.extend(self.prompt(&failures, now));
        }
        actions
    }

    pub(super) fn prompt(&mut self, failures: &[String], now: Now) -> Vec<Action> {
        let goal = self.terms.as_ref().and_then(|terms| terms.goal.clone());
        (self.number, self.turns) = (self.number + 1, self.turns + 1);
        self.prompted = Some(now.wall);
        let number = self.number;
        self.go(Phase::Prompting { number }, now);
        vec![Action::Prompt { number, text: prompt::text(goal.as_deref(), failures) }]
    }

    pub(super) fn call_owner(&mut self, mut actions: Vec<Action>, why: String, now: Now) -> Vec<Action> {
        let known = matches!(&self.phase, Phase::NeedsOwner { why: before } if *before == why);
        self.go(Phase::NeedsOwner { why: why.clone() }, now);
        if !known {
            actions.push(Action::Notify(why));
        }
        actions
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
