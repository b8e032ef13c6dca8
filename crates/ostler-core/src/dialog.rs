//! Answering a dialog by choosing a row.
//!
//! A dialog's default may be the row that ends the program, and a key may come before the dialog listens. So the
//! wanted row is selected, seen to be selected, and only then Enter is pressed; every key is a write of its own, and
//! each is followed by a look. The terminal is asked before an answer whether the program has read everything: a key that
//! waits there, of this daemon or an earlier one, is an answer already, and a second would go to whatever comes next. So
//! would one to a program that has read the first and stalls: a key is repeated only when the program has drawn since it
//! was seen to have read it, and the dialog stands there as before. What does not go as expected is left to a person.

mod consent;
pub mod writing;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Steady;

pub use consent::{Circumstances, Consent, Doubt, RuleAnswer, Witness, consent};

/// What to do about a kind of dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// A person answers.
    #[default]
    Ask,
    /// It is accepted.
    Allow,
    /// It is declined.
    Deny,
}

/// A dialog is left to draw itself for this long before the first key.
const SETTLE: Duration = Duration::from_millis(400);
/// A key has this long to show.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// A selected row is looked at for this long before Enter.
const CONVICTION: Duration = Duration::from_millis(250);
/// An answered dialog has this long to go away.
const FAREWELL: Duration = Duration::from_secs(4);
/// A program that has read a key has this long to draw something.
const STALL: Duration = Duration::from_mins(1);
/// A row that is not there may have yet to be drawn for this long.
const DRAWING: Duration = Duration::from_secs(5);
/// How often a key is repeated.
const MAX_TRIES: u32 = 3;
/// Most keys for one dialog.
const MAX_KEYS: u32 = 40;

/// What the screen shows of the dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialogView {
    /// It is not there.
    Gone,
    /// There are no rows to choose from: keys answer it.
    Plain,
    /// Rows to choose from.
    Rows {
        /// The row that is wanted.
        wanted: Option<u16>,
        /// The row that is selected.
        selected: Option<u16>,
    },
}

/// A key to press.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Press {
    /// Select the row above.
    Up,
    /// Select the row below.
    Down,
    /// Choose the selected row.
    Enter,
    /// The keys that answer a dialog without rows.
    Answer,
}

/// Something to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Press a key.
    Press(Press),
    /// Ask the terminal how much the program has not read yet, and come back with [`Dialog::inspected`].
    Inspect,
    /// It is answered, and gone.
    Answered,
    /// A person has to see to it.
    Leave(Reason),
}

/// Why a dialog is left to a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The wanted row is not there.
    NoSuchRow,
    /// The selection does not follow the keys.
    Stuck,
    /// It is still there after it was answered.
    Stays,
    /// It was there before this daemon, and has not moved since.
    Inherited,
    /// What was written is not seen.
    Unseen,
    /// It is gone, and not by an answer.
    WentAway,
}

impl Reason {
    /// The reason for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoSuchRow => "the row to choose is not there",
            Self::Stuck => "the selection does not follow the keys",
            Self::Stays => "it is still there after it was answered",
            Self::Inherited => "it was open before the daemon started, and may have been answered already",
            Self::Unseen => "what was written is not seen in it",
            Self::WentAway => "it went away before it was answered",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Settling {
        since: Steady,
    },
    Selecting {
        pressed: Steady,
        from: u16,
        tries: u32,
    },
    Convinced {
        since: Steady,
    },
    /// The terminal is asked whether everything was read.
    Asking {
        since: Steady,
        press: Press,
        tries: u32,
    },
    Answering {
        pressed: Steady,
        tries: u32,
    },
    Over,
}

/// A dialog that is being answered.
#[derive(Debug, Clone)]
pub struct Dialog {
    stage: Stage,
    keys: u32,
    /// An answer was pressed.
    answered: bool,
    /// An answer is pressed once: what stands there then may be another dialog that says the same.
    once: bool,
    /// An earlier daemon, or somebody through it, may have pressed a key for it.
    inherited: bool,
    /// How much the program had drawn when it was first seen to have read the last key.
    read: Option<u64>,
    /// Since when a row is not there that has to be.
    incomplete: Option<Steady>,
    deadline: Option<Steady>,
}

impl Dialog {
    /// A dialog that was just seen.
    pub fn new(now: Steady) -> Self {
        Self {
            stage: Stage::Settling { since: now },
            keys: 0,
            answered: false,
            once: false,
            inherited: false,
            read: None,
            incomplete: None,
            deadline: Some(now.plus(SETTLE)),
        }
    }

