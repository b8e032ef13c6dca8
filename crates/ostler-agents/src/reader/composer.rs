//! Where prompts are written.

use std::ops::Range;

use ostler_screen::Screen;

use super::Reader;
use crate::rulebook::ComposerPatterns;

/// Rows a composer may have.
const COMPOSER_ROWS: usize = 200;

/// Where the composer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composer {
    /// Its rows.
    pub rows: Range<usize>,
    /// Its rows with the rows of its frame.
    pub framed: Range<usize>,
    /// Something is written in it.
    pub draft: bool,
}

impl Reader {
    /// Finds the composer: the lowest place that looks like one.
    pub(super) fn find_composer(&self, patterns: &ComposerPatterns, screen: &Screen) -> Option<Composer> {
        // In the middle of a frame it may be hidden for a moment.
        let drawing = self.modes.is_some_and(|modes| modes.synchronized);
        if patterns.shows_cursor && !drawing && !self.cursor.is_some_and(|cursor| cursor.visible) {
            return None;
        }
        let count = self.blank.len();
        let bounds =
            |row: usize, pattern: usize| self.has(row, pattern) && (!patterns.wide || spans(screen, row));
        let place = (0..count).rev().find_map(|first| {
            if !self.has(first, patterns.row) || (patterns.above.is_some() && first == 0) {
                return None;
            }
            let top = first - usize::from(patterns.above.is_some());
            if patterns.above.is_some_and(|above| !bounds(top, above)) {
                return None;
            }
            let limit = count.min(first + COMPOSER_ROWS);
            let place = if let Some(below) = patterns.below {
                let end = (first + 1..limit).find(|row| bounds(*row, below))?;
                (first..end, top..end + 1)
            } else {
                let last = self.reach(first, patterns.more).unwrap_or(first);
                let end = (last + 1..limit).find(|row| self.blank[*row]).unwrap_or(limit);
                (first..end, top..end)
            };
            let cursor = usize::from(self.cursor.unwrap_or_default().row);
            (!patterns.has_cursor || place.0.contains(&cursor)).then_some(place)
        });
        let (mut rows, mut framed) = place?;
        if patterns.above.is_none() {
            // Without a frame above, every row that looks like the first belongs to it.
            while rows.start > 0 && self.has(rows.start - 1, patterns.row) {
                rows.start -= 1;
                framed.start -= 1;
            }
        }
        let mut text = String::new();
        let draft = rows.clone().any(|row| {
            screen.read_solid_row(u16::try_from(row).unwrap_or(u16::MAX), &mut text);
            let empty = patterns.empty.is_some_and(|empty| self.has(row, empty));
            let prompt = if row == rows.start { self.book.prompt_end(&text) } else { 0 };
            let written = &text[prompt..];
            !empty && written.contains(|character: char| !character.is_whitespace() && !is_frame(character))
        });
        Some(Composer { rows, framed, draft })
    }

    /// The cursor's row, if nothing but rows of a composer lies between it and this one.
    fn reach(&self, first: usize, more: Option<usize>) -> Option<usize> {
        let (more, cursor) = (more?, self.cursor.filter(|cursor| cursor.visible)?);
        let last = usize::from(cursor.row).min(self.blank.len().saturating_sub(1));
        let between = (first + 1..=last).all(|row| self.blank[row] || self.has(row, more));
        (last > first && between).then_some(last)
    }
}

/// Whether a row goes to the last column.
fn spans(screen: &Screen, row: usize) -> bool {
    let mut text = String::new();
    screen.read_row(u16::try_from(row).unwrap_or(u16::MAX), &mut text);
    text.trim_end().chars().count() >= usize::from(screen.size().cols)
}

/// Whether a character is for drawing lines and boxes.
pub(crate) fn is_frame(character: char) -> bool {
    ('\u{2500}'..='\u{259f}').contains(&character)
}
