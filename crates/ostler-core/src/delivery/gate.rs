//! Whether text may be typed into an agent now.

use crate::State;

use super::Mode;

/// What is known about an agent at the moment somebody wants to type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Situation {
    /// What it is doing.
    pub state: State,
    /// Its terminal's holder can be reached.
    pub reachable: bool,
    /// A person typed a moment ago.
    pub person: bool,
    /// Its screen was never understood, for so long that it will not be: there are no rules for it, or its composer
    /// looks otherwise than they say. That is as good as it gets.
    pub unrecognised: bool,
}

/// Why nothing may be typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HoldReason {
    /// The terminal's holder does not answer.
    Unreachable,
    /// The program has ended.
    Ended,
    /// It is not ready yet.
    Starting,
    /// It is at work.
    Working,
    /// It waits for a person: whatever is typed would be an answer.
    Blocked,
    /// Its quota is used up.
    Limited,
    /// Nobody knows what it is doing.
    Unknown,
    /// Its composer is not to be seen.
    Hidden,
    /// Its composer was never seen, and will not be.
    Unrecognised,
    /// A person is typing.
    Person,
    /// Something stands in the composer that is not ours.
    Draft,
    /// Its terminal collects lines: the program does not read keys now.
    Cooked,
    /// What was typed waits in its terminal.
    Unread,
    /// An editor or a pager has the terminal.
    Taken,
}

impl HoldReason {
    /// The reason for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreachable => "the holder of its terminal does not answer",
            Self::Ended => "the program has ended",
            Self::Starting => "the agent is not ready yet",
            Self::Working => "the agent is working",
            Self::Blocked => "the agent waits for a person; whatever is typed now would be an answer",
            Self::Limited => "the agent's quota is used up; --mode now types all the same",
            Self::Unknown => {
                "nobody knows what the program is doing; --mode now types all the same, unless its composer is hidden"
            }
            Self::Hidden => "the agent's composer is not to be seen; something may be in front of it",
            Self::Unrecognised => {
                "the agent's composer was never seen: it may look otherwise now, or a dialog be in front of it; \
                 ostler screen shows it, --mode now types without seeing it"
            }
            Self::Person => "a person is typing",
            Self::Draft => "something stands in the composer that is not this message",
            Self::Unread => "it is typed, and the agent has not read it: the agent hangs, or has much to do",
            Self::Taken => {
                "an editor or a pager has its terminal, to which keys are commands; --mode now types all the same"
            }
            Self::Cooked => "its terminal is in cooked mode: the agent does not read keys now",
        }
    }
}

impl Situation {
    /// Whether its composer was never seen, and will not be.
    pub(super) fn is_opaque(self) -> bool {
        self.unrecognised && matches!(self.state, State::Unknown | State::Idle)
    }

    /// Whether a message may be typed; not what the composer says about it.
    pub fn admits(self, mode: Mode) -> Result<(), HoldReason> {
        if self.state == State::Exited {
            return Err(HoldReason::Ended);
        }
        if !self.reachable {
            return Err(HoldReason::Unreachable);
        }
        if self.person {
            return Err(HoldReason::Person);
        }
        let busy = |allowed: bool| if allowed { Ok(()) } else { Err(HoldReason::Working) };
        match self.state {
            State::Idle | State::Watching | State::Error => Ok(()),
            State::Working => busy(matches!(mode, Mode::Queue | Mode::Now)),
            // Never, in no mode.
            State::Blocked => Err(HoldReason::Blocked),
            State::Starting => Err(HoldReason::Starting),
            State::Limited if mode == Mode::Now => Ok(()),
            State::Limited => Err(HoldReason::Limited),
            State::Unknown if self.unrecognised || mode == Mode::Now => Ok(()),
            State::Unknown => Err(HoldReason::Unknown),
            State::Exited => Err(HoldReason::Ended),
        }
    }

    /// Whether Enter may be pressed behind text of ours that is seen in the composer.
    pub fn admits_enter(self) -> Result<(), HoldReason> {
        match self.state {
            State::Exited => Err(HoldReason::Ended),
            State::Blocked => Err(HoldReason::Blocked),
            _ if !self.reachable => Err(HoldReason::Unreachable),
            _ if self.person => Err(HoldReason::Person),
            _ => Ok(()),
        }
    }
}
