//! The judge of a session: another agent, asked when nothing else tells what this one is doing.

use ostler_core::detector::{self, At};
use ostler_core::judge::{Action, Answer, Event, Phase, Settings};
use ostler_core::{Steady, judge};

use crate::effect::{Effect, Log};
use crate::note::Note;
use crate::session::Session;

impl Session {
    /// Asks by other settings from now on.
    pub(crate) fn configure_judge(&mut self, settings: Settings) {
        let actions = self.judge.configure(settings, self.now.steady);
        self.perform_judging(actions);
    }

    /// Tells the judge's keeper whether the judge is needed.
    pub(crate) fn update_judge(&mut self) {
        let puzzled = self.is_attached() && self.watches() && self.observer.detector().is_puzzled();
        self.on_judge(if puzzled { Event::Puzzled } else { Event::Clear });
    }

    pub(crate) fn on_judge(&mut self, event: judge::Event) {
        let errors = self.judge.errors();
        let actions = self.judge.handle(event, self.now.steady);
        if self.judge.errors() > errors
            && let Some(At { what: Err(error), .. }) = self.judge.last()
        {
            let last = if self.judge.phase() == Phase::GivenUp { ", and is not asked again" } else { "" };
            let warning = format!("the judge failed ({} in a row){last}: {error}", self.judge.errors());
            self.push(Effect::Log(Log::Warning(warning)));
        }
        self.perform_judging(actions);
    }

    fn perform_judging(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Ask { question } => self.push(Effect::AskJudge { question }),
                Action::Cancel => self.push(Effect::CancelJudge),
                Action::Tell(word) => self.note(Note::Detect(detector::Event::Judged(word.state()))),
            }
        }
    }

    /// What the judge said last, and when; nothing where there is none.
    pub fn judgement(&self, now: Steady) -> (Option<String>, Option<Steady>) {
        let judge = &self.judge;
        if !judge.is_enabled() {
            return (None, None);
        }
        let last = judge.last();
        let said = last.map(|At { what, .. }| describe(what));
        let stands = match judge.phase() {
            Phase::Asking { until: None, .. } => Some("a question waits for its turn".to_owned()),
            Phase::Asking { .. } => Some("it is being asked".to_owned()),
            Phase::GivenUp => {
                Some(format!("given up for this session after {} errors in a row", judge.errors()))
            }
            Phase::Resting { until } if until > now => {
                Some(format!("left alone for {} s", until.since(now).as_secs()))
            }
            Phase::Resting { .. } | Phase::Answered => None,
        };
        let says = match (said, stands) {
            (Some(said), Some(stands)) => format!("{said}; {stands}"),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => "not asked yet".into(),
        };
        (Some(says), last.map(|last| last.at))
    }
}

fn describe(answer: &Answer) -> String {
    match answer {
        Ok(word) => word.to_string(),
        Err(error) => format!("no answer: {error}"),
    }
}
