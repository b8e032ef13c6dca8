//! When another agent is asked what a screen shows.
//!
//! The judge is the last resort, and off unless a user wants it. It is asked when the detector has been puzzled
//! for a while, one question at a time, and what it says is worth less than any other evidence. A question is
//! about one screen: as soon as something tells what the agent does, or something new is written, nobody waits
//! for the answer any more. A judge that fails again and again is left alone.

mod question;
mod settings;

use std::time::Duration;

pub use question::{Word, question};
pub use settings::Settings;

use crate::Steady;
use crate::detector::At;

/// Something the judge's keeper learns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Nothing certain tells what the agent is doing.
    Puzzled,
    /// Something does, or something new was written.
    Clear,
    /// A question had to wait for its turn, and is put now.
    Put {
        /// Its number.
        question: u64,
    },
    /// A question was answered, or came to nothing.
    Answered {
        /// Its number.
        question: u64,
        /// The answer, or why there is none.
        answer: Answer,
    },
    /// Time has passed.
    Tick,
}

/// What came of a question: a word, or why there is none.
pub type Answer = Result<Word, String>;

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Ask about the screen as it is now.
    Ask {
        /// Number of the question.
        question: u64,
    },
    /// Nobody waits for the answer any more: end whoever was asked.
    Cancel,
    /// Tell the detector.
    Tell(Word),
}

/// Where the judge stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is asked before this moment.
    Resting {
        /// The moment.
        until: Steady,
    },
    /// A question is open.
    Asking {
        /// Its number.
        question: u64,
        /// When it is given up; it waits for its turn until there is such a moment.
        until: Option<Steady>,
    },
    /// The answer holds for as long as nothing is written.
    Answered,
    /// It has failed too often.
    GivenUp,
}

/// The keeper of one session's judge.
#[derive(Debug, Clone)]
pub struct Judge {
    settings: Settings,
    /// Since when the detector has been puzzled.
    puzzled: Option<Steady>,
    phase: Phase,
    /// Questions so far.
    questions: u64,
    /// Errors in a row.
    errors: u32,
    last: Option<At<Answer>>,
}

impl Judge {
    /// The keeper of a judge that has not been asked.
    pub fn new(settings: Settings) -> Self {
        let phase = Phase::Resting { until: Steady(0) };
        Self { settings, puzzled: None, phase, questions: 0, errors: 0, last: None }
    }

    /// Whether anything is ever asked.
    pub fn is_enabled(&self) -> bool {
        self.settings.enabled
    }

    /// Where the judge stands.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// What came of the last question that was not called off.
    pub fn last(&self) -> Option<&At<Answer>> {
        self.last.as_ref()
    }

    /// Errors since the last answer.
    pub fn errors(&self) -> u32 {
        self.errors
    }

    /// Uses other settings from now on; a judge that was given up gets another chance with them.
    #[must_use]
    pub fn configure(&mut self, settings: Settings, now: Steady) -> Vec<Action> {
        if settings == self.settings {
            return Vec::new();
        }
        let open = matches!(self.phase, Phase::Asking { .. });
        let Self { puzzled, questions, .. } = *self;
        *self = Self { puzzled, questions, ..Self::new(settings) };
        let mut actions: Vec<Action> = open.then_some(Action::Cancel).into_iter().collect();
        actions.extend(self.handle(Event::Tick, now));
        actions
    }

    /// When to come back, even if nothing happens.
    pub fn deadline(&self) -> Option<Steady> {
        match self.phase {
            Phase::Resting { until } if self.settings.enabled => {
                Some(self.puzzled?.plus(self.settings.after()).max(until))
            }
            Phase::Asking { until, .. } => until,
            _ => None,
        }
    }

    /// Takes an event in and says what to do.
    #[must_use]
    pub fn handle(&mut self, event: Event, now: Steady) -> Vec<Action> {
        let mut actions = Vec::new();
        match (self.phase, event) {
            (_, Event::Puzzled) => _ = self.puzzled.get_or_insert(now),
            (phase, Event::Clear) => {
                self.puzzled = None;
                match phase {
                    Phase::Asking { .. } => {
                        actions.push(Action::Cancel);
                        self.rest(now, Duration::ZERO);
                    }
                    Phase::Answered => self.rest(now, Duration::ZERO),
                    // Work that was seen a moment ago goes on, whatever is written.
                    Phase::Resting { .. } | Phase::GivenUp => {}
                }
            }
            (Phase::Asking { question: open, until: None }, Event::Put { question }) if open == question => {
                let until = Some(now.plus(self.settings.limit()));
                self.phase = Phase::Asking { question, until };
            }
            (Phase::Asking { question: open, .. }, Event::Answered { question, answer })
                if open == question =>
            {
                actions.extend(self.answered(answer, now));
            }
            // Late news: the question was called off, or given up.
            (_, Event::Put { .. } | Event::Answered { .. } | Event::Tick) => {}
        }
        if self.deadline().is_some_and(|due| due <= now) {
            actions.push(self.due(now));
        }
        actions
    }

    fn answered(&mut self, answer: Answer, now: Steady) -> Option<Action> {
        let word = answer.as_ref().ok().copied();
        self.last = Some(At { what: answer, at: now });
        match word {
            Some(Word::Working) => self.rest(now, self.settings.cooldown()),
            Some(Word::Idle | Word::Blocked) => self.phase = Phase::Answered,
            None => {
                self.errors += 1;
                if self.errors >= self.settings.max_errors {
                    self.phase = Phase::GivenUp;
                } else {
                    self.rest(now, self.settings.after());
                }
                return None;
            }
        }
        self.errors = 0;
        word.map(Action::Tell)
    }

    /// Does what the deadline was for.
    fn due(&mut self, now: Steady) -> Action {
        if let Phase::Asking { .. } = self.phase {
            let reason = format!("it did not answer within {} s", self.settings.limit_seconds);
            // An error is nothing to tell the detector.
            let _ = self.answered(Err(reason), now);
            return Action::Cancel;
        }
        self.questions += 1;
        self.phase = Phase::Asking { question: self.questions, until: None };
        Action::Ask { question: self.questions }
    }

    fn rest(&mut self, now: Steady, pause: Duration) {
        self.phase = Phase::Resting { until: now.plus(pause) };
    }
}

#[cfg(test)]
mod tests;
