//! What a screen shows of a text that was typed.
//!
//! Agents wrap text, indent it, compose its accents, replace its tabs, and draw frames around it. What they do not
//! change is its letters and digits, so a text is known by these; and the signs of ASCII and its line breaks, so these
//! say whether it is whole. Of scripts whose letters join, programs and terminals differ on how wide a text is, and one
//! letter is drawn over another. Such letters, and other signs, count only in a text that has nothing else, and then most
//! of them have to be there.

use ostler_core::delivery::ComposerView;
use ostler_screen::Screen;
use regex::{Regex, RegexBuilder};
use unicode_normalization::UnicodeNormalization;

use crate::reader::is_frame;
use crate::rulebook::MAX_PROGRAM;
use crate::wording::{Likeness, ShownRow, Wording, is_visible};
use crate::{Composer, RuleBook};

/// Letters of a text that are looked for where it cannot be seen whole.
const GLIMPSE: usize = 60;
/// Letters that are enough to know a text by.
const TELLING: usize = 8;
/// A mark that does not tell a size can stand for no text shorter than this.
const MARKED: usize = 200;
/// Rows from which on a composer may hide the beginning of a text.
const TALL: usize = 5;

/// A text as it can be recognised on a screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// Its letters and digits.
    letters: String,
    /// Everything that can be seen of it.
    wording: Wording,
    /// What of it every program draws as it is: letters that it measures alike, and the signs of ASCII.
    drawn: Wording,
    /// The signs with which some draw the frames in it.
    frames: String,
    /// What is looked for on a screen.
    essence: Essence,
    characters: usize,
    bytes: usize,
    wide: usize,
    lines: usize,
    /// Without blank lines around it.
    inner_lines: usize,
    tabs: bool,
    /// Its last line is a blank one.
    ends_blank: bool,
    /// The mark that was seen in its place.
    mark: Option<String>,
}

/// What of a text is surely drawn where it is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Essence {
    /// Letters and digits that every program measures alike.
    Plain(String),
    /// Other letters.
    Joined(String),
    /// Signs.
    Signs(String),
}

impl Essence {
    fn new(text: &str) -> Self {
        let letters = letters(text);
        let plain: String = letters.chars().filter(|letter| is_plain(*letter)).collect();
        if !plain.is_empty() {
            Self::Plain(plain)
        } else if !letters.is_empty() {
            Self::Joined(letters)
        } else {
            Self::Signs(marks(text))
        }
    }

    fn as_str(&self) -> &str {
        match self {
            Self::Plain(text) | Self::Joined(text) | Self::Signs(text) => text,
        }
    }

    /// The same of another text.
    fn of(&self, text: &str) -> String {
        match self {
            Self::Plain(_) => letters(text).chars().filter(|letter| is_plain(*letter)).collect(),
            Self::Joined(_) => letters(text),
            Self::Signs(_) => marks(text),
        }
    }

    /// Whether this text is the same, as far as can be told from a screen.
    fn is(&self, shown: &str) -> bool {
        let seen = self.of(shown);
        match self {
            Self::Plain(whole) => seen == *whole,
            Self::Signs(whole) if whole.is_ascii() => seen == *whole,
            Self::Joined(whole) | Self::Signs(whole) => {
                let foreign = |character: char| is_plain(character) && character.is_alphanumeric();
                seen == *whole || (!seen.contains(foreign) && is_mostly(&seen, whole))
            }
        }
    }

    /// Whether this is a telling part of it.
    fn has_part(&self, shown: &str) -> bool {
        let seen = self.of(shown);
        seen.chars().count() >= TELLING && self.as_str().contains(&seen)
    }
}

/// Whether most of a text is seen, and little else.
fn is_mostly(seen: &str, whole: &str) -> bool {
    let mut missing: Vec<char> = whole.chars().collect();
    let (size, shown) = (missing.len(), seen.chars().count());
    let mut common = 0;
    for character in seen.chars() {
        if let Some(at) = missing.iter().position(|other| *other == character) {
            missing.swap_remove(at);
            common += 1;
        }
    }
    common * 3 >= size * 2 && common * 3 >= shown * 2
}

