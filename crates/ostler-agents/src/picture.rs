//! What of a picture is new.
//!
//! Programs draw without having anything to say: a clock goes on, a cursor blinks, everything is drawn again as it
//! was. Whoever waits for a program to be quiet must not wait for that to end. So a picture is new where other words
//! are in it, or where something moves that did not move while nothing had been asked of the program.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;
use std::time::Duration;

use ostler_core::Steady;
use ostler_screen::{Screen, Span};
use regex::Regex;

/// What comes back no sooner than this keeps time or blinks; animations are faster.
const SLOW: Duration = Duration::from_millis(350);
/// Rows that keep time, by their words; a program has few of them.
const MOST: usize = 64;

/// The time of day. What counts from zero may be a turn's.
static CLOCK: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?-u:\b)(?:0?[1-9]|1[0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?-u:\b)").ok());

/// The rows of a screen as they were looked at last.
#[derive(Debug, Default)]
pub(crate) struct Picture {
    rows: Vec<Row>,
    title: Option<u64>,
    /// When rows with these words began to tick.
    ticking: HashMap<u64, Begun>,
}

/// One row.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// How it looks, with its colours, whatever the time of day.
    look: u64,
    /// Its words. Numbers and signs count, turn and blink.
    words: u64,
    /// When it came to look otherwise.
    changed: Option<Steady>,
}

/// What went on when something began to tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begun {
    /// Nothing: it tells the time.
    AtRest,
    /// Something: it may count how long that takes.
    AtWork,
}

impl Row {
    fn blank(index: u16) -> Self {
        Self { look: look("", &[]), words: words("", index), changed: None }
    }
}

impl Picture {
    /// Takes in the rows that were drawn until `at`; returns whether they say something new. `at_rest` says that nothing
    /// has been asked of the program that could be under way.
    pub(crate) fn take(&mut self, screen: &Screen, drawn: &[u16], at: Steady, at_rest: bool) -> bool {
        let rows = screen.size().rows;
        if self.rows.len() != usize::from(rows) {
            self.rows = (0..rows).map(Row::blank).collect();
        }
        let mut news = false;
        for row in drawn {
            news |= self.take_row(screen, *row, at, at_rest);
        }
        let title = Some(words(screen.title().unwrap_or_default(), 0));
        news | (std::mem::replace(&mut self.title, title) != title)
    }

    fn take_row(&mut self, screen: &Screen, index: u16, at: Steady, at_rest: bool) -> bool {
        let Some(row) = self.rows.get_mut(usize::from(index)) else { return false };
        let shown = screen.row(index);
        let new = Row {
            look: look(&shown.text, &shown.spans),
            words: words(&shown.text, index),
            changed: Some(at),
        };
        if row.look == new.look {
            return false;
        }
        let old = std::mem::replace(row, new);
        if old.words != new.words {
            return true;
        }
        if old.changed.is_none_or(|changed| at.since(changed) < SLOW) {
            self.ticking.remove(&new.words);
            return true;
        }
        if self.ticking.len() < MOST {
            self.ticking.entry(new.words).or_insert(if at_rest { Begun::AtRest } else { Begun::AtWork });
        }
        self.ticking.get(&new.words) != Some(&Begun::AtRest)
    }
}

fn look(text: &str, spans: &[Span]) -> u64 {
    let mut hasher = DefaultHasher::new();
    match CLOCK.as_ref().filter(|_| text.contains(':')) {
        Some(clock) => clock.replace_all(text, "").hash(&mut hasher),
        None => text.hash(&mut hasher),
    }
    spans.hash(&mut hasher);
    hasher.finish()
}

