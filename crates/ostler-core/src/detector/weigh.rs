//! Weighing the evidence.

use super::evidence::Finding;
use super::{Detector, ScreenKnowledge, Verdict, millis};
use crate::{State, Steady};

/// The kind of work that is no more than trying again what failed.
const RETRYING: &str = "retrying";

/// The kind of a state in which the agent is not there any more.
const GONE: &str = "gone";

/// What a verdict rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ground {
    /// Something that tells.
    Evidence,
    /// Signs that prove nothing alone: what the processes do is to be known before they are believed.
    Signs,
    /// Processes that are at work, and nothing that tells at what.
    Processes,
    /// Nothing, or the word of the judge.
    Nothing,
}

/// The outcome of a weighing.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Weighed {
    pub(super) state: State,
    pub(super) kind: Option<String>,
    pub(super) confidence: f32,
    pub(super) because: Vec<String>,
    pub(super) until: Option<String>,
    /// When it may come out differently if nothing happens.
    pub(super) again: Option<Steady>,
    pub(super) ground: Ground,
}

impl Weighed {
    pub(super) fn new(state: State, confidence: f32, because: impl Into<String>) -> Self {
        Self {
            state,
            kind: None,
            confidence,
            because: vec![because.into()],
            until: None,
            again: None,
            ground: Ground::Evidence,
        }
    }

    pub(super) fn kind(self, kind: &str) -> Self {
        Self { kind: Some(kind.to_owned()), ..self }
    }

    pub(super) fn and(mut self, because: impl Into<String>) -> Self {
        self.because.push(because.into());
        self
    }

    pub(super) fn again(self, at: Steady) -> Self {
        Self { again: Some(self.again.map_or(at, |again| again.min(at))), ..self }
    }

    /// A failure that a rule saw.
    pub(super) fn failed(finding: &Finding, confidence: f32) -> Self {
        let weighed = Self::new(finding.state, confidence, rule(finding));
        let weighed = finding.kind.as_deref().into_iter().fold(weighed, Self::kind);
        Self { until: finding.until.clone(), ..weighed }
    }

    /// Comes back at `at` if `settled` is not so yet.
    pub(super) fn unless(self, settled: bool, at: Steady) -> Self {
        if settled { self } else { self.again(at) }
    }

    pub(super) fn on(self, ground: Ground) -> Self {
        Self { ground, ..self }
    }
}

/// The reason that a finding gives.
pub(super) fn rule(finding: &Finding) -> String {
    format!("screen: rule {}", finding.rule)
}

impl Detector {
    pub(super) fn weigh(&self, now: Steady) -> Weighed {
        // Whatever it said and drew before, nobody stands behind it now.
        if self.gone {
            let gone = "the agent's own process has ended, and what started it runs on";
            return Weighed::new(State::Unknown, 0.95, gone).kind(GONE).on(Ground::Nothing);
        }
        // A dialog that was on the screen would be missing here, and an older word would count.
        if let ScreenKnowledge::Remembered { until } = self.sight
            && now < until
        {
            return self.hold("so it was before the restart").again(until);
        }
        let weighed = self
            .blocked(now)
            .or_else(|| self.claims(now))
            .or_else(|| self.records_say(now))
            .or_else(|| self.failed_on_screen(now))
            .unwrap_or_else(|| self.screen(now));
        let weighed = match self.retrying().filter(|_| weighed.state == State::Working) {
            Some((reporter, why)) => {
                let word = format!("{}: tries again ({})", reporter.source(), why.what.as_str());
                weighed.kind(RETRYING).and(word)
            }
            None => weighed,
        };
        match self.still_until().filter(|until| self.seen.blocked.is_some() && now < *until) {
            Some(until) => weighed.again(until),
            None => weighed,
        }
    }

    /// Whether a rule for this agent sees a state: one for agents in general is no more than a hint.
    pub(super) fn knows(&self, state: State) -> bool {
        self.reading.findings.iter().any(|finding| finding.state == state && !finding.general)
    }

    /// Since when the screen looks idle, if a rule for this agent says so.
    pub(super) fn own_idle(&self) -> Option<Steady> {
        self.seen.idle.filter(|_| self.knows(State::Idle) || self.knows(State::Watching))
    }

    /// Whether what was typed before Enter waits to be taken: it stands in the composer, or nothing at all was
    /// drawn since, as far as one can tell.
    fn is_untaken(&self, entered: Steady) -> bool {
        let answered = self.activity.any.is_some_and(|any| any > entered);
        self.reading.draft.unwrap_or(!answered) && !self.vacant
    }

    /// Until when an agent may take what was typed before Enter. One that has drawn something since, and left it where
    /// it was, has refused it; the longer it took to draw, the longer it may take for the rest.
    fn untaken_until(&self, entered: Steady) -> Steady {
        let latest = entered.plus(millis(self.settings.enter_grace_ms));
        let drawn = self.activity.any.filter(|any| *any > entered && self.reading.draft == Some(true));
        drawn.map_or(latest, |drawn| {
            let patience = millis(self.settings.refusal_confirm_ms).max(drawn.since(entered) * 2);
            latest.min(drawn.plus(patience))
        })
    }

