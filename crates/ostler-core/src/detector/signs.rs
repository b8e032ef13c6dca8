//! Signs that prove nothing alone, added up; and what is left when they do not suffice.

use super::evidence::{At, Finding, ProcessSample};
use super::weigh::{Ground, Weighed, rule};
use super::{Detector, ScreenKnowledge, millis};
use crate::{Asking, State, Steady};

impl Detector {
    /// No rule for this agent knows the screen. Signs are added up.
    pub(super) fn signs(&self, ending: Option<&Finding>, now: Steady) -> Weighed {
        let settings = &self.settings;
        let quiet_since = self.activity.last.unwrap_or(self.born);
        let sample = self.sample.filter(|sample| sample.at >= self.moved());
        // What waits for a person alone needs little patience, and none at its prompt.
        let reads_only = sample.is_some_and(|sample| sample.what.only_reads());
        let waits = reads_only && (ending.is_some() || now >= quiet_since.plus(millis(settings.pause_ms)));
        if let Some(quieting) = (!waits).then(|| self.is_not_quiet(ending, quiet_since, now)).flatten() {
            let looks = ending.is_some() || !self.expectations.rules;
            return if looks { quieting.on(Ground::Signs) } else { quieting };
        }
        // Before it is called idle, what its processes do is to be known.
        let unknown = sample.is_none() && ending.is_some();
        let look = self.looks.awaited(self.moved(), settings, now).filter(|_| unknown);
        if let Some(until) = look.filter(|until| now < *until) {
            return self.hold("its processes are being looked at").again(until).on(Ground::Signs);
        }
        let judged = self.judged.filter(|judged| judged.at >= quiet_since).map(|judged| judged.what);
        if let Some(work) = sample.and_then(|sample| self.work(sample, ending, quiet_since, now)) {
            // An agent that starts has much to do, and none of it is a turn.
            let state = if self.ready || !self.expectations.rules { State::Working } else { State::Starting };
            let left = self.left_behind_at(quiet_since);
            let weighed = Weighed::new(state, 0.6, work).unless(ending.is_none() || now >= left, left);
            // What works cannot be idle, but it may ask something.
            return match judged {
                Some(State::Blocked) => self.judged(State::Blocked).and(work),
                Some(State::Working) => weighed.and("judge: working"),
                _ => weighed,
            }
            .on(Ground::Processes);
        }
        // What looks like a prompt is none if nothing behind it listens.
        let ending = ending.filter(|_| !sample.is_some_and(|sample| sample.what.deaf));
        let stable_at = self.seen.reading.plus(millis(self.patience_ms()));
        let weights = settings.weights;
        let stable = waits || stable_at <= now;
        let complete = self.transcript.open.is_some_and(|open| !open.what);
        let reads = sample.is_some_and(|sample| sample.what.reads_terminal);
        let signs: Vec<(f32, String)> = [
            Some((weights.silence, "it is silent".to_owned())),
            stable.then(|| (weights.stable, "its screen is stable".to_owned())),
            complete.then(|| (weights.transcript, "transcript: the turn is complete".to_owned())),
            ending.map(|finding| (weights.ending, rule(finding))),
            reads.then(|| (weights.reading, "it reads from the terminal".to_owned())),
        ]
        .into_iter()
        .flatten()
        .collect();
        let sum: f32 = signs.iter().map(|(weight, _)| weight).sum();
        let agreement = if signs.len() > 2 { weights.agreement } else { 0.0 };
        let confidence = (sum + agreement).min(0.95);
        let because: Vec<String> = signs.into_iter().map(|(_, sign)| sign).collect();
        if confidence >= weights.threshold && (ending.is_some() || reads || complete) {
            if let Some(failure) = self.fresh_failure() {
                return Weighed::failed(failure, 0.6).unless(stable, stable_at);
            }
            return Weighed { because, ..Weighed::new(State::Idle, confidence, "") }
                .unless(stable, stable_at);
        }
        if let Some(state) = judged {
            return because.into_iter().fold(self.judged(state), Weighed::and).unless(stable, stable_at);
        }
        // It was asked something at its prompt, and that has not come back: so work looks where no rule knows it.
        let gone = self.left_behind_at(quiet_since);
        if self.away && !self.expectations.rules && ending.is_none() && now < gone {
            let away = Weighed::new(State::Working, 0.5, "its prompt has not come back");
            return away.again(gone).on(Ground::Nothing);
        }
        // What is still now may end without a word.
        let still = sample.is_some_and(|sample| sample.what.deaf || sample.what.children > 0);
        let ground = if still { Ground::Processes } else { Ground::Nothing };
        self.unrecognised(now).unless(stable, stable_at).on(ground)
    }