/// Whether a letter is as wide to every program: no script whose letters join, and none that is written from the
/// right.
fn is_plain(letter: char) -> bool {
    !matches!(u32::from(letter),
        0x0300..=0x036f | 0x0590..=0x11ff | 0x1700..=0x1cff | 0xa800..=0xabff | 0xd7b0..=0xd7ff | 0xfb1d..=0xfdff
        | 0xfe70..=0xfeff | 0x1_0000..=0x1_ffff)
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

/// Where a program of which nothing is known waits for input: the row of its cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    row: String,
    column: u16,
}

impl Prompt {
    /// The row of the cursor as it is now.
    pub fn at_cursor(screen: &Screen) -> Self {
        let cursor = screen.cursor();
        let mut row = String::new();
        screen.read_solid_row(cursor.row, &mut row);
        row.truncate(row.trim_end().len());
        Self { row, column: cursor.col }
    }
}

impl Body {
    /// The text to look for.
    pub fn new(text: &str) -> Self {
        let frames: String = text.chars().filter_map(frame_sign).collect();
        Self {
            letters: letters(text),
            wording: Wording::visible(text),
            drawn: Wording::new(text, |character| is_drawn(character, &frames)),
            frames,
            essence: Essence::new(text),
            characters: text.chars().count(),
            bytes: text.len(),
            wide: text.encode_utf16().count(),
            lines: text.matches('\n').count(),
            inner_lines: text.trim().matches('\n').count(),
            tabs: text.contains('\t'),
            ends_blank: text.ends_with('\n'),
            mark: None,
        }
    }

    /// The same text, of which it is known that this mark stood in its place.
    #[must_use]
    pub fn marked(self, mark: Option<String>) -> Self {
        Self { mark, ..self }
    }

    /// The mark that stands in the composer in place of this text, if one does.
    pub fn mark_in(
        &self,
        screen: &Screen,
        book: &RuleBook,
        composer: &Composer,
        placeholder: Option<&Placeholder>,
    ) -> Option<String> {
        let shown = text_of(&self.composer_rows(screen, book, composer, true));
        let found = placeholder.and_then(|Placeholder(pattern)| pattern.find(&shown));
        found.map(|found| found.as_str().to_owned())
    }

    /// How much of it can be recognised.
    pub fn weight(&self) -> usize {
        self.letters.chars().count()
    }

    /// Whether this is the text that an agent says it took: its own words before and behind do not count.
    pub fn is_in(&self, told: &str) -> bool {
        if self.letters.is_empty() {
            marks(told).contains(self.wording.as_str())
        } else {
            letters(told).contains(&self.letters)
        }
    }

    /// Whether an agent that took this text would say so in these words, and no others.
    pub fn is(&self, told: &str) -> bool {
        if self.letters.is_empty() {
            !self.wording.as_str().is_empty() && marks(told) == self.wording.as_str()
        } else {
            letters(told) == self.letters
        }
    }

    /// How the prompt that an agent says it took compares with this text.
    pub fn compare(&self, told: &str) -> Likeness {
        self.wording.compare(&self.letters, told, &letters(told))
    }

    /// Whether another text reads the same.
    pub fn reads_like(&self, other: &Self) -> bool {
        if self.letters.is_empty() { self.wording == other.wording } else { self.letters == other.letters }
    }

