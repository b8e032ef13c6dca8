//! What a screen shows of a text that was typed.
//!
//! Agents wrap text, indent it, compose its accents, replace its tabs, and draw frames around it. What they do not
//! change is its letters and digits, so these are compared; only text that has none is compared by everything that
//! can be seen of it.

use ostler_core::delivery::Sight;
use ostler_screen::Screen;
use regex::{Regex, RegexBuilder};
use unicode_normalization::UnicodeNormalization;

use crate::reader::is_frame;
use crate::rulebook::MAX_PROGRAM;
use crate::{Composer, RuleBook};

/// Letters of a text that are looked for where it cannot be seen whole.
const GLIMPSE: usize = 60;
/// A mark that does not tell a size can stand for no text shorter than this.
const MARKED: usize = 200;
/// Rows from which on a composer may hide the beginning of a text.
const TALL: usize = 5;

/// A text as it can be recognised on a screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// Its letters and digits.
    letters: String,
    /// Everything that can be seen of it, if it has no letters.
    marks: String,
    characters: usize,
    bytes: usize,
    wide: usize,
    lines: usize,
}

/// What an agent shows in place of a long text.
#[derive(Debug, Clone)]
pub struct Placeholder(Regex);

impl Placeholder {
    /// From a preset's pattern, whose groups `chars` and `lines` give the size of the text.
    pub fn new(pattern: &str) -> Option<Self> {
        RegexBuilder::new(pattern).size_limit(MAX_PROGRAM).build().ok().map(Self)
    }
}

impl Body {
    /// The text to look for.
    pub fn new(text: &str) -> Self {
        Self {
            letters: letters(text),
            marks: marks(text),
            characters: text.chars().count(),
            bytes: text.len(),
            wide: text.encode_utf16().count(),
            lines: text.matches('\n').count(),
        }
    }

    /// How much of it can be recognised.
    pub fn weight(&self) -> usize {
        self.letters.chars().count()
    }

    /// Whether this is the text that an agent says it took: its own words before and behind do not count.
    pub fn is_in(&self, told: &str) -> bool {
        if self.letters.is_empty() {
            marks(told).contains(&self.marks)
        } else {
            letters(told).contains(&self.letters)
        }
    }

    /// Whether an agent that took this text would say so in these words, and no others.
    pub fn is(&self, told: &str) -> bool {
        if self.letters.is_empty() {
            !self.marks.is_empty() && marks(told) == self.marks
        } else {
            letters(told) == self.letters
        }
    }

    /// What the composer shows of it; `earlier` are texts that may have been put back.
    pub fn sight(
        &self,
        screen: &Screen,
        book: &RuleBook,
        composer: &Composer,
        placeholder: Option<&Placeholder>,
        earlier: &[Body],
    ) -> Sight {
        if !composer.draft {
            return Sight::Empty;
        }
        let shown = composer_text(screen, book, composer);
        if let Some(Placeholder(pattern)) = placeholder
            && let Some(found) = pattern.captures(&shown)
        {
            let rest = pattern.replace(&shown, "");
            return if self.fits(&found) && letters(&rest).is_empty() { Sight::Ours } else { Sight::Foreign };
        }
        if self.is(&shown) {
            return Sight::Ours;
        }
        let seen = if self.letters.is_empty() { marks(&shown) } else { letters(&shown) };
        let whole = if self.letters.is_empty() { &self.marks } else { &self.letters };
        if seen.is_empty() {
            return Sight::Foreign;
        }
        if whole.ends_with(&seen) && composer.rows.len() >= TALL {
            // The beginning has left the composer at its top.
            return Sight::Ours;
        }
        if earlier.iter().any(|earlier| earlier.is(&shown)) {
            return Sight::Earlier;
        }
        if whole.contains(&seen) { Sight::Part } else { Sight::Foreign }
    }

    /// What the cursor's surroundings show of it, where no composer is known: the cursor is right behind it.
    pub fn sight_at_cursor(&self, screen: &Screen) -> Sight {
        let cursor = screen.cursor();
        let last = self.read(screen, cursor.row);
        if last.is_empty() {
            return Sight::Hidden;
        }
        let rows = cursor.row.saturating_sub(40)..cursor.row;
        let seen: String = rows.map(|row| self.read(screen, row)).chain([last]).collect();
        let whole = if self.letters.is_empty() { &self.marks } else { &self.letters };
        let skip = whole.chars().count().saturating_sub(GLIMPSE);
        let tail: String = whole.chars().skip(skip).collect();
        if seen.ends_with(&tail) { Sight::Ours } else { Sight::Hidden }
    }

    /// How often its beginning stands above a row.
    pub fn echoes(&self, screen: &Screen, above: usize) -> usize {
        let whole = if self.letters.is_empty() { &self.marks } else { &self.letters };
        let head: String = whole.chars().take(GLIMPSE).collect();
        let rows = u16::try_from(above).unwrap_or(u16::MAX).min(screen.size().rows);
        let seen: String = (0..rows).map(|row| self.read(screen, row)).collect();
        if head.is_empty() { 0 } else { seen.matches(head.as_str()).count() }
    }

    fn read(&self, screen: &Screen, row: u16) -> String {
        let mut text = String::new();
        screen.read_row(row, &mut text);
        if self.letters.is_empty() { marks(&text) } else { letters(&text) }
    }

    /// Whether a mark that tells a size stands for this text.
    fn fits(&self, found: &regex::Captures<'_>) -> bool {
        let number = |name| found.name(name).and_then(|group| group.as_str().parse::<usize>().ok());
        match (number("chars"), number("lines")) {
            (Some(count), _) => [self.characters, self.bytes, self.wide].contains(&count),
            // Some count line breaks, some lines; fewer of either is a text that was cut.
            (None, Some(lines)) => [self.lines, self.lines + 1].contains(&lines),
            (None, None) => self.characters >= MARKED,
        }
    }
}

/// What stands in the composer, without what stands before it and without faint text.
fn composer_text(screen: &Screen, book: &RuleBook, composer: &Composer) -> String {
    let mut shown = String::new();
    let mut text = String::new();
    for row in composer.rows.clone() {
        screen.read_solid_row(u16::try_from(row).unwrap_or(u16::MAX), &mut text);
        if book.is_empty_composer_row(&text) {
            continue;
        }
        let begin = if row == composer.rows.start { book.prompt_end(&text) } else { 0 };
        shown.push_str(&text[begin..]);
        shown.push('\n');
    }
    shown
}

fn letters(text: &str) -> String {
    text.nfc().filter(|character| character.is_alphanumeric()).collect()
}

fn marks(text: &str) -> String {
    let invisible = |character: char| matches!(character, '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' | '\u{2060}' | '\u{feff}');
    let blank = |character: char| character.is_whitespace() || invisible(character) || is_frame(character);
    text.nfc().filter(|character| !blank(*character)).collect()
}

#[cfg(test)]
#[path = "sight_tests.rs"]
mod tests;
