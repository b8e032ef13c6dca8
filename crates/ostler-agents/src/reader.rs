//! Reading a screen with rules.
//!
//! Every row remembers which patterns it matches, so that only rows that were drawn since the last look are
//! matched again, and rules are weighed only when a match has come or gone.

mod composer;
mod motion;
mod passage;

use std::ops::Range;
use std::sync::Arc;

use ostler_core::detector::{Finding, Reading};
use ostler_screen::{Cursor, Modes, Screen};

use crate::region::{DIALOG_ROWS, Region};
use crate::rulebook::{MAX_PATTERNS, Rule, RuleBook, Test};

pub use composer::Composer;
pub(crate) use composer::is_frame;
use motion::{Print, Trace};
use passage::passage;

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
    /// One fingerprint per row, and one for the title: most of what is drawn was there before, there or in another
    /// row.
    prints: Vec<Option<Print>>,
    /// What each rule saw.
    traces: Vec<Trace>,
    /// A sign of work is there that has not moved yet.
    awaits_motion: bool,
    title: Option<String>,
    composer: Option<Composer>,
    cursor: Option<Cursor>,
    /// One or two blanks lie between the cursor and what stands before it.
    apart: bool,
    /// Nothing but a faint hint stands at the cursor and behind it.
    hint: bool,
    modes: Option<Modes>,
    reading: Reading,
    changed: Vec<u16>,
    text: String,
}

