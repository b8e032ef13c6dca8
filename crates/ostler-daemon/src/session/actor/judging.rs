//! The judge of a session: another agent, asked when nothing else tells what this one is doing.

use std::time::Duration;

use ostler_core::Timestamp;
use ostler_core::detector::{self, At};
use ostler_core::judge::{Action, Answer, Event, Judge, Phase, Settings};
use ostler_core::lifecycle;

use super::Actor;
use crate::clock;
use crate::judge::Question;

/// The judge of one session, and the question that is open.
#[derive(Debug)]
pub(super) struct Judging {
    judge: Judge,
    question: Option<Question>,
}

impl Default for Judging {
    fn default() -> Self {
        Self { judge: Judge::new(Settings::default()), question: None }
    }
}

impl Judging {
    /// Waits for what becomes of the open question; for ever where there is none.
    pub(super) async fn news(&mut self) -> Option<Event> {
        Some(self.question.as_mut()?.news().await)
    }

    pub(super) fn deadline(&self) -> Option<Timestamp> {
        self.judge.deadline()
    }
}

impl Actor {
    /// Lets those judge whom the settings name.
    pub(super) async fn appoint(&mut self) {
        let settings = self.known.judge.settings.clone();
        let actions = self.judging.judge.configure(settings, clock::steady());
        self.perform_judging(actions).await;
    }

    /// Tells the judge's keeper whether the judge is needed.
    pub(super) async fn consult(&mut self) {
        let runs = matches!(self.lifecycle.phase(), lifecycle::Phase::Attached);
        let puzzled = runs && self.watches() && self.observer.detector().is_puzzled();
        self.on_judge(if puzzled { Event::Puzzled } else { Event::Clear }).await;
    }

    pub(super) async fn on_judge(&mut self, event: Event) {
        if let Event::Answered { .. } = &event {
            self.judging.question = None;
        }
        let judge = &mut self.judging.judge;
        let (session, errors) = (&self.record.start.name, judge.errors());
        let actions = judge.handle(event, clock::steady());
        if judge.errors() > errors
            && let Some(At { what: Err(error), .. }) = judge.last()
        {
            let given_up = judge.phase() == Phase::GivenUp;
            tracing::warn!(%session, error, errors = judge.errors(), given_up, "the judge failed");
        }
        self.perform_judging(actions).await;
    }

    async fn perform_judging(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Ask { question } => self.ask(question).await,
                Action::Cancel => self.judging.question = None,
                // What follows from it is no question: its answer holds.
                Action::Tell(word) => Box::pin(self.learn(detector::Event::Judged(word.state()))).await,
            }
        }
    }

    async fn ask(&mut self, number: u64) {
        let appointed = &self.known.judge;
        let limit = Duration::from_secs(appointed.settings.limit_seconds.into());
        let asked = match appointed.agent.clone() {
            Some(Ok(agent)) => {
                let (screen, home) = (self.output.screen.text(), self.shared.home.clone());
                Question::ask(number, &screen, agent, home, &self.shared.turns, limit)
                    .map_err(|error| error.to_string())
            }
            Some(Err(reason)) => Err(reason),
            None => Err("nobody is appointed".into()),
        };
        match asked {
            Ok(question) => {
                tracing::info!(session = %self.record.start.name, number, "the judge is asked");
                self.judging.question = Some(question);
            }
            Err(reason) => {
                let event = Event::Answered { question: number, answer: Err(reason) };
                Box::pin(self.on_judge(event)).await;
            }
        }
    }

    /// What the judge said last, and when; nothing where there is none.
    pub(super) fn judgement(&self) -> (Option<String>, Option<Timestamp>) {
        let judge = &self.judging.judge;
        if !judge.is_enabled() {
            return (None, None);
        }
        let last = judge.last();
        let said = last.map(|At { what, .. }| told(what));
        let stands = match judge.phase() {
            Phase::Asking { until: None, .. } => Some("a question waits for its turn".to_owned()),
            Phase::Asking { .. } => Some("it is being asked".to_owned()),
            Phase::GivenUp => {
                Some(format!("given up for this session after {} errors in a row", judge.errors()))
            }
            Phase::Resting { until } if until > clock::steady() => {
                Some(format!("left alone for {} s", until.since(clock::steady()).as_secs()))
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

fn told(answer: &Answer) -> String {
    match answer {
        Ok(word) => word.to_string(),
        Err(error) => format!("no answer: {error}"),
    }
}