    /// What is said while the terminal is not quiet, or has not been for long enough.
    fn is_not_quiet(&self, ending: Option<&Finding>, quiet_since: Steady, now: Steady) -> Option<Weighed> {
        let settings = &self.settings;
        let flows =
            self.activity.began.is_some_and(|began| quiet_since.since(began) >= millis(settings.flow_ms));
        let pause = quiet_since.plus(millis(settings.pause_ms));
        if now < pause {
            // Before an agent is ready it draws much, and none of it is work.
            if flows && (self.ready || !self.expectations.rules) {
                return Some(Weighed::new(State::Working, 0.5, "output flows").again(pause));
            }
            return Some(self.hold("a moment ago something was written").again(pause));
        }
        if let Some(until) = self.typed_into_until().filter(|until| now < *until) {
            return Some(self.hold("something was typed").again(until));
        }
        let patience = millis(self.patience_ms());
        let (silent, stable) = (quiet_since.plus(patience), self.seen.reading.plus(patience));
        // What looks like the end is the end once it has looked so for as long.
        let due = if ending.is_some() { silent.max(stable) } else { silent };
        (now < due).then(|| self.hold("it is quiet").again(due))
    }

    /// What the processes do that is no wait for a person. What was started for the last prompt and is left behind,
    /// asleep, holds nothing up for ever.
    fn work(
        &self,
        sample: At<ProcessSample>,
        ending: Option<&Finding>,
        quiet_since: Steady,
        now: Steady,
    ) -> Option<&'static str> {
        let left = ending.is_some() && now >= self.left_behind_at(quiet_since);
        let prompted = self.prompted.as_ref().filter(|_| !left);
        sample.what.work(prompted.map(|prompted| sample.at.since(prompted.at)))
    }

    /// When what was started for the last prompt, and sleeps, counts as left behind.
    fn left_behind_at(&self, quiet_since: Steady) -> Steady {
        quiet_since.plus(millis(self.settings.veto_expiry_ms))
    }

    /// Until when a program that was idle, and only echoed what was typed since, is idle still.
    fn typed_into_until(&self) -> Option<Steady> {
        let since = self.verdict.since;
        let echoed = self.activity.last.is_none_or(|last| last <= since);
        let idle = self.verdict.state == State::Idle && self.sight == ScreenKnowledge::Current;
        let typed = self.typed.filter(|typed| *typed > since && idle && echoed)?;
        Some(typed.plus(millis(self.settings.silence_ms)))
    }

    /// How long it has to be quiet before that means anything: less where the screen came to look idle after the
    /// last prompt, for it then looked otherwise in between.
    fn patience_ms(&self) -> u32 {
        let prompted = self.prompted.as_ref().map(|prompted| prompted.at);
        let came_to_rest = self.seen.idle.zip(prompted).is_some_and(|(idle, prompted)| idle > prompted);
        if came_to_rest { self.settings.pause_ms } else { self.settings.silence_ms }
    }

    /// Another agent said so, by the screen.
    fn judged(&self, state: State) -> Weighed {
        let weighed = Weighed::new(state, self.settings.weights.judge, format!("judge: {state}"));
        let weighed = weighed.on(Ground::Nothing);
        if state == State::Blocked { weighed.kind(Asking::Dialog.as_str()) } else { weighed }
    }

    fn unrecognised(&self, now: Steady) -> Weighed {
        let deadline = self.born.plus(millis(self.settings.startup_deadline_ms));
        if !self.ready && now < deadline {
            return Weighed::new(State::Starting, 0.5, "no rule knows its screen yet")
                .again(deadline)
                .on(Ground::Nothing);
        }
        let unknown = Weighed::new(State::Unknown, 0.5, "no rule knows its screen");
        let unknown = if self.ready { unknown } else { unknown.kind("unrecognised") };
        unknown.on(Ground::Nothing)
    }
}
