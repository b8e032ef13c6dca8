//! Places on a screen where a rule may look.

use std::fmt;
use std::str::FromStr;

/// A place on the screen, or beside it. Text that an agent merely quotes is elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Region {
    /// The window title.
    Title,
    /// Every row.
    Screen,
    /// The first rows that are not blank.
    Top(u16),
    /// The last rows that are not blank.
    Bottom(u16),
    /// The last row that is not blank.
    Status,
    /// The row of the cursor.
    Cursor,
    /// The row right above that of the cursor.
    AboveCursor,
    /// The row right below that of the cursor.
    BelowCursor,
    /// The rows of the composer.
    Composer,
    /// The last rows above the composer and its frame that are not blank.
    Above(u16),
    /// The rows below the composer and its frame.
    Below,
    /// The last rows of a screen without a composer: dialogs take its place.
    Dialog,
}

/// Rows of a dialog that are looked at.
pub(crate) const DIALOG_ROWS: u16 = 40;

/// No place is called so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no region is called {0:?}; there are title, screen, top N, bottom N, status, cursor, above-cursor, below-cursor, composer, above N, below, dialog"
)]
pub struct UnknownRegion(String);

impl FromStr for Region {
    type Err = UnknownRegion;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownRegion(text.to_owned());
        let (name, count) = match text.split_once(' ') {
            Some((name, count)) => (
                name,
                Some(count.parse().ok().filter(|count| (1..=500).contains(count)).ok_or_else(unknown)?),
            ),
            None => (text, None),
        };
        match (name, count) {
            ("title", None) => Ok(Self::Title),
            ("screen", None) => Ok(Self::Screen),
            ("top", Some(count)) => Ok(Self::Top(count)),
            ("bottom", Some(count)) => Ok(Self::Bottom(count)),
            ("status", None) => Ok(Self::Status),
            ("cursor", None) => Ok(Self::Cursor),
            ("above-cursor", None) => Ok(Self::AboveCursor),
            ("below-cursor", None) => Ok(Self::BelowCursor),
            ("composer", None) => Ok(Self::Composer),
            ("above", Some(count)) => Ok(Self::Above(count)),
            ("below", None) => Ok(Self::Below),
            ("dialog", None) => Ok(Self::Dialog),
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Title => f.write_str("title"),
            Self::Screen => f.write_str("screen"),
            Self::Top(count) => write!(f, "top {count}"),
            Self::Bottom(count) => write!(f, "bottom {count}"),
            Self::Status => f.write_str("status"),
            Self::Cursor => f.write_str("cursor"),
            Self::AboveCursor => f.write_str("above-cursor"),
            Self::BelowCursor => f.write_str("below-cursor"),
            Self::Composer => f.write_str("composer"),
            Self::Above(count) => write!(f, "above {count}"),
            Self::Below => f.write_str("below"),
            Self::Dialog => f.write_str("dialog"),
        }
    }
}

#[cfg(test)]
mod tests;
