//! Reading a screen with rules.
//!
//! Every row remembers which patterns it matches, so that only rows that were drawn since the last look are
//! matched again, and rules are weighed only when a match has come or gone.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use ostler_core::detector::{Finding, Reading};
use ostler_screen::{Cursor, Modes, Screen};

use crate::region::{DIALOG_ROWS, Region};
use crate::rulebook::{ComposerPatterns, MAX_PATTERNS, RuleBook, Test};

/// Rows a composer may have.
const COMPOSER_ROWS: usize = 200;

/// One bit per pattern, as many as an agent may have.
type Bits = [u64; MAX_PATTERNS.div_ceil(64)];

/// Reads the screen of one session.
#[derive(Debug)]
pub struct Reader {
    book: Arc<RuleBook>,
    /// Words per bit set.
    words: usize,
    /// One bit set per row, and one for the title at the end.
    bits: Vec<u64>,
    blank: Vec<bool>,
    /// One fingerprint per row: most of what is drawn was there before, there or in another row.
    prints: Vec<Option<u64>>,
    title: Option<String>,
    composer: Option<Composer>,
    cursor: Option<Cursor>,
    modes: Option<Modes>,
    reading: Reading,
    changed: Vec<u16>,
    text: String,
}

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
    /// A reader that has seen nothing.
    pub fn new(book: Arc<RuleBook>) -> Self {
        Self {
            words: book.patterns.len().div_ceil(64).max(1),
            book,
            bits: Vec::new(),
            blank: Vec::new(),
            prints: Vec::new(),
            title: None,
            composer: None,
            cursor: None,
            modes: None,
            reading: Reading::default(),
            changed: Vec::new(),
            text: String::new(),
        }
    }

    /// What the rules saw at the last look.
    pub fn reading(&self) -> &Reading {
        &self.reading
    }

    /// The composer at the last look.
    pub fn composer(&self) -> Option<&Composer> {
        self.composer.as_ref()
    }

    /// Where the composer is at this very moment, also in the middle of a frame.
    pub fn glance(book: &Arc<RuleBook>, screen: &Screen) -> Option<Composer> {
        let mut reader = Self::new(book.clone());
        reader.take_in(screen);
        reader.composer
    }

    /// Looks at the screen; returns whether it reads differently.
    pub fn look(&mut self, screen: &mut Screen) -> bool {
        self.changed.clear();
        screen.drain_changes(&mut self.changed);
        self.take_in(screen)
    }

    fn take_in(&mut self, screen: &Screen) -> bool {
        let rows = usize::from(screen.size().rows);
        let mut dirty = false;
        let mut changed = std::mem::take(&mut self.changed);
        if self.blank.len() != rows {
            self.blank = vec![true; rows];
            self.prints = vec![None; rows];
            self.bits = vec![0; (rows + 1) * self.words];
            self.title = None;
            changed.clear();
            changed.extend(0..screen.size().rows);
            dirty = true;
        }
        let mut redrawn_composer = false;
        for row in &changed {
            let index = usize::from(*row);
            screen.read_row(*row, &mut self.text);
            dirty |= self.drawn(index);
            redrawn_composer |= self.composer.as_ref().is_some_and(|composer| composer.rows.contains(&index));
        }
        self.changed = changed;
        if self.title.as_deref() != Some(screen.title().unwrap_or_default()) {
            self.text = screen.title().unwrap_or_default().to_owned();
            self.title = Some(self.text.clone());
            dirty |= self.matched(rows);
        }
        let (cursor, modes) = (screen.cursor(), screen.modes());
        let moved = self.cursor.is_none_or(|old| (old.row, old.visible) != (cursor.row, cursor.visible));
        dirty |= moved || self.modes != Some(modes);
        (self.cursor, self.modes) = (Some(cursor), Some(modes));
        if !dirty && !redrawn_composer {
            return false;
        }
        self.composer = self.book.composer.as_ref().and_then(|patterns| self.find_composer(patterns, screen));
        let reading = Reading {
            findings: self.findings(screen),
            draft: self.composer.as_ref().map(|composer| composer.draft),
        };
        let differs = reading != self.reading;
        self.reading = reading;
        differs
    }

    /// Takes in the text at hand as that of a row; returns whether anything is different for this row.
    fn drawn(&mut self, index: usize) -> bool {
        let mut hasher = DefaultHasher::new();
        self.text.hash(&mut hasher);
        let print = Some(hasher.finish());
        if self.prints[index] == print {
            return false;
        }
        let known = self.prints.iter().position(|other| *other == print);
        self.prints[index] = print;
        let blank = self.text.is_empty();
        let differs = std::mem::replace(&mut self.blank[index], blank) != blank;
        match known {
            Some(other) => {
                let mut bits = Bits::default();
                bits[..self.words].copy_from_slice(&self.bits[other * self.words..(other + 1) * self.words]);
                self.keep(index, bits) || differs
            }
            None => self.matched(index) || differs,
        }
    }

    /// Matches the text at hand; returns whether anything is different for this row.
    fn matched(&mut self, index: usize) -> bool {
        let mut fresh = Bits::default();
        for pattern in &self.book.set.matches(&self.text) {
            fresh[pattern / 64] |= 1 << (pattern % 64);
        }
        self.keep(index, fresh)
    }

    fn keep(&mut self, index: usize, fresh: Bits) -> bool {
        let bits = &mut self.bits[index * self.words..(index + 1) * self.words];
        let mut differs = false;
        for (old, new) in bits.iter_mut().zip(fresh) {
            differs |= *old != new;
            *old = new;
        }
        // The match is the same, what it tells may not be.
        differs || self.book.telling.iter().any(|pattern| self.has(index, *pattern))
    }

    fn has(&self, index: usize, pattern: usize) -> bool {
        self.bits[index * self.words + pattern / 64] >> (pattern % 64) & 1 == 1
    }

    fn findings(&self, screen: &Screen) -> Vec<Finding> {
        let mut own = false;
        let rules = self.book.rules.iter().filter(|rule| {
            // What holds for agents in general counts where this agent's own rules, which come first, say nothing.
            let holds = !(own && rule.general) && self.holds(&rule.test);
            own |= holds && !rule.general;
            holds
        });
        rules
            .map(|rule| Finding {
                rule: rule.id.clone(),
                state: rule.state,
                kind: rule.kind.clone(),
                until: rule.until.and_then(|(region, pattern)| self.until(screen, region, pattern)),
                general: rule.general,
                certain: rule.certain,
            })
            .collect()
    }

    fn holds(&self, test: &Test) -> bool {
        let (cursor, modes) = (self.cursor.unwrap_or_default(), self.modes.unwrap_or_default());
        match test {
            Test::Row { region, pattern } => self.rows(*region).any(|row| self.has(row, *pattern)),
            Test::All(tests) => tests.iter().all(|test| self.holds(test)),
            Test::Any(tests) => tests.iter().any(|test| self.holds(test)),
            Test::None(tests) => !tests.iter().any(|test| self.holds(test)),
            Test::Composer(wanted) => self.composer.is_some() == *wanted,
            Test::Draft(wanted) => self.composer.as_ref().is_some_and(|composer| composer.draft == *wanted),
            Test::CursorVisible(wanted) => cursor.visible == *wanted,
            Test::CursorInComposer(wanted) => {
                self.composer
                    .as_ref()
                    .is_some_and(|composer| composer.rows.contains(&usize::from(cursor.row)))
                    == *wanted
            }
            Test::BracketedPaste(wanted) => modes.bracketed_paste == *wanted,
            Test::AlternateScreen(wanted) => modes.alternate_screen == *wanted,
        }
    }

    fn until(&self, screen: &Screen, region: Region, pattern: usize) -> Option<String> {
        let row = self.rows(region).find(|row| self.has(*row, pattern))?;
        let text = if row == self.blank.len() {
            self.title.clone().unwrap_or_default()
        } else {
            let mut text = String::new();
            screen.read_row(u16::try_from(row).unwrap_or(u16::MAX), &mut text);
            text
        };
        let captures = self.book.patterns[pattern].captures(&text)?;
        captures.name("until").map(|until| until.as_str().trim().to_owned()).filter(|until| !until.is_empty())
    }

    /// The rows of a region; the title is behind the last.
    fn rows(&self, region: Region) -> impl Iterator<Item = usize> {
        let count = self.blank.len();
        let composer = self.composer.as_ref();
        let (range, limit) = match region {
            Region::Title => (count..count + 1, 1),
            Region::Screen => (0..count, count),
            Region::Top(limit) => return self.written(0..count, limit.into(), false),
            Region::Bottom(limit) => (0..count, limit.into()),
            Region::Status => (0..count, 1),
            Region::Cursor => {
                let row = usize::from(self.cursor.unwrap_or_default().row).min(count.saturating_sub(1));
                (row..row + 1, 1)
            }
            Region::Composer => (composer.map_or(0..0, |composer| composer.rows.clone()), count),
            Region::Above(limit) => (0..composer.map_or(0, |composer| composer.framed.start), limit.into()),
            Region::Below => (composer.map_or(count, |composer| composer.framed.end)..count, count),
            Region::Dialog if composer.is_some() => (0..0, 0),
            Region::Dialog => (0..count, DIALOG_ROWS.into()),
        };
        self.written(range, limit, true)
    }

    /// The rows of a range that are not blank, from its end or from its begin.
    fn written(&self, range: Range<usize>, limit: usize, from_end: bool) -> Rows<'_> {
        Rows { blank: &self.blank, range, left: limit, from_end }
    }

    /// Finds the composer: the lowest place that looks like one.
    fn find_composer(&self, patterns: &ComposerPatterns, screen: &Screen) -> Option<Composer> {
        let count = self.blank.len();
        let has = |row: usize, pattern: Option<usize>| pattern.is_none_or(|pattern| self.has(row, pattern));
        let place = (0..count).rev().find_map(|first| {
            if !self.has(first, patterns.row) || (patterns.above.is_some() && first == 0) {
                return None;
            }
            let top = first - usize::from(patterns.above.is_some());
            if !has(top, patterns.above) {
                return None;
            }
            let limit = count.min(first + COMPOSER_ROWS);
            let place = if let Some(below) = patterns.below {
                let end = (first + 1..limit).find(|row| self.has(*row, below))?;
                (first..end, top..end + 1)
            } else {
                let end = (first + 1..limit).find(|row| self.blank[*row]).unwrap_or(limit);
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
            let prompt = self.book.patterns[patterns.row].find(&text).filter(|_| row == rows.start);
            let written = &text[prompt.map_or(0, |prompt| prompt.end())..];
            !empty && written.contains(|character: char| !character.is_whitespace() && !is_frame(character))
        });
        Some(Composer { rows, framed, draft })
    }
}

/// Whether a character is for drawing lines and boxes.
pub(crate) fn is_frame(character: char) -> bool {
    ('\u{2500}'..='\u{259f}').contains(&character)
}

/// Rows that are not blank, in the order in which they are looked at.
struct Rows<'a> {
    blank: &'a [bool],
    range: Range<usize>,
    left: usize,
    from_end: bool,
}

impl Iterator for Rows<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        let blank = self.blank;
        let written = |row: &usize| !blank.get(*row).copied().unwrap_or(false);
        let next = if self.from_end { self.range.rfind(written) } else { self.range.find(written) };
        self.left -= 1;
        next
    }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
