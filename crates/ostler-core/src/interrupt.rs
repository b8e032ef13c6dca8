//! Stopping an agent's turn by the keys that its preset names.
//!
//! The keys mean that only to an agent at work: in a dialog they answer, at rest they may open a menu or end the program. So
//! they are pressed once, while the agent is seen at work, no text waits for its Enter, and the program has read everything
//! that was typed before. They are not repeated: once more, they may mean something else. What became of them is concluded
//! from what the agent does then.

use std::time::Duration;

use crate::{State, Steady};

/// A terminal has this long to tell what was read.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// What is seen of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// What it does.
    pub state: State,
    /// Everything that it has drawn was looked at, and no text waits for its Enter.
    pub quiet: bool,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The keys were pressed, and the agent has come to rest.
    Stopped,
    /// The agent was at rest: nothing was pressed.
    Nothing,
    /// The keys were pressed, and the agent goes on.
    StillWorking,
    /// A dialog is open, in which the keys would be an answer.
    Dialog {
        /// It opened after the keys were pressed.
        pressed: bool,
    },
    /// The program does not read what was typed before: nothing was pressed.
    Unread,
    /// What the agent does is not known: nothing was pressed.
    Unclear,
    /// The program has ended.
    Ended {
        /// It ended after the keys were pressed.
        pressed: bool,
    },
}

impl Outcome {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Nothing => "nothing",
            Self::StillWorking => "working",
            Self::Dialog { .. } => "dialog",
            Self::Unread => "unread",
            Self::Unclear => "unclear",
            Self::Ended { .. } => "ended",
        }
    }

    /// Whether the keys were pressed.
    pub fn pressed(self) -> bool {
        match self {
            Self::Stopped | Self::StillWorking => true,
            Self::Dialog { pressed } | Self::Ended { pressed } => pressed,
            Self::Nothing | Self::Unread | Self::Unclear => false,
        }
    }
}

/// Something to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Ask the terminal how much the program has not read, and come back with [`Interrupt::inspected`].
    Inspect,
    /// Press the keys.
    Press,
    /// It is over.
    Finish(Outcome),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The keys may not be pressed yet.
    Waiting,
    /// The terminal is asked whether everything was read.
    Asking {
        again: Steady,
    },
    /// The keys are pressed.
    Pressed,
    Over,
}

/// A turn that is being stopped.
#[derive(Debug, Clone)]
pub struct Interrupt {
    stage: Stage,
    until: Steady,
}

impl Interrupt {
    /// A turn that is to be stopped within this time.
    pub fn new(patience: Duration, now: Steady) -> Self {
        Self { stage: Stage::Waiting, until: now.plus(patience) }
    }

    /// When to look again, if nothing happens.
    pub fn deadline(&self) -> Option<Steady> {
        match self.stage {
            Stage::Over => None,
            Stage::Asking { again } => Some(self.until.min(again)),
            Stage::Waiting | Stage::Pressed => Some(self.until),
        }
    }

    /// Takes in what is seen now.
    #[must_use]
    pub fn look(&mut self, view: View, now: Steady) -> Option<Action> {
        let pressed = match self.stage {
            Stage::Over => return None,
            Stage::Pressed => true,
            Stage::Waiting | Stage::Asking { .. } => false,
        };
        match view.state {
            State::Blocked => return self.finish(Outcome::Dialog { pressed }),
            State::Exited => return self.finish(Outcome::Ended { pressed }),
            State::Idle | State::Watching | State::Limited | State::Error => {
                return self.finish(if pressed { Outcome::Stopped } else { Outcome::Nothing });
            }
            State::Starting | State::Unknown if !pressed => return self.finish(Outcome::Unclear),
            State::Working | State::Starting | State::Unknown => {}
        }
        if now >= self.until {
            return self.finish(if pressed { Outcome::StillWorking } else { Outcome::Unread });
        }
        match self.stage {
            Stage::Waiting if view.quiet => self.ask(now),
            Stage::Asking { again } if now >= again => self.ask(now),
            _ => None,
        }
    }

    /// Takes in how many bytes the program had not read, and what is seen now.
    #[must_use]
    pub fn inspected(&mut self, unread: u32, view: View, now: Steady) -> Option<Action> {
        let Stage::Asking { .. } = self.stage else { return None };
        if !view.quiet {
            self.stage = Stage::Waiting;
        }
        if unread > 0 || !view.quiet || view.state != State::Working {
            return self.look(view, now);
        }
        self.stage = Stage::Pressed;
        Some(Action::Press)
    }

