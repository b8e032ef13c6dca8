//! What the agent says of itself: its status on the terminal, its hooks, its transcript, and its dialogs.

use super::evidence::{At, Claim};
use super::weigh::{Weighed, rule};
use super::{Detector, Reporter, Settings, millis};
use crate::{Asking, Failure, State, Steady};

impl Detector {
    /// The agent waits for a person.
    pub(super) fn blocked(&self, now: Steady) -> Option<Weighed> {
        let dialog = self.reading.find(State::Blocked).zip(self.seen.blocked);
        let dialog = dialog.filter(|(finding, _)| !finding.general || self.hint_counts(now));
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
        let asked = self.waits_for()?;
        // What was asked in a hook may have been answered by a policy of the agent, unseen by any hook.
        let newer_claim = self.claim.is_some_and(|claim| claim.at > asked.at);
        let doubt = asked.at.plus(millis(self.settings.contradiction_ms));
        let works_on = self.knows(State::Working) || self.own_idle().is_some();
        if newer_claim || (works_on && now >= doubt) {
            return None;
        }
        Some(
            Weighed::new(State::Blocked, 0.85, format!("{} asked", self.reporter().name()))
                .kind(asked.what.as_str())
                .unless(now >= doubt, doubt),
        )
    }

    /// Whether what looks like a dialog of agents in general may be one.
    fn hint_counts(&self, now: Steady) -> bool {
        self.still_until().is_none_or(|until| now >= until)
    }

    /// Until when the agent's word that it works counts for more than the look of a dialog, which it may quote.
    pub(super) fn still_until(&self) -> Option<Steady> {
        let claims = self.claim.is_some_and(|claim| claim.what == Claim::Working);
        let record = self.record();
        let open = record.open.is_some_and(|open| open.what) && record.asked.is_none();
        (claims || (self.claim.is_none() && open))
            .then(|| self.moved().plus(millis(self.settings.still_dialog_ms)))
    }

    /// The agent tells its status on the terminal.
    pub(super) fn claims(&self, now: Steady) -> Option<Weighed> {
        let claim = self.claim?;
        match claim.what {
            Claim::Blocked(_) => None,
            Claim::Working => {
                if let Some(until) = self.flickers(now) {
                    return Some(self.hold("program status flickers").again(until));
                }
                // What it left running is all that works: the turn is over by every other word and look.
                if self.is_watching_only() {
                    return None;
                }
                self.doubted(Weighed::new(State::Working, 0.98, "program status: working"), now)
            }
            Claim::Error => Some(self.failure(0.97, "program status: error")),
            Claim::Idle | Claim::Watching | Claim::Done => {
                let word = match claim.what {
                    Claim::Idle => "idle",
                    Claim::Watching => "watches its own work",
                    _ => "done",
                };
                let because = format!("program status: {word}");
                if let Some(weighed) = self.unannounced(claim.at, &because, now) {
                    return Some(weighed);
                }
                // Some say so before they have drawn anything to type into.
                let deadline = self.born.plus(millis(self.settings.startup_deadline_ms));
                let unseen = self.expectations.composer && self.reading.draft.is_none();
                if unseen && !self.ready && now < deadline {
                    return Some(self.hold(because).and("its composer is not there yet").again(deadline));
                }
                // What was in the composer is gone: the agent took it, and has yet to say so.
                if let Some(weighed) = self.submitted(now) {
                    return Some(weighed);
                }
                Some(match claim.what {
                    Claim::Watching => Weighed::new(State::Watching, 0.95, because),
                    _ => self.at_rest(0.98, because),
                })
            }
        }
    }

    /// Whether hooks or transcript say that the last turn is over, and the screen shows the agent at rest with work of its
    /// own in the background.
    fn is_watching_only(&self) -> bool {
        let record = self.record();
        let began = record.begun.or(record.open.map(|open| open.at));
        let newer =
            self.prompted.as_ref().is_some_and(|prompted| began.is_none_or(|began| prompted.at > began));
        let over = record.open.is_some_and(|open| !open.what) && !newer;
        over && self.knows(State::Watching) && self.seen.working.is_none()
    }

    /// Work that the screen shows and that the agent, by its word of then, has not announced.
    fn unannounced(&self, claimed: Steady, because: &str, now: Steady) -> Option<Weighed> {
        let (finding, seen) = self.reading.find(State::Working).zip(self.seen.working)?;
        let working = Weighed::new(State::Working, 0.7, rule(finding));
        // With a prompt on its command line an agent may go to work before it says for the first time that it is ready.
        let first = self.first_idle == Some(claimed) && self.told_of_work.is_none();
        if seen <= claimed {
            return Some(working).filter(|_| first && !finding.general);
        }
        let believed = seen.plus(millis(self.settings.contradiction_ms));
        let prompted = self.prompted.as_ref().is_some_and(|prompted| prompted.at > claimed);
        if now >= believed || prompted {
            return Some(working);
        }
        Some(Weighed::new(State::Idle, 0.8, because).again(believed))
    }