    /// The same, of which an answer is pressed once, and not again if it stays.
    #[must_use]
    pub fn once(self) -> Self {
        Self { once: true, ..self }
    }

    /// A dialog that stood there before this daemon did: a key that answers it may be with the program already.
    pub fn inherited(now: Steady) -> Self {
        Self { inherited: true, ..Self::new(now) }
    }

    /// A dialog that is left to a person from the start.
    pub fn left() -> Self {
        Self { stage: Stage::Over, deadline: None, ..Self::new(Steady(0)) }
    }

    /// Whether an answer was pressed, not only keys that select.
    pub fn is_answered(&self) -> bool {
        self.answered
    }

    /// Nothing more will be done.
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// When to look again, if nothing happens.
    pub fn deadline(&self) -> Option<Steady> {
        self.deadline
    }

    /// Takes in what the screen shows now, and how much the program had drawn by then.
    #[must_use]
    pub fn look(&mut self, sight: DialogView, drawn: u64, now: Steady) -> Option<Action> {
        self.deadline = None;
        let lacks_row =
            matches!(sight, DialogView::Rows { wanted: None, .. } | DialogView::Rows { selected: None, .. });
        self.incomplete = lacks_row.then(|| self.incomplete.unwrap_or(now));
        let drawing = self.incomplete.map(|since| since.plus(DRAWING)).filter(|until| now < *until);
        match (self.stage, sight) {
            (Stage::Over, _) => None,
            _ if drawing.is_some() => {
                self.deadline = drawing;
                None
            }
            (_, DialogView::Gone) => {
                self.stage = Stage::Over;
                (self.keys > 0).then_some(Action::Answered)
            }
            (Stage::Settling { since }, _) if now < since.plus(SETTLE) => self.until(since.plus(SETTLE)),
            (Stage::Settling { since }, _) if self.inherited && !self.is_ignored(drawn) => {
                self.await_drawing(since, Reason::Inherited, now)
            }
            (Stage::Settling { .. }, DialogView::Plain) => self.answer(Press::Answer, 1, now),
            (Stage::Settling { .. }, rows) => self.select(rows, now),
            (Stage::Selecting { pressed, from, tries }, DialogView::Rows { wanted, selected }) => {
                if selected.is_some_and(|selected| selected != from) {
                    return self.select(DialogView::Rows { wanted, selected }, now);
                }
                if now < pressed.plus(PATIENCE) {
                    return self.until(pressed.plus(PATIENCE));
                }
                if !self.is_ignored(drawn) {
                    return self.await_drawing(pressed, Reason::Stuck, now);
                }
                if tries >= MAX_TRIES {
                    return self.leave(Reason::Stuck);
                }
                self.step(wanted, Some(from), tries + 1, now)
            }
            (Stage::Convinced { since }, DialogView::Rows { wanted, selected }) => {
                if wanted.is_none() || wanted != selected {
                    return self.select(sight, now);
                }
                if now < since.plus(CONVICTION) {
                    return self.until(since.plus(CONVICTION));
                }
                self.answer(Press::Enter, 1, now)
            }
            (Stage::Asking { press: Press::Enter, .. }, DialogView::Rows { wanted, selected })
                if wanted.is_none() || wanted != selected =>
            {
                self.select(sight, now)
            }
            (Stage::Asking { since, .. }, _) if now < since.plus(PATIENCE) => {
                self.until(since.plus(PATIENCE))
            }
            (Stage::Asking { press, tries, .. }, _) => self.answer(press, tries, now),
            (Stage::Answering { pressed, .. }, _) if now < pressed.plus(FAREWELL) => {
                self.until(pressed.plus(FAREWELL))
            }
            (Stage::Answering { .. }, _) if self.once => self.leave(Reason::Stays),
            (Stage::Answering { pressed, .. }, _) if !self.is_ignored(drawn) => {
                self.await_drawing(pressed, Reason::Stays, now)
            }
            (Stage::Answering { tries, .. }, _) if tries >= MAX_TRIES => self.leave(Reason::Stays),
            // The same again, but only if the right row is still selected.
            (Stage::Answering { tries, .. }, DialogView::Plain) => self.answer(Press::Answer, tries + 1, now),
            (Stage::Answering { tries, .. }, DialogView::Rows { wanted, selected }) => {
                if wanted.is_some() && wanted == selected {
                    self.answer(Press::Enter, tries + 1, now)
                } else {
                    self.select(sight, now)
                }
            }
            // It changed its look in the middle.
            (Stage::Selecting { .. } | Stage::Convinced { .. }, DialogView::Plain) => {
                self.leave(Reason::NoSuchRow)
            }
        }
    }