    /// What the composer shows of it; `earlier` are texts that may have been put back.
    pub fn sight(
        &self,
        screen: &Screen,
        book: &RuleBook,
        composer: &Composer,
        placeholder: Option<&Placeholder>,
        earlier: &[Body],
    ) -> ComposerView {
        if !composer.draft {
            return ComposerView::Empty;
        }
        let rows = self.composer_rows(screen, book, composer, true);
        // A text may look like what an empty composer says.
        let every = self.composer_rows(screen, book, composer, false);
        let mut letters_stand =
            [&rows, &every].into_iter().filter(|rows| self.essence.is(&text_of(rows))).peekable();
        if letters_stand.peek().is_some() {
            let whole = letters_stand.any(|rows| self.has_signs(rows, true));
            return if whole { ComposerView::Ours } else { ComposerView::Garbled };
        }
        let shown = text_of(&rows);
        if let Some(Placeholder(pattern)) = placeholder
            && let Some(found) = pattern.captures(&shown)
        {
            let alone = letters(&pattern.replace(&shown, "")).is_empty();
            let mark = Some(&found[0]);
            // Some leave it there although they took the text.
            let left = |body: &Body| body.mark.as_deref() == mark;
            return match alone {
                true if self.mark.is_none() && earlier.iter().any(left) => ComposerView::Earlier,
                true if self.fits(&found) => ComposerView::Ours,
                _ => ComposerView::Foreign,
            };
        }
        let (seen, whole) = (self.essence.of(&shown), self.essence.as_str());
        if seen.is_empty() {
            return ComposerView::Foreign;
        }
        if self.is_cut(&rows) {
            let signs = self.has_signs(&rows, false);
            return if signs { ComposerView::Ours } else { ComposerView::Garbled };
        }
        if earlier.iter().any(|earlier| earlier.essence.is(&shown) || earlier.essence.has_part(&shown)) {
            return ComposerView::Earlier;
        }
        if whole.contains(&seen) { ComposerView::Part } else { ComposerView::Foreign }
    }

    /// Whether its beginning has left the composer at its top, so that only its end can be seen.
    pub fn shows_only_end(&self, screen: &Screen, book: &RuleBook, composer: &Composer) -> bool {
        let rows = self.composer_rows(screen, book, composer, true);
        self.is_cut(&rows) && !self.essence.is(&text_of(&rows))
    }

    fn is_cut(&self, rows: &[ShownRow]) -> bool {
        let seen = self.essence.of(&text_of(rows));
        let written = |row: &&ShownRow| !row.text.trim().is_empty();
        // Where there is room below, nothing had to leave.
        let full = rows.last().as_ref().is_some_and(written) || self.ends_blank;
        !seen.is_empty()
            && full
            && rows.iter().filter(written).count() >= TALL
            && self.essence.as_str().ends_with(&seen)
    }

    /// What the cursor's surroundings show of it, where no composer is known: the cursor is right behind it, or back
    /// where it was before.
    pub fn sight_at_cursor(&self, screen: &Screen, before: Option<&Prompt>) -> ComposerView {
        if before.is_some_and(|before| !before.row.is_empty() && Prompt::at_cursor(screen) == *before) {
            return ComposerView::Empty;
        }
        let cursor = screen.cursor();
        let last = self.read(screen, cursor.row);
        if last.is_empty() {
            return ComposerView::Hidden;
        }
        let rows = cursor.row.saturating_sub(40)..cursor.row;
        let seen: String = rows.map(|row| self.read(screen, row)).chain([last]).collect();
        let whole = self.essence.as_str();
        let skip = whole.chars().count().saturating_sub(GLIMPSE);
        let tail: String = whole.chars().skip(skip).collect();
        match seen.ends_with(&tail) {
            true if self.ends_at_cursor(screen) => ComposerView::Ours,
            true => ComposerView::Garbled,
            false => ComposerView::Hidden,
        }
    }

    /// Whether the row of the cursor has the signs that the text ends with, as far as they belong there. Behind the cursor
    /// other things may stand.
    fn ends_at_cursor(&self, screen: &Screen) -> bool {
        let Essence::Plain(_) = self.essence else { return true };
        let (mut row, cursor) = (String::new(), screen.cursor());
        screen.read_solid_row(cursor.row, &mut row);
        let before: String = row.chars().take(cursor.col.into()).collect();
        let drawn = |text: &str| -> String { text.nfc().filter(|sign| self.is_drawn(*sign)).collect() };
        self.drawn.ends(&drawn(&before)) || self.drawn.ends(&drawn(&row))
    }

    fn is_drawn(&self, character: char) -> bool {
        is_drawn(character, &self.frames)
    }

    /// Whether rows whose letters are those of this text have its signs and line breaks, too.
    fn has_signs(&self, rows: &[ShownRow], whole: bool) -> bool {
        let plain = matches!(self.essence, Essence::Plain(_));
        !plain || self.drawn.stands_in(rows, |character| self.is_drawn(character), whole)
    }