    /// Until when the agent's word that it works means nothing: some say so for a moment while they start.
    pub(super) fn flickers(&self, now: Steady) -> Option<Steady> {
        let window = millis(self.settings.flicker_ms);
        let claim = self.claim.filter(|claim| claim.what == Claim::Working)?;
        let early = self.first_idle.is_some_and(|first| claim.at.since(first) < window);
        let told = self.record().open.is_some_and(|open| open.what);
        Some(claim.at.plus(window)).filter(|until| early && !told && now < *until)
    }

    /// Word of work gives way to a terminal that is silent, and looks idle, for long.
    fn doubted(&self, weighed: Weighed, now: Steady) -> Option<Weighed> {
        let expiry = millis(self.settings.veto_expiry_ms);
        let Some(idle_since) = self.seen.idle.map(|idle| idle.max(self.moved())) else {
            return Some(weighed);
        };
        let expires = idle_since.plus(expiry);
        (now < expires).then(|| weighed.again(expires))
    }

    /// Hooks and transcript say that a turn is open, or over.
    pub(super) fn records_say(&self, now: Steady) -> Option<Weighed> {
        let record = self.record();
        let open = record.open?;
        let reporter = self.reporter().name();
        // The answer is over, and the agent goes on: what is typed now may be kept until the next prompt.
        let goes_on = self
            .reading
            .find(State::Working)
            .filter(|finding| finding.certain && !finding.general && !open.what);
        if let Some(finding) = goes_on {
            return Some(Weighed::new(State::Working, 0.9, rule(finding)));
        }
        if record.failed.is_some() {
            return Some(self.failure(0.97, format!("{reporter}: the turn failed")));
        }
        if open.what {
            let weighed = Weighed::new(State::Working, 0.95, format!("{reporter}: a turn is open"));
            // An interrupt that no hook reports shows on the screen alone.
            let Some(idle) = self.own_idle() else { return self.doubted(weighed, now) };
            // So does every end of a turn that the transcript never tells.
            if self.reporter() == Reporter::Transcript && !self.expectations.transcript_ends {
                return None;
            }
            let over = self.over_unsaid(record.begun.unwrap_or(open.at), open.at, idle);
            return (now < over).then(|| weighed.again(over));
        }
        // Word comes late: this is the end of a turn from before the last prompt, and the screen knows more.
        let began = record.begun.unwrap_or(open.at);
        let newer = self.prompted.as_ref().is_some_and(|prompted| prompted.at > began);
        if newer && (self.knows(State::Working) || self.own_idle().is_some()) {
            return None;
        }
        if let Some((finding, seen)) = self.reading.find(State::Working).zip(self.seen.working) {
            let believed = seen.max(open.at).plus(millis(self.settings.contradiction_ms));
            if now >= believed {
                return Some(Weighed::new(State::Working, 0.75, rule(finding)));
            }
            return Some(self.at_rest(0.85, format!("{reporter}: the turn is over")).again(believed));
        }
        // Something was submitted since, and its turn has yet to be told.
        if self.entered.max(self.emptied) > Some(open.at)
            && let Some(weighed) = self.submitted(now)
        {
            return Some(weighed);
        }
        // The screen has yet to show what began, and so cannot show yet whether it goes on.
        let unshown = self.entered.max(self.emptied).is_some();
        let followed = open.at.plus(millis(self.settings.end_confirm_ms));
        if unshown && now < followed {
            let because = format!("{reporter}: the turn is over, and was not shown");
            return Some(Weighed::new(State::Working, 0.6, because).again(followed));
        }
        Some(self.at_rest(0.97, format!("{reporter}: the turn is over")))
    }

    /// When a turn is over though nobody says so, if the screen goes on looking idle; it was last heard of at `told`.
    fn over_unsaid(&self, begun: Steady, told: Steady, idle: Steady) -> Steady {
        let Settings { interrupt_confirm_ms, begin_confirm_ms, .. } = self.settings;
        let idle_since = idle.max(told);
        // What it showed for a moment may be of the turn before.
        if idle >= begun.plus(millis(interrupt_confirm_ms)) {
            return idle_since.plus(millis(interrupt_confirm_ms));
        }
        let unbegun = idle_since.plus(millis(begin_confirm_ms));
        // What was typed behind its Enter may have stopped it.
        let entered = self.prompted.as_ref().map_or(begun, |prompted| prompted.at.max(begun));
        let stopped = self.typed.filter(|typed| *typed > entered);
        let over = |stopped: Steady| stopped.max(idle_since).plus(millis(interrupt_confirm_ms));
        stopped.map_or(unbegun, |stopped| over(stopped).min(unbegun))
    }

    /// The agent is done; what it left running decides between idle and watching.
    fn at_rest(&self, confidence: f32, because: impl Into<String>) -> Weighed {
        if let Some(finding) = self.reading.find(State::Watching) {
            return Weighed::new(State::Watching, confidence.min(0.9), because).and(rule(finding));
        }
        if self.record().background > 0 && self.record().open.is_some_and(|open| !open.what) {
            return Weighed::new(State::Watching, confidence.min(0.9), because)
                .and(format!("{}: work in the background", self.reporter().name()));
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

    /// Who keeps the record of the turn.
    fn reporter(&self) -> Reporter {
        let hooks = self.hooks.open.is_some() || self.hooks.asked.is_some();
        if hooks { Reporter::Hook } else { Reporter::Transcript }
    }
}