    #[expect(clippy::unnecessary_wraps, reason = "every step says what to do, if anything")]
    fn ask(&mut self, now: Steady) -> Option<Action> {
        self.stage = Stage::Asking { again: now.plus(PATIENCE) };
        Some(Action::Inspect)
    }

    #[expect(clippy::unnecessary_wraps, reason = "every step says what to do, if anything")]
    fn finish(&mut self, outcome: Outcome) -> Option<Action> {
        self.stage = Stage::Over;
        Some(Action::Finish(outcome))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENT: Duration = Duration::from_secs(10);

    fn at(state: State) -> View {
        View { state, quiet: true }
    }

    fn begun() -> Interrupt {
        Interrupt::new(PATIENT, Steady(0))
    }

    /// An agent at work whose keys were pressed.
    fn pressed() -> Interrupt {
        let mut interrupt = begun();
        assert_eq!(interrupt.look(at(State::Working), Steady(0)), Some(Action::Inspect));
        assert_eq!(interrupt.inspected(0, at(State::Working), Steady(5)), Some(Action::Press));
        interrupt
    }

    #[test]
    fn nothing_is_pressed_but_at_work() {
        for (state, outcome) in [
            (State::Idle, Outcome::Nothing),
            (State::Watching, Outcome::Nothing),
            (State::Limited, Outcome::Nothing),
            (State::Blocked, Outcome::Dialog { pressed: false }),
            (State::Starting, Outcome::Unclear),
            (State::Unknown, Outcome::Unclear),
            (State::Exited, Outcome::Ended { pressed: false }),
        ] {
            assert_eq!(begun().look(at(state), Steady(0)), Some(Action::Finish(outcome)), "{state}");
            // What it does may be another thing by the time that the terminal has told.
            let mut late = begun();
            let _ = late.look(at(State::Working), Steady(0));
            assert_eq!(late.inspected(0, at(state), Steady(5)), Some(Action::Finish(outcome)), "{state}");
        }
    }

    #[test]
    fn the_keys_are_pressed_once_and_their_effect_is_told() {
        for (state, outcome) in [
            (State::Idle, Outcome::Stopped),
            (State::Error, Outcome::Stopped),
            (State::Blocked, Outcome::Dialog { pressed: true }),
            (State::Exited, Outcome::Ended { pressed: true }),
        ] {
            let mut interrupt = pressed();
            assert_eq!(interrupt.look(at(State::Working), Steady(4_000)), None);
            assert_eq!(interrupt.look(at(State::Unknown), Steady(4_100)), None);
            assert_eq!(interrupt.inspected(0, at(State::Working), Steady(4_200)), None, "late news");
            assert_eq!(interrupt.look(at(state), Steady(5_000)), Some(Action::Finish(outcome)), "{state}");
            assert_eq!((interrupt.look(at(state), Steady(5_001)), interrupt.deadline()), (None, None));
        }
        let mut interrupt = pressed();
        assert_eq!(interrupt.deadline(), Some(Steady(10_000)));
        let end = Some(Action::Finish(Outcome::StillWorking));
        assert_eq!(interrupt.look(at(State::Working), Steady(10_000)), end);
    }

    #[test]
    fn nothing_is_pressed_while_something_is_unread_or_a_text_waits_for_its_enter() {
        let mut interrupt = begun();
        let typing = View { state: State::Working, quiet: false };
        assert_eq!(interrupt.look(typing, Steady(0)), None);
        assert_eq!(interrupt.look(at(State::Working), Steady(500)), Some(Action::Inspect));
        assert_eq!(interrupt.inspected(0, typing, Steady(510)), None);
        assert_eq!(interrupt.look(at(State::Working), Steady(600)), Some(Action::Inspect), "asked again");
        assert_eq!(interrupt.inspected(7, at(State::Working), Steady(610)), None);
        assert_eq!(interrupt.deadline(), Some(Steady(2_100)));
        assert_eq!(interrupt.look(at(State::Working), Steady(2_100)), Some(Action::Inspect));
        let end = Some(Action::Finish(Outcome::Unread));
        assert_eq!(interrupt.look(at(State::Working), Steady(10_000)), end);
    }
}
