//! Signs that prove nothing alone, added up; and what is left when they do not suffice.

use super::evidence::Finding;
use super::weigh::{Ground, Weighed, rule};
use super::{Detector, millis};
use crate::{Asking, State, Timestamp};

impl Detector {
    /// No rule for this agent knows the screen. Signs are added up.
    pub(super) fn signs(&self, ending: Option<&Finding>, now: Timestamp) -> Weighed {
        let settings = &self.settings;
        let quiet_since = self.activity.last.unwrap_or(self.born);
        let flows =
            self.activity.began.is_some_and(|began| quiet_since.since(began) >= millis(settings.flow_ms));
        let pause = quiet_since.plus(millis(settings.pause_ms));
        if now < pause {
            // Before an agent is ready it draws much, and none of it is work.
            if flows && (self.ready || !self.expectations.rules) {
                return Weighed::new(State::Working, 0.5, "output flows").again(pause);
            }
            return self.hold("a moment ago something was written").again(pause);
        }
        let silent = quiet_since.plus(millis(settings.silence_ms));
        if now < silent {
            return self.hold("it is quiet").again(silent);
        }
        let sample = self.sample.filter(|sample| sample.at >= self.activity.any.unwrap_or(self.born));
        let judged = self.judged.filter(|judged| judged.at >= quiet_since).map(|judged| judged.what);
        if let Some(work) = sample.and_then(|sample| sample.what.work()) {
            let weighed = Weighed::new(State::Working, 0.6, work);
            // What works cannot be idle, but it may ask something.
            return match judged {
                Some(State::Blocked) => self.judged(State::Blocked).and(work),
                Some(State::Working) => weighed.and("judge: working"),
                _ => weighed,
            }
            .on(Ground::Processes);
        }
        let weights = settings.weights;
        let stable_at = self.seen.reading.plus(millis(settings.silence_ms));
        let stable = stable_at <= now;
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
            return Weighed { because, ..Weighed::new(State::Idle, confidence, "") }
                .unless(stable, stable_at);
        }
        if let Some(state) = judged {
            return because.into_iter().fold(self.judged(state), Weighed::and).unless(stable, stable_at);
        }
        self.unrecognised(now).unless(stable, stable_at)
    }

    /// Another agent said so, by the screen.
    fn judged(&self, state: State) -> Weighed {
        let weighed = Weighed::new(state, self.settings.weights.judge, format!("judge: {state}"));
        let weighed = weighed.on(Ground::Nothing);
        if state == State::Blocked { weighed.kind(Asking::Dialog.as_str()) } else { weighed }
    }

    fn unrecognised(&self, now: Timestamp) -> Weighed {
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