impl Reader {
    /// A reader that has seen nothing.
    pub fn new(book: Arc<RuleBook>) -> Self {
        Self {
            words: book.set.len().div_ceil(64).max(1),
            traces: book.rules.iter().map(|_| Trace::default()).collect(),
            book,
            bits: Vec::new(),
            blank: Vec::new(),
            prints: Vec::new(),
            awaits_motion: false,
            title: None,
            composer: None,
            cursor: None,
            apart: false,
            hint: false,
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

    pub(crate) fn book(&self) -> &RuleBook {
        &self.book
    }

    /// The composer at the last look.
    pub fn composer(&self) -> Option<&Composer> {
        self.composer.as_ref()
    }

    /// The row in which that begins which a rule saw at the last look: where it saw several things, each in the last
    /// row that has it, the topmost of these. Text that was written above a dialog is not where the dialog begins.
    pub fn begins(&self, rule: &str) -> Option<u16> {
        let rule = self.book.rules.iter().find(|known| &*known.id == rule)?;
        let mut begins = None;
        self.topmost(&rule.test, &mut begins);
        begins.and_then(|row| u16::try_from(row).ok())
    }

    fn topmost(&self, test: &Test, topmost: &mut Option<usize>) {
        match test {
            Test::Row { region, pattern } => {
                let on_screen = |row: &usize| *row < self.blank.len() && self.has(*row, *pattern);
                let last = self.rows(*region).filter(on_screen).max();
                *topmost = [*topmost, last].into_iter().flatten().min();
            }
            Test::All(tests) | Test::Any(tests) => tests.iter().for_each(|test| self.topmost(test, topmost)),
            _ => {}
        }
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

    /// The rows that were drawn before the last look.
    pub(crate) fn changed(&self) -> &[u16] {
        &self.changed
    }

    fn take_in(&mut self, screen: &Screen) -> bool {
        let rows = usize::from(screen.size().rows);
        let mut dirty = false;
        let mut changed = std::mem::take(&mut self.changed);
        if self.blank.len() != rows {
            self.blank = vec![true; rows];
            self.prints = vec![None; rows + 1];
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
            screen.title().unwrap_or_default().clone_into(&mut self.text);
            self.title = Some(self.text.clone());
            self.prints[rows] = Some(Print::of(&self.text));
            dirty |= self.matched(rows);
        }
        let (cursor, modes) = (screen.cursor(), screen.modes());
        let moved = self.cursor.is_none_or(|old| (old.row, old.visible) != (cursor.row, cursor.visible));
        let apart = matches!(screen.blanks_before_cursor(), Some(1..=2));
        let hint = screen.is_faint_behind_cursor();
        dirty |= moved || (self.apart, self.hint) != (apart, hint) || self.modes != Some(modes);
        (self.apart, self.hint) = (apart, hint);
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
        let print = Some(Print::of(&self.text));
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
        let has = |row, patterns: &[usize]| patterns.iter().any(|pattern| self.has(row, *pattern));
        let passage = index.saturating_sub(usize::from(passage::MAX_ROWS) - 1)..=index;
        differs
            || passage.into_iter().any(|row| has(row, &self.book.telling))
            || (self.awaits_motion && has(index, &self.book.hints))
    }

    fn has(&self, index: usize, pattern: usize) -> bool {
        self.bits[index * self.words + pattern / 64] >> (pattern % 64) & 1 == 1
    }

    /// Adds the rows that speak for a rule.
    fn seen(&self, test: &Test, seen: &mut Vec<usize>) {
        match test {
            Test::Row { region, pattern } => {
                seen.extend(self.rows(*region).filter(|row| self.has(*row, *pattern)));
            }
            Test::All(tests) | Test::Any(tests) => tests.iter().for_each(|test| self.seen(test, seen)),
            _ => {}
        }
    }

    fn findings(&mut self, screen: &Screen) -> Vec<Finding> {
        let book = self.book.clone();
        let mut own = false;
        let mut findings = Vec::new();
        for (index, rule) in book.rules.iter().enumerate() {
            // What holds for agents in general counts where this agent's own rules, which come first, say nothing.
            if (own && rule.general) || !self.holds(&rule.test) {
                self.traces[index] = Trace::default();
                continue;
            }
            own |= !rule.general;
            findings.push(self.finding(index, rule, screen));
        }
        self.awaits_motion = self.traces.iter().any(Trace::is_still);
        findings
    }

    fn finding(&mut self, index: usize, rule: &Rule, screen: &Screen) -> Finding {
        let mut seen = Vec::new();
        if rule.is_hint_of_work() || rule.is_told_apart() {
            self.seen(&rule.test, &mut seen);
        }
        let prints: Vec<Print> =
            seen.iter().filter_map(|row| self.prints.get(*row).copied().flatten()).collect();
        // Which rows a failure or an answer is in matters, not where they are.
        let print = |prints: &[Print]| prints.iter().fold(0_u64, |sum, print| sum.wrapping_add(print.hash));
        Finding {
            rule: rule.id.clone(),
            state: rule.state,
            kind: rule.kind.clone(),
            until: rule.until.and_then(|(region, pattern)| self.until(screen, region, pattern)),
            general: rule.general,
            certain: rule.certain,
            answered: rule.answered,
            print: if rule.is_told_apart() { print(&prints) } else { 0 },
            moving: rule.is_hint_of_work() && {
                let texts: Vec<String> = seen.iter().map(|row| self.row_text(screen, *row)).collect();
                self.traces[index].follow(&texts)
            },
        }
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
            Test::CursorApart(wanted) => self.apart == *wanted,
            Test::CursorHint(wanted) => self.hint == *wanted,
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
        let caught = |text: &str| {
            let captures = self.book.precise(pattern)?.captures(text)?;
            let until = captures.name("until")?.as_str().trim();
            (!until.is_empty()).then(|| until.to_owned())
        };
        let row = self.rows(region).find(|row| self.has(*row, pattern))?;
        let whole = u16::try_from(row).ok().filter(|row| *row < screen.size().rows);
        whole.and_then(|row| caught(&passage(screen, row))).or_else(|| caught(&self.row_text(screen, row)))
    }

    fn row_text(&self, screen: &Screen, row: usize) -> String {
        if row == self.blank.len() {
            return self.title.clone().unwrap_or_default();
        }
        let mut text = String::new();
        screen.read_row(u16::try_from(row).unwrap_or(u16::MAX), &mut text);
        text
    }

    /// The rows of a region; the title is behind the last.
    fn rows(&self, region: Region) -> impl Iterator<Item = usize> {
        let count = self.blank.len();
        let composer = self.composer.as_ref();
        let cursor = usize::from(self.cursor.unwrap_or_default().row).min(count.saturating_sub(1));
        let (range, limit) = match region {
            Region::Title => (count..count + 1, 1),
            Region::Screen => (0..count, count),
            Region::Top(limit) => return self.written(0..count, limit.into(), false),
            Region::Bottom(limit) => (0..count, limit.into()),
            Region::Status => (0..count, 1),
            Region::Cursor => (cursor..cursor + 1, 1),
            Region::AboveCursor => (cursor.saturating_sub(1)..cursor, 1),
            Region::BelowCursor => ((cursor + 1).min(count)..(cursor + 2).min(count), 1),
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
mod tests;