    /// Enter was typed, or the composer was emptied, a moment ago: work begins.
    pub(super) fn submitted(&self, now: Steady) -> Option<Weighed> {
        let grace = millis(self.settings.submit_grace_ms);
        let (until, because) = match (self.entered, self.emptied) {
            // What was written is still there: the agent has yet to take it, or does not want it.
            (Some(entered), None) if self.is_untaken(entered) => {
                (self.untaken_until(entered), "Enter was typed, and not taken yet")
            }
            (Some(entered), None) => (entered.plus(grace), "Enter was typed"),
            (_, Some(_)) => (self.emptied_until, "the composer was emptied"),
            (None, None) => return None,
        };
        (now < until).then(|| Weighed::new(State::Working, 0.6, because).again(until))
    }

    /// The end of the conversation on the screen is an error, and nothing goes on.
    fn failed_on_screen(&self, now: Steady) -> Option<Weighed> {
        // Enter or an emptied composer: somebody goes on.
        if self.seen.working.is_some() || self.claim.is_some() || self.submitted(now).is_some() {
            return None;
        }
        let finding = self.fresh_failure().filter(|finding| !finding.general)?;
        Some(Weighed::failed(finding, 0.85))
    }

    /// A failure on the screen that was not there when the last prompt was given.
    pub(super) fn fresh_failure(&self) -> Option<&Finding> {
        let old = |finding: &&Finding| {
            self.prompted.as_ref().is_some_and(|prompted| prompted.what.contains(&finding.print))
        };
        self.reading.failures().find(|finding| !old(finding))
    }

    /// Only the screen speaks.
    fn screen(&self, now: Steady) -> Weighed {
        match self.reading.find(State::Working) {
            Some(finding) if !finding.general || finding.certain => {
                return Weighed::new(State::Working, 0.9, rule(finding));
            }
            // Agents at work move. What does not, and never did, may be quoted text.
            Some(finding) => {
                let patience = if finding.moving { self.settings.stall_ms } else { self.settings.silence_ms };
                let moved = self.activity.last.max(self.seen.working).unwrap_or(self.born);
                let stale = moved.plus(millis(patience));
                if now < stale {
                    return Weighed::new(State::Working, 0.7, rule(finding)).again(stale);
                }
            }
            None => {}
        }
        if let Some(weighed) = self.submitted(now) {
            return weighed;
        }
        match self.reading.find(State::Watching).or_else(|| self.reading.find(State::Idle)) {
            Some(finding) if !finding.general => self.looks_idle(finding, now),
            finding => self.signs(finding, now),
        }
    }

    /// A rule for this agent says that it is idle: believed when it says so for a while, and nothing moves.
    fn looks_idle(&self, finding: &Finding, now: Steady) -> Weighed {
        let settings = &self.settings;
        let confirm = match (self.ready, self.expectations.status) {
            (true, _) if finding.certain => settings.certain_confirm_ms,
            (true, _) => settings.idle_confirm_ms,
            (false, false) => settings.startup_confirm_ms,
            (false, true) => settings.startup_status_ms,
        };
        let seen = if finding.certain { self.seen.certain } else { self.seen.idle };
        let seen = seen.unwrap_or(self.seen.reading);
        let moved = self.activity.last.filter(|_| !finding.certain).unwrap_or(seen);
        let mut sure = seen.max(moved).plus(millis(confirm));
        if settings.noisy_idle_ms > 0 {
            sure = sure.min(seen.plus(millis(settings.noisy_idle_ms.max(confirm))));
        }
        // What is idle stays idle while a person types.
        let was_idle = matches!(self.verdict.state, State::Idle | State::Watching) && self.ready;
        if now >= sure || was_idle {
            return Weighed::new(finding.state, 0.85, rule(finding));
        }
        self.hold(rule(finding)).again(sure)
    }

    /// Nothing new is certain yet.
    pub(super) fn hold(&self, because: impl Into<String>) -> Weighed {
        let state = match self.verdict.state {
            // What was seen before may still be there, but much was written since.
            State::Idle | State::Watching if self.sight == ScreenKnowledge::Lost => State::Unknown,
            state if self.sight != ScreenKnowledge::Current => state,
            state @ (State::Limited | State::Error) if self.fresh_failure().is_some() => state,
            // The dialog is gone: somebody answered it. So is the error or the limit: something goes on.
            State::Blocked | State::Limited | State::Error if !self.ready => State::Starting,
            State::Blocked | State::Limited | State::Error => State::Working,
            state => state,
        };
        let confidence = if state == self.verdict.state { self.verdict.confidence.min(0.8) } else { 0.6 };
        let held = Weighed::new(state, confidence, because);
        if state == self.verdict.state {
            let Verdict { kind, until, .. } = self.verdict.clone();
            return Weighed { kind, until, ..held };
        }
        held
    }
}
