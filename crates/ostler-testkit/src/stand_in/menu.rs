//! Dialogs: a list of rows of which one is chosen.

/// Which dialog it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum MenuKind {
    Theme,
    Trust,
    Permission,
    Question,
}

impl MenuKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Theme => "theme",
            Self::Trust => "trust",
            Self::Permission => "permission",
            Self::Question => "question",
        }
    }

    /// Rows in their order; the first is the default.
    pub(super) fn rows(self) -> &'static [&'static str] {
        match self {
            Self::Theme => &["Dark mode", "Light mode", "Colour-blind friendly"],
            Self::Trust => &["No, exit", "Yes, I trust this folder"],
            Self::Permission => &["Yes", "Yes, and always allow this command", "No"],
            Self::Question => &["Go left", "Go right", "Something else"],
        }
    }

    /// Whether single characters answer: a start-up dialog takes only arrows and Enter.
    pub(super) fn takes_characters(self) -> bool {
        matches!(self, Self::Permission | Self::Question)
    }

    /// The row that `character` chooses at once.
    pub(super) fn row_of(self, character: char) -> Option<usize> {
        match (self, character) {
            (Self::Theme | Self::Trust, _) => None,
            (Self::Permission, 'y') => Some(0),
            (Self::Permission, 'n') => Some(2),
            (_, '1'..='3') => character.to_digit(10).map(|digit| digit as usize - 1),
            _ => None,
        }
    }
}

/// An open dialog.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Menu {
    pub(super) kind: MenuKind,
    /// What it asks about: a command or a question.
    pub(super) subject: String,
    /// The row shown as chosen.
    pub(super) selected: usize,
    /// The row that Enter takes. It lags behind `selected` until the next read, as in programs that apply
    /// an arrow only when they have drawn it.
    settled: usize,
}

impl Menu {
    pub(super) fn new(kind: MenuKind, subject: impl Into<String>) -> Self {
        Self { kind, subject: subject.into(), selected: 0, settled: 0 }
    }

    /// Notes that a new read begins.
    pub(super) fn settle(&mut self) {
        self.settled = self.selected;
    }

    pub(super) fn up(&mut self) {
        self.selected = self.selected.saturating_sub(1);
    }

    pub(super) fn down(&mut self) {
        self.selected = (self.selected + 1).min(self.kind.rows().len() - 1);
    }

    /// The row that Enter takes now.
    pub(super) fn confirmed(&self) -> usize {
        self.settled
    }
}
