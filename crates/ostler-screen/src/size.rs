//! The size of a terminal.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Columns a terminal may have. The emulator grows without bound at one column.
const COLS: RangeInclusive<u16> = 2..=1000;
/// Rows a terminal may have.
const ROWS: RangeInclusive<u16> = 1..=500;

/// The size of a terminal in character cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Size {
    /// Columns, 2 to 1000.
    pub cols: u16,
    /// Rows, 1 to 500.
    pub rows: u16,
}

impl Size {
    /// Creates the nearest size that a screen can have.
    pub fn clamped(cols: u16, rows: u16) -> Self {
        Self { cols: cols.clamp(*COLS.start(), *COLS.end()), rows: rows.clamp(*ROWS.start(), *ROWS.end()) }
    }

    /// Returns this size brought into the allowed range.
    pub(crate) fn clamp(self) -> Self {
        Self::clamped(self.cols, self.rows)
    }
}

impl Default for Size {
    /// The size of a classic terminal, 80x24.
    fn default() -> Self {
        Self { cols: 80, rows: 24 }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.cols, self.rows)
    }
}

/// A text that does not name a terminal size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeError(String);

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not a terminal size: write COLUMNSxROWS such as 120x40, with {} to {} columns and {} to {} rows",
            self.0,
            COLS.start(),
            COLS.end(),
            ROWS.start(),
            ROWS.end(),
        )
    }
}

impl std::error::Error for SizeError {}

impl FromStr for Size {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        let parse = || {
            let (cols, rows) = text.split_once(['x', 'X'])?;
            Some(Self { cols: cols.trim().parse().ok()?, rows: rows.trim().parse().ok()? })
        };
        parse()
            .filter(|size| COLS.contains(&size.cols) && ROWS.contains(&size.rows))
            .ok_or_else(|| SizeError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_size_agree() {
        assert_eq!("120x40".parse(), Ok(Size { cols: 120, rows: 40 }));
        assert_eq!(" 80 X 24 ".parse(), Ok(Size::default()));
        assert_eq!(Size { cols: 120, rows: 40 }.to_string(), "120x40");
    }

    #[test]
    fn a_wrong_size_is_explained() {
        for text in ["", "80", "x", "80x", "0x0", "1x1", "-80x24", "80x24x2", "2000x40", "80x501"] {
            assert_eq!(text.parse::<Size>(), Err(SizeError(text.to_owned())));
        }
        assert_eq!(
            "80".parse::<Size>().unwrap_err().to_string(),
            "\"80\" is not a terminal size: write COLUMNSxROWS such as 120x40, with 2 to 1000 columns and 1 to 500 rows"
        );
    }

    #[test]
    fn clamping_brings_any_request_into_range() {
        assert_eq!(Size::clamped(1, 0), Size { cols: 2, rows: 1 });
        assert_eq!(Size::clamped(u16::MAX, u16::MAX), Size { cols: 1000, rows: 500 });
    }
}