    /// How often its beginning stands above a row.
    pub fn echoes(&self, screen: &Screen, above: usize) -> usize {
        let whole = self.essence.as_str();
        let head: String = whole.chars().take(GLIMPSE).collect();
        let rows = u16::try_from(above).unwrap_or(u16::MAX).min(screen.size().rows);
        let seen: Vec<String> = (0..rows).map(|row| self.read(screen, row)).collect();
        // A few letters stand everywhere; in rows of their own they are meant.
        if head.chars().count() < TELLING {
            return (0..seen.len()).filter(|row| begins_with(&seen[*row..], &head)).count();
        }
        seen.concat().matches(head.as_str()).count()
    }

    fn read(&self, screen: &Screen, row: u16) -> String {
        let mut text = String::new();
        screen.read_row(row, &mut text);
        self.essence.of(&text)
    }

    /// What stands in the composer, without faint text; and, if so wished, without rows that look as they do when
    /// nothing is written.
    fn composer_rows(
        &self,
        screen: &Screen,
        book: &RuleBook,
        composer: &Composer,
        solid: bool,
    ) -> Vec<ShownRow> {
        let mut text = String::new();
        // Without a frame, every line of a text may stand behind the prompt.
        let repeats = composer.framed == composer.rows;
        let mut rows = Vec::new();
        for row in composer.rows.clone() {
            screen.read_solid_row(u16::try_from(row).unwrap_or(u16::MAX), &mut text);
            if solid && book.is_empty_composer_row(&text) {
                continue;
            }
            let begin = if row == composer.rows.start || repeats { book.prompt_end(&text) } else { 0 };
            let (prompt, written) = text.split_at(begin);
            // Some show control characters by their names.
            let text = if self.tabs { written.replace("^I", "\t") } else { written.to_owned() };
            rows.push(ShownRow { prompt: prompt.to_owned(), text });
        }
        rows
    }

    /// Whether a mark that tells a size stands for this text.
    fn fits(&self, found: &regex::Captures<'_>) -> bool {
        let number = |name| found.name(name).and_then(|group| group.as_str().parse::<usize>().ok());
        match (number("chars"), number("lines")) {
            (Some(count), _) => [self.characters, self.bytes, self.wide].contains(&count),
            // Some count line breaks, some lines, some leave out blank ones around it; fewer is a text that was cut.
            (None, Some(count)) => {
                [self.lines, self.lines + 1, self.inner_lines, self.inner_lines + 1].contains(&count)
            }
            (None, None) => self.characters >= MARKED,
        }
    }
}

/// Whether a text begins in the first row and stands there and in the next ones alone.
fn begins_with(rows: &[String], text: &str) -> bool {
    let mut left = text;
    for row in rows {
        let Some(rest) = left.strip_prefix(row.as_str()) else { return false };
        if rest.is_empty() || rest.len() == text.len() {
            return rest.len() < text.len();
        }
        left = rest;
    }
    false
}

fn text_of(rows: &[ShownRow]) -> String {
    rows.iter().flat_map(|row| [row.text.as_str(), "\n"]).collect()
}

/// Whether every program draws a character as it is; those are left out with which some draw frames.
fn is_drawn(character: char, frames: &str) -> bool {
    let drawn = character.is_ascii_punctuation() || (character.is_alphanumeric() && is_plain(character));
    drawn && !frames.contains(character)
}

/// The sign with which some draw a part of a frame.
fn frame_sign(character: char) -> Option<char> {
    match character {
        '─' | '━' | '╌' | '╍' | '┄' | '┅' | '┈' | '┉' => Some('-'),
        '═' => Some('='),
        '│' | '┃' | '║' | '╎' | '╏' | '┆' | '┇' | '┊' | '┋' => Some('|'),
        _ => is_frame(character).then_some('+'),
    }
}

fn letters(text: &str) -> String {
    text.nfc().filter(|character| character.is_alphanumeric()).collect()
}

fn marks(text: &str) -> String {
    text.nfc().filter(|character| is_visible(*character)).collect()
}

#[cfg(test)]
mod tests;