    /// Whether the program has drawn since it was seen to have read the last key.
    fn is_ignored(&self, drawn: u64) -> bool {
        self.read.is_some_and(|read| drawn > read)
    }

    /// Nothing says yet what became of the last key.
    fn await_drawing(&mut self, pressed: Steady, reason: Reason, now: Steady) -> Option<Action> {
        if now >= pressed.plus(STALL) {
            return self.leave(reason);
        }
        if self.read.is_some() {
            return self.until(pressed.plus(STALL));
        }
        self.deadline = Some(now.plus(PATIENCE));
        Some(Action::Inspect)
    }

    fn select(&mut self, sight: DialogView, now: Steady) -> Option<Action> {
        let DialogView::Rows { wanted, selected } = sight else { return self.leave(Reason::NoSuchRow) };
        if wanted.is_none() || selected.is_none() {
            return self.leave(Reason::NoSuchRow);
        }
        if wanted == selected {
            self.stage = Stage::Convinced { since: now };
            return self.until(now.plus(CONVICTION));
        }
        self.step(wanted, selected, 1, now)
    }

    fn step(
        &mut self,
        wanted: Option<u16>,
        selected: Option<u16>,
        tries: u32,
        now: Steady,
    ) -> Option<Action> {
        let (Some(wanted), Some(from)) = (wanted, selected) else { return self.leave(Reason::NoSuchRow) };
        self.stage = Stage::Selecting { pressed: now, from, tries };
        self.deadline = Some(now.plus(PATIENCE));
        self.press(if wanted > from { Press::Down } else { Press::Up })
    }

    /// Answers, if the program has read everything that was typed before.
    #[expect(clippy::unnecessary_wraps, reason = "every step says what to do, if anything")]
    fn answer(&mut self, press: Press, tries: u32, now: Steady) -> Option<Action> {
        self.stage = Stage::Asking { since: now, press, tries };
        self.deadline = Some(now.plus(PATIENCE));
        Some(Action::Inspect)
    }

    /// The answer of the terminal came while the screen was being drawn: it is asked again at the next look.
    pub fn ask_again(&mut self) {
        if let Stage::Asking { since, .. } = &mut self.stage {
            *since = Steady(0);
        }
    }

    /// Takes in how many bytes the program had not read yet and how much it had drawn by then, and what the screen shows
    /// now.
    #[must_use]
    pub fn inspected(&mut self, unread: u32, drawn: u64, sight: DialogView, now: Steady) -> Option<Action> {
        if let Stage::Settling { since: pressed }
        | Stage::Selecting { pressed, .. }
        | Stage::Answering { pressed, .. } = self.stage
        {
            // A terminal is a moment behind what was written to it.
            if unread == 0 && now >= pressed.plus(CONVICTION) {
                self.read.get_or_insert(drawn);
            }
            return None;
        }
        let Stage::Asking { press, tries, .. } = self.stage else { return None };
        let right = match sight {
            DialogView::Gone => false,
            DialogView::Plain => press == Press::Answer,
            DialogView::Rows { wanted, selected } => wanted.is_some() && wanted == selected,
        };
        if unread > 0 || !right {
            return self.look(sight, drawn, now);
        }
        self.stage = Stage::Answering { pressed: now, tries };
        self.deadline = Some(now.plus(FAREWELL));
        self.press(press)
    }

    fn press(&mut self, press: Press) -> Option<Action> {
        self.keys += 1;
        self.answered |= matches!(press, Press::Enter | Press::Answer);
        self.read = None;
        if self.keys > MAX_KEYS { self.leave(Reason::Stuck) } else { Some(Action::Press(press)) }
    }

    fn until(&mut self, at: Steady) -> Option<Action> {
        self.deadline = Some(at);
        None
    }

    #[expect(clippy::unnecessary_wraps, reason = "every step says what to do, if anything")]
    fn leave(&mut self, reason: Reason) -> Option<Action> {
        self.stage = Stage::Over;
        self.deadline = None;
        Some(Action::Leave(reason))
    }
}

#[cfg(test)]
mod tests;
