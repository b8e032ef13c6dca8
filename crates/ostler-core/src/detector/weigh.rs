//! Weighing the evidence.

use super::evidence::{At, Claim, Finding};
use super::{Detector, Reporter, Sight, Verdict, millis};
use crate::{Asking, Failure, State, Timestamp};

/// What a verdict rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ground {
    /// Something that tells.
    Evidence,
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
    pub(super) again: Option<Timestamp>,
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

    pub(super) fn again(self, at: Timestamp) -> Self {
        Self { again: Some(self.again.map_or(at, |again| again.min(at))), ..self }
    }

    /// Comes back at `at` if `settled` is not so yet.
    pub(super) fn unless(self, settled: bool, at: Timestamp) -> Self {
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
    pub(super) fn weigh(&self, now: Timestamp) -> Weighed {
        // A dialog that was on the screen would be missing here, and an older word would count.
        if let Sight::Remembered { until } = self.sight
            && now < until
        {
            return self.hold("so it was before the restart").again(until);
        }
        self.blocked(now)
            .or_else(|| self.claims(now))
            .or_else(|| self.records_say(now))
            .or_else(|| self.failed_on_screen(now))
            .unwrap_or_else(|| self.screen(now))
    }

    /// The agent waits for a person.
    fn blocked(&self, now: Timestamp) -> Option<Weighed> {
        let dialog = self.reading.find(State::Blocked).zip(self.seen.blocked);
        let claim = self.claim.filter(|claim| matches!(claim.what, Claim::Blocked(_)));
        if let Some((finding, seen)) = dialog {
            // Right after the answer the agent is at work, and its screen has yet to follow.
            let answered = self
                .claim
                .filter(|claim| claim.what == Claim::Working && claim.at >= seen)
                .map(|claim| claim.at.plus(millis(self.settings.contradiction_ms)))
                .filter(|until| now < *until);
            if let Some(until) = answered {
                return Some(Weighed::new(State::Working, 0.8, "program status: working").again(until));
            }
            let confidence = if finding.general { 0.75 } else { 0.95 };
            let weighed = Weighed::new(State::Blocked, confidence, rule(finding));
            let weighed = weighed.kind(finding.kind.as_deref().unwrap_or(Asking::Dialog.as_str()));
            return Some(match claim {
                Some(_) => Weighed { confidence: 0.99, ..weighed }.and("program status: blocked"),
                None => weighed,
            });
        }
        if let Some(At { what: Claim::Blocked(kind), .. }) = claim {
            return Some(Weighed::new(State::Blocked, 0.97, "program status: blocked").kind(kind.as_str()));
        }
        let asked = self.asked()?;
        // What was asked in a hook may have been answered by a policy of the agent, unseen by any hook.
        let newer_claim = self.claim.is_some_and(|claim| claim.at > asked.at);
        let doubt = asked.at.plus(millis(self.settings.contradiction_ms));
        let works_on = self.knows(State::Working) || self.own_idle().is_some();
        if newer_claim || (works_on && now >= doubt) {
            return None;
        }
        Some(
            Weighed::new(State::Blocked, 0.85, format!("{} asked", self.reporter()))
                .kind(asked.what.as_str())
                .again(doubt),
        )
    }

    /// Whether a rule for this agent sees a state: one for agents in general is no more than a hint.
    fn knows(&self, state: State) -> bool {
        self.reading.findings.iter().any(|finding| finding.state == state && !finding.general)
    }

    /// Since when the screen looks idle, if a rule for this agent says so.
    fn own_idle(&self) -> Option<Timestamp> {
        self.seen.idle.filter(|_| self.knows(State::Idle) || self.knows(State::Watching))
    }

    /// The agent tells its status on the terminal.
    fn claims(&self, now: Timestamp) -> Option<Weighed> {
        let claim = self.claim?;
        match claim.what {
            Claim::Blocked(_) => None,
            Claim::Working => {
                // Some agents say "working" for a moment while they start.
                let flicker = self
                    .first_idle
                    .filter(|first| claim.at.since(*first) < millis(self.settings.flicker_ms))
                    .map(|_| claim.at.plus(millis(self.settings.flicker_ms)))
                    .filter(|until| now < *until);
                if let Some(until) = flicker {
                    return Some(self.hold("program status flickers").again(until));
                }
                self.doubted(Weighed::new(State::Working, 0.98, "program status: working"), now)
            }
            Claim::Error => Some(self.failure(0.97, "program status: error")),
            Claim::Idle | Claim::Done => {
                let word = if claim.what == Claim::Idle { "idle" } else { "done" };
                let because = format!("program status: {word}");
                // Work that shows on the screen later than the claim was not announced.
                if let Some((finding, seen)) = self.reading.find(State::Working).zip(self.seen.working)
                    && seen > claim.at
                {
                    let believed = seen.plus(millis(self.settings.contradiction_ms));
                    return Some(if now >= believed {
                        Weighed::new(State::Working, 0.7, rule(finding))
                    } else {
                        Weighed::new(State::Idle, 0.8, because).again(believed)
                    });
                }
                // What was in the composer is gone: the agent took it, and has yet to say so.
                if let Some(weighed) = self.submitted(now) {
                    return Some(weighed);
                }
                Some(self.at_rest(0.98, because))
            }
        }
    }

    /// Enter was typed, or the composer was emptied, a moment ago: work begins.
    fn submitted(&self, now: Timestamp) -> Option<Weighed> {
        let grace = millis(self.settings.submit_grace_ms);
        let (until, because) = match (self.entered, self.emptied) {
            // What was written is still there: the agent has yet to take it.
            (Some(entered), None) if self.reading.draft == Some(true) => {
                (entered.plus(millis(self.settings.enter_grace_ms)), "Enter was typed, and not taken yet")
            }
            (Some(entered), None) => (entered.plus(grace), "Enter was typed"),
            (_, Some(emptied)) => (emptied.plus(grace), "the composer was emptied"),
            (None, None) => return None,
        };
        (now < until).then(|| Weighed::new(State::Working, 0.6, because).again(until))
    }

    /// Word of work gives way to a terminal that is silent, and looks idle, for long.
    fn doubted(&self, weighed: Weighed, now: Timestamp) -> Option<Weighed> {
        let expiry = millis(self.settings.veto_expiry_ms);
        let silent_since = self.activity.any.unwrap_or(self.born);
        let Some(idle_since) = self.seen.idle.map(|idle| idle.max(silent_since)) else {
            return Some(weighed);
        };
        let expires = idle_since.plus(expiry);
        (now < expires).then(|| weighed.again(expires))
    }

    /// Hooks and transcript say that a turn is open, or over.
    fn records_say(&self, now: Timestamp) -> Option<Weighed> {
        let record = self.record();
        let open = record.open?;
        let reporter = self.reporter();
        if record.failed.is_some() {
            return Some(self.failure(0.97, format!("{reporter}: the turn failed")));
        }
        if open.what {
            let weighed = Weighed::new(State::Working, 0.95, format!("{reporter}: a turn is open"));
            // An interrupt that no hook reports shows on the screen alone.
            let Some(idle) = self.own_idle() else { return self.doubted(weighed, now) };
            let over = idle.max(open.at).plus(millis(self.settings.interrupt_confirm_ms));
            return (now < over).then(|| weighed.again(over));
        }
        if let Some((finding, seen)) = self.reading.find(State::Working).zip(self.seen.working) {
            let believed = seen.max(open.at).plus(millis(self.settings.contradiction_ms));
            if now >= believed {
                return Some(Weighed::new(State::Working, 0.75, rule(finding)));
            }
            return Some(self.at_rest(0.85, format!("{reporter}: the turn is over")).again(believed));
        }
        Some(self.at_rest(0.97, format!("{reporter}: the turn is over")))
    }

    /// The agent is done; what it left running decides between idle and watching.
    fn at_rest(&self, confidence: f32, because: impl Into<String>) -> Weighed {
        if let Some(finding) = self.reading.find(State::Watching) {
            return Weighed::new(State::Watching, confidence.min(0.9), because).and(rule(finding));
        }
        if self.record().background > 0 && self.record().open.is_some_and(|open| !open.what) {
            return Weighed::new(State::Watching, confidence.min(0.9), because)
                .and(format!("{}: work in the background", self.reporter()));
        }
        let weighed = Weighed::new(State::Idle, confidence, because);
        match self.reading.find(State::Idle) {
            Some(finding) => {
                Weighed { confidence: (confidence + 0.01).min(0.99), ..weighed.and(rule(finding)) }
            }
            None => weighed,
        }
    }

    /// The turn failed; records and screen know how.
    fn failure(&self, confidence: f32, because: impl Into<String>) -> Weighed {
        let recorded = [&self.hooks, &self.transcript].into_iter().find_map(|record| record.failed);
        let limited = self.reading.find(State::Limited);
        let failed = self.reading.find(State::Error);
        let is_limit = recorded.map_or(limited.is_some(), |failed| failed.what.is_limit());
        let state = if is_limit { State::Limited } else { State::Error };
        let shown = if is_limit { limited } else { failed.or(limited) };
        let weighed = Weighed::new(state, confidence, because);
        let kind = recorded.map(|failed| failed.what).filter(|what| *what != Failure::Other);
        let kind = kind.map(Failure::as_str).or(shown.and_then(|finding| finding.kind.as_deref()));
        let weighed = kind.into_iter().fold(weighed, Weighed::kind);
        match shown {
            Some(finding) => Weighed { until: finding.until.clone(), ..weighed.and(rule(finding)) },
            None => weighed,
        }
    }

    /// The end of the conversation on the screen is an error, and nothing goes on.
    fn failed_on_screen(&self, now: Timestamp) -> Option<Weighed> {
        // Enter or an emptied composer: somebody goes on.
        if self.seen.working.is_some() || self.claim.is_some() || self.submitted(now).is_some() {
            return None;
        }
        let find = |state| self.reading.find(state).filter(|finding| !finding.general);
        let finding = find(State::Limited).or_else(|| find(State::Error))?;
        let weighed = Weighed::new(finding.state, 0.85, rule(finding));
        let weighed = finding.kind.as_deref().into_iter().fold(weighed, Weighed::kind);
        Some(Weighed { until: finding.until.clone(), ..weighed })
    }

    /// Only the screen speaks.
    fn screen(&self, now: Timestamp) -> Weighed {
        match self.reading.find(State::Working) {
            Some(finding) if !finding.general => return Weighed::new(State::Working, 0.9, rule(finding)),
            // Agents at work move. What does not may be quoted text.
            Some(finding) => {
                let stale = self.activity.last.unwrap_or(self.born).plus(millis(self.settings.silence_ms));
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
    fn looks_idle(&self, finding: &Finding, now: Timestamp) -> Weighed {
        let settings = &self.settings;
        let confirm = match (self.ready, self.expectations.status) {
            (true, _) if finding.certain => settings.idle_confirm_ms / 2,
            (true, _) => settings.idle_confirm_ms,
            (false, false) => settings.startup_confirm_ms,
            (false, true) => settings.startup_status_ms,
        };
        let seen = self.seen.idle.unwrap_or(self.seen.reading);
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
            State::Idle | State::Watching if self.sight == Sight::Lost => State::Unknown,
            state if self.sight != Sight::Current => state,
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

    /// Who keeps the record of the turn.
    fn reporter(&self) -> &'static str {
        let hooks = self.hooks.open.is_some() || self.hooks.asked.is_some();
        match if hooks { Reporter::Hook } else { Reporter::Transcript } {
            Reporter::Hook | Reporter::Transport | Reporter::Screen => "hook",
            Reporter::Transcript => "transcript",
        }
    }
}
