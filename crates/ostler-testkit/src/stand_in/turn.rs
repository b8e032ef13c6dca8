//! One turn: the steps that answer a prompt, played against the clock.

use std::collections::VecDeque;
use std::time::Duration;

use super::menu::{Menu, MenuKind};
use super::script::Step;

/// What a turn asks the application to do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Act {
    /// Begins a block of reply text.
    Begin,
    /// Appends to the block begun last.
    Append(String),
    /// Shows a tool call.
    Call(String),
    /// Shows the result of a tool call.
    Result(&'static str),
    Ask(Menu),
    Write {
        file: String,
        content: String,
    },
    /// Ends the turn with an error.
    Fail {
        text: String,
        outcome: Outcome,
    },
    Exit(u8),
    Crash,
    Finish,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Outcome {
    /// There was no turn yet.
    Fresh,
    Done,
    Error,
    Limit,
    Auth,
    Interrupted,
}

impl Outcome {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Done => "done",
            Self::Error => "error",
            Self::Limit => "limit",
            Self::Auth => "auth",
            Self::Interrupted => "interrupted",
        }
    }
}

/// How long a permitted command runs.
const PERMITTED_RUN: Duration = Duration::from_millis(300);

#[derive(Debug)]
enum Doing {
    Nothing,
    Waiting { until: Duration, silent: bool, result: Option<&'static str> },
    Speaking { words: VecDeque<String>, next: Duration },
}

/// A turn in progress.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) started: Duration,
    /// What was asked; put back into the composer if the turn is interrupted early.
    pub(super) prompt: String,
    /// Whether any of the reply was shown.
    pub(super) spoke: bool,
    steps: VecDeque<Step>,
    doing: Doing,
    pace: Duration,
}

impl Turn {
    pub(super) fn new(started: Duration, prompt: String, steps: Vec<Step>, pace: Duration) -> Self {
        Self { started, prompt, spoke: false, steps: steps.into(), doing: Doing::Nothing, pace }
    }

    /// Whether nothing may be drawn.
    pub(super) fn is_silent(&self) -> bool {
        matches!(self.doing, Doing::Waiting { silent: true, .. })
    }

    /// When [`advance`](Self::advance) has something to do.
    pub(super) fn deadline(&self) -> Option<Duration> {
        match &self.doing {
            Doing::Nothing => None,
            Doing::Waiting { until, .. } => Some(*until),
            Doing::Speaking { next, .. } => Some(*next),
        }
    }

    /// Goes on after a dialog was answered.
    pub(super) fn resume(&mut self, now: Duration, kind: MenuKind) {
        if kind == MenuKind::Permission {
            self.doing = Doing::Waiting { until: now + PERMITTED_RUN, silent: false, result: Some("Done") };
        }
    }

    /// Plays everything that is due; stops at a dialog or at the end.
    pub(super) fn advance(&mut self, now: Duration) -> Vec<Act> {
        let mut acts = Vec::new();
        loop {
            match &mut self.doing {
                Doing::Nothing => {}
                Doing::Waiting { until, .. } if now < *until => return acts,
                Doing::Waiting { result, .. } => acts.extend(result.take().map(Act::Result)),
                Doing::Speaking { words, next } => {
                    while now >= *next
                        && let Some(word) = words.pop_front()
                    {
                        self.spoke = true;
                        acts.push(Act::Append(word));
                        *next += self.pace;
                    }
                    if !words.is_empty() {
                        return acts;
                    }
                }
            }
            self.doing = Doing::Nothing;
            let Some(step) = self.steps.pop_front() else {
                acts.push(Act::Finish);
                return acts;
            };
            self.begin(step, now, &mut acts);
            if matches!(acts.last(), Some(Act::Ask(_) | Act::Fail { .. } | Act::Exit(_) | Act::Crash)) {
                return acts;
            }
        }
    }

    fn begin(&mut self, step: Step, now: Duration, acts: &mut Vec<Act>) {
        let wait = |lasting, silent, result| Doing::Waiting { until: now + lasting, silent, result };
        match step {
            Step::Work(lasting) => self.doing = wait(lasting, false, None),
            Step::Silent(lasting) => self.doing = wait(lasting, true, None),
            Step::Tool { name, lasting } => {
                acts.push(Act::Call(format!("{name}()")));
                self.doing = wait(lasting, false, Some("Done"));
            }
            Step::Permission(command) => acts.push(Act::Ask(Menu::new(MenuKind::Permission, command))),
            Step::Question(text) => acts.push(Act::Ask(Menu::new(MenuKind::Question, text))),
            Step::Say(text) => {
                acts.push(Act::Begin);
                let words = text.split_inclusive(char::is_whitespace).map(str::to_owned).collect();
                self.doing = Doing::Speaking { words, next: now };
            }
            Step::Error(text) => {
                let outcome = if text.starts_with("401") || text.starts_with("403") {
                    Outcome::Auth
                } else {
                    Outcome::Error
                };
                acts.push(Act::Fail { text: format!("API Error: {text}"), outcome });
            }
            Step::Limit(when) => {
                let text = format!("You've hit your usage limit · resets {when}");
                acts.push(Act::Fail { text, outcome: Outcome::Limit });
            }
            Step::Write { file, content } => {
                acts.push(Act::Call(format!("Write({file})")));
                acts.push(Act::Write { file, content });
            }
            Step::Exit(code) => acts.push(Act::Exit(code)),
            Step::Crash => acts.push(Act::Crash),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn append(word: &str) -> Act {
        Act::Append(word.into())
    }

    #[test]
    fn steps_play_against_the_clock() {
        let steps = vec![Step::Work(ms(100)), Step::Say("one two".into())];
        let mut turn = Turn::new(ms(0), String::new(), steps, ms(30));
        assert_eq!(turn.advance(ms(0)), []);
        assert_eq!(turn.deadline(), Some(ms(100)));
        assert_eq!(turn.advance(ms(99)), []);
        assert_eq!(turn.advance(ms(100)), [Act::Begin, append("one ")]);
        assert_eq!(turn.deadline(), Some(ms(130)));
        assert_eq!(turn.advance(ms(130)), [append("two"), Act::Finish]);
    }

    #[test]
    fn words_that_are_overdue_come_at_once() {
        let mut turn = Turn::new(ms(0), String::new(), vec![Step::Say("a b c d".into())], ms(10));
        assert_eq!(turn.advance(ms(0)).len(), 2);
        assert_eq!(turn.advance(ms(20)), [append("b "), append("c ")]);
    }

    #[test]
    fn a_dialog_stops_the_turn_until_it_is_answered() {
        let steps = vec![Step::Permission("ls".into()), Step::Silent(ms(10))];
        let mut turn = Turn::new(ms(0), String::new(), steps, ms(10));
        assert_eq!(turn.advance(ms(0)), [Act::Ask(Menu::new(MenuKind::Permission, "ls"))]);
        turn.resume(ms(50), MenuKind::Permission);
        assert_eq!(turn.advance(ms(350)), [Act::Result("Done")]);
        assert!(turn.is_silent());
    }
}
