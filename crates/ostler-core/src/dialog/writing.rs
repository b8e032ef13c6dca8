//! Writing an answer in one's own words into a dialog.
//!
//! The words are typed once, where the dialog takes them. Only when they are seen there, and the program has read
//! everything, Enter follows; what is not seen is not entered, for nobody knows where it went.

use std::time::Duration;

use super::Reason;
use crate::Steady;

/// The place to write has this long to open: some take nothing for most of a second after they have drawn it.
const OPENING: Duration = Duration::from_millis(1_200);
/// Words have this long to show.
const SHOWING: Duration = Duration::from_secs(6);
/// They are looked at for this long before Enter.
const CONVICTION: Duration = Duration::from_millis(300);
/// A terminal has this long to tell what was read.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// An answered dialog has this long to go away.
const FAREWELL: Duration = Duration::from_secs(8);

/// What is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// The dialog is not there any more.
    Gone,
    /// It is there, and the words are not.
    Unwritten,
    /// The words stand there.
    Written,
}

/// Something to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// Type the words.
    Type,
    /// Ask the terminal how much the program has not read, and come back with [`Writing::inspected`].
    Inspect,
    /// Press Enter.
    Enter,
    /// It is answered, and gone.
    Answered,
    /// A person has to see to it.
    Leave(Reason),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Opening { until: Steady },
    Showing { until: Steady },
    Seen { since: Steady, until: Steady },
    Asking { again: Steady, until: Steady },
    Entered { until: Steady },
    Over,
}

/// An answer that is being written.
#[derive(Debug, Clone)]
pub struct Writing {
    stage: Stage,
}

impl Writing {
    /// The place to write is there, or is being opened by keys.
    pub fn new(now: Steady) -> Self {
        Self { stage: Stage::Opening { until: now.plus(OPENING) } }
    }

    /// Whether nothing more will be done.
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Whether Enter was pressed.
    pub fn is_entered(&self) -> bool {
        matches!(self.stage, Stage::Entered { .. })
    }

    /// When to look again, if nothing happens.
    pub fn deadline(&self) -> Option<Steady> {
        match self.stage {
            Stage::Opening { until } | Stage::Showing { until } | Stage::Entered { until } => Some(until),
            Stage::Seen { since, .. } => Some(since.plus(CONVICTION)),
            Stage::Asking { again, .. } => Some(again),
            Stage::Over => None,
        }
    }

    /// Takes in what is seen now.
    #[must_use]
    pub fn look(&mut self, sight: Sight, now: Steady) -> Option<Deed> {
        match (self.stage, sight) {
            (Stage::Over, _) => None,
            (Stage::Entered { .. }, Sight::Gone) => self.end(Deed::Answered),
            (_, Sight::Gone) => self.end(Deed::Leave(Reason::WentAway)),
            (Stage::Opening { until }, _) if now < until => None,
            (Stage::Opening { .. }, _) => {
                self.stage = Stage::Showing { until: now.plus(SHOWING) };
                Some(Deed::Type)
            }
            (Stage::Showing { until }, Sight::Written) => {
                self.stage = Stage::Seen { since: now, until };
                None
            }
            (Stage::Showing { until } | Stage::Seen { until, .. } | Stage::Asking { until, .. }, _)
                if now >= until =>
            {
                self.end(Deed::Leave(Reason::Unseen))
            }
            (Stage::Showing { .. }, Sight::Unwritten) => None,
            (Stage::Seen { until, .. } | Stage::Asking { until, .. }, Sight::Unwritten) => {
                self.stage = Stage::Showing { until };
                None
            }
            (Stage::Seen { since, .. }, Sight::Written) if now < since.plus(CONVICTION) => None,
            (Stage::Asking { again, .. }, Sight::Written) if now < again => None,
            (Stage::Seen { until, .. } | Stage::Asking { until, .. }, Sight::Written) => {
                self.stage = Stage::Asking { again: now.plus(PATIENCE), until };
                Some(Deed::Inspect)
            }
            (Stage::Entered { until }, _) if now < until => None,
            (Stage::Entered { .. }, _) => self.end(Deed::Leave(Reason::Stays)),
        }
    }

    /// Takes in how many bytes the program had not read, and what is seen now.
    #[must_use]
    pub fn inspected(&mut self, unread: u32, sight: Sight, now: Steady) -> Option<Deed> {
        let Stage::Asking { .. } = self.stage else { return None };
        if unread > 0 || sight != Sight::Written {
            return self.look(sight, now);
        }
        self.stage = Stage::Entered { until: now.plus(FAREWELL) };
        Some(Deed::Enter)
    }

    /// The answer of the terminal came while the screen was being drawn: it is asked again at the next look.
    pub fn ask_again(&mut self) {
        if let Stage::Asking { again, .. } = &mut self.stage {
            *again = Steady(0);
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "every step says what to do, if anything")]
    fn end(&mut self, deed: Deed) -> Option<Deed> {
        self.stage = Stage::Over;
        Some(deed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Steady {
        Steady(ms)
    }

    /// Words that were typed at 1,200.
    fn typed() -> Writing {
        let mut writing = Writing::new(at(0));
        assert_eq!(writing.look(Sight::Unwritten, at(1_199)), None, "its place opens");
        assert_eq!(writing.look(Sight::Unwritten, at(1_200)), Some(Deed::Type));
        writing
    }

    #[test]
    fn enter_follows_words_that_are_seen_and_read() {
        let mut writing = typed();
        assert_eq!(writing.look(Sight::Written, at(1_800)), None);
        assert_eq!(writing.look(Sight::Written, at(2_100)), Some(Deed::Inspect));
        assert_eq!(writing.inspected(3, Sight::Written, at(2_101)), None, "something is unread");
        assert_eq!(writing.look(Sight::Written, at(3_700)), Some(Deed::Inspect));
        assert_eq!(writing.inspected(0, Sight::Written, at(3_701)), Some(Deed::Enter));
        assert_eq!(writing.inspected(0, Sight::Written, at(3_702)), None, "once");
        assert_eq!(writing.look(Sight::Gone, at(3_900)), Some(Deed::Answered));
    }

    #[test]
    fn words_that_are_not_seen_are_not_entered() {
        let mut writing = typed();
        assert_eq!(writing.look(Sight::Unwritten, at(7_199)), None);
        assert_eq!(writing.look(Sight::Unwritten, at(7_200)), Some(Deed::Leave(Reason::Unseen)));
        let mut writing = typed();
        let _ = writing.look(Sight::Written, at(1_300));
        assert_eq!(writing.look(Sight::Written, at(1_600)), Some(Deed::Inspect));
        assert_eq!(writing.inspected(0, Sight::Unwritten, at(1_601)), None, "they went away meanwhile");
        assert_eq!(writing.look(Sight::Gone, at(1_700)), Some(Deed::Leave(Reason::WentAway)));
        let mut writing = typed();
        let _ = (writing.look(Sight::Written, at(1_300)), writing.look(Sight::Written, at(1_600)));
        let _ = writing.inspected(0, Sight::Written, at(1_601));
        assert_eq!(writing.look(Sight::Written, at(9_601)), Some(Deed::Leave(Reason::Stays)));
        assert!(writing.is_over());
    }
}