/// Rows without any word are told from each other by their place.
fn words(text: &str, index: u16) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut last = ' ';
    for character in text.chars().filter(|character| character.is_alphanumeric()) {
        let character = if character.is_numeric() { '0' } else { character };
        if character != '0' || last != '0' {
            character.hash(&mut hasher);
        }
        last = character;
    }
    if last == ' ' {
        index.hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_screen::Size;

    /// Draws at the moments given and returns whether each said something new.
    fn news(at_rest: bool, frames: &[(u64, &str)]) -> Vec<bool> {
        let (mut screen, mut picture) = (Screen::new(Size::clamped(40, 5), 0), Picture::default());
        let mut take = |(at, text): &(u64, &str)| {
            screen.feed(text.as_bytes());
            let mut drawn = Vec::new();
            screen.drain_changes(&mut drawn);
            picture.take(&screen, &drawn, Steady(*at), at_rest)
        };
        frames.iter().map(&mut take).collect()
    }

    #[test]
    fn what_is_drawn_without_news() {
        let first = (0, "\x1b[2J\x1b[Hchat\r\n> \x1b[5;1H\x1b[7m ready 14:03:22 \x1b[m up 3s");
        let table: &[(&str, u64, bool)] = &[
            // The same again, however it is drawn.
            ("\x1b[2J\x1b[Hchat\r\n> \x1b[5;1H\x1b[7m ready 14:03:22 \x1b[m up 3s", 50, false),
            ("\x1b[?25l\x1b[?25h\x07\x1b[3;3H", 50, false),
            // The time of day, at any moment.
            ("\x1b[5;1H\x1b[7m ready 14:03:23 ", 50, false),
            // What counts slowly, and what blinks.
            ("\x1b[5;1H\x1b[7m ready 14:03:23 \x1b[m up 4s", 1000, false),
            ("\x1b[2;1H> \x1b[7m ", 500, false),
            ("\x1b[2;1H> _", 500, false),
            // What counts fast, as animations do.
            ("\x1b[5;1H\x1b[7m ready 14:03:23 \x1b[m up 4s", 80, true),
            // Other words.
            ("\x1b[5;1H\x1b[7m busy 14:03:23 \x1b[m up 3s ", 1000, true),
            ("\x1b[3;1Hhello", 1000, true),
            ("\x1b[1;1H\x1b[K", 1000, true),
            ("\x1b]0;other\x07", 1000, true),
        ];
        for (frame, at, new) in table {
            assert_eq!(news(true, &[first, (*at, frame)]), [true, *new], "{frame:?}");
        }
    }

    #[test]
    fn what_began_to_tick_at_work_may_be_work() {
        let tick = |second: u64, word: &str| (second * 1000, format!("\r{word} {second}s"));
        let play = |at_rest: bool, word: &str| {
            let frames: Vec<_> = (0..4).map(|second| tick(second, word)).collect();
            let frames: Vec<_> = frames.iter().map(|(at, text)| (*at, text.as_str())).collect();
            news(at_rest, &frames)
        };
        assert_eq!(play(true, "up"), [true, false, false, false]);
        assert_eq!(play(false, "thinking"), [true; 4]);
    }

    #[test]
    fn what_ticked_at_rest_goes_on_at_work_and_a_counter_of_work_stays_one() {
        let (mut screen, mut picture) = (Screen::new(Size::clamped(40, 5), 0), Picture::default());
        let mut draw = |at: u64, text: &str, at_rest: bool| {
            screen.feed(text.as_bytes());
            let mut drawn = Vec::new();
            screen.drain_changes(&mut drawn);
            picture.take(&screen, &drawn, Steady(at), at_rest)
        };
        let script = [
            (0, "\x1b[1;1Hup 1", true, true),
            (1000, "\x1b[1;1Hup 2", true, false),
            (2000, "\x1b[1;1Hup 3\x1b[2;1Hasking 1", false, true),
            (3000, "\x1b[1;1Hup 4", false, false),
            (4000, "\x1b[2;1Hasking 3", false, true),
            (5000, "\x1b[2;1Hasking 4", true, true),
        ];
        for (at, text, at_rest, new) in script {
            assert_eq!(draw(at, text, at_rest), new, "{text:?} at {at}");
        }
    }
}
