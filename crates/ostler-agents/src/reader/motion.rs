//! Whether what a rule saw moves.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Tells one text from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Print {
    pub(super) hash: u64,
    bytes: usize,
}

impl Print {
    pub(super) fn of(text: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Self { hash: hasher.finish(), bytes: text.len() }
    }

    /// Whether a text begins with this one.
    fn begins(self, text: &str) -> bool {
        text.get(..self.bytes).is_some_and(|begin| Self::of(begin) == self)
    }
}

/// The rows that a rule saw while it held without a break.
#[derive(Debug, Default)]
pub(super) struct Trace {
    rows: Vec<Row>,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    print: Print,
    /// Its first word: a spinner turns and a counter counts, the word stays.
    word: Print,
    moving: bool,
}

impl Row {
    fn new(text: &str) -> Self {
        let word = text.split(|character: char| !character.is_alphabetic()).find(|word| word.len() > 1);
        Self { print: Print::of(text), word: Print::of(word.unwrap_or_default()), moving: false }
    }
}

impl Trace {
    /// Takes in the rows that the rule sees now, the lowest first; returns whether one of them has moved.
    ///
    /// A row that became another one, of the same word, moves. What scrolls stays the same, and a line that is being
    /// written only grows: quoted text does both.
    pub(super) fn follow(&mut self, texts: &[String]) -> bool {
        let mut old = std::mem::take(&mut self.rows);
        let mut take =
            |same: &dyn Fn(&Row) -> bool| old.iter().position(same).map(|index| old.swap_remove(index));
        let mut rows: Vec<(Row, bool)> = texts.iter().map(|text| (Row::new(text), false)).collect();
        for ((row, known), text) in rows.iter_mut().zip(texts) {
            let before = take(&|old| old.print == row.print).or_else(|| take(&|old| old.print.begins(text)));
            (row.moving, *known) = (before.is_some_and(|before| before.moving), before.is_some());
        }
        for (row, _) in rows.iter_mut().filter(|(_, known)| !known) {
            row.moving = take(&|old| old.word == row.word).is_some();
        }
        self.rows = rows.into_iter().map(|(row, _)| row).collect();
        self.rows.iter().any(|row| row.moving)
    }

    /// Whether something is seen and nothing of it has moved yet.
    pub(super) fn is_still(&self) -> bool {
        !self.rows.is_empty() && !self.rows.iter().any(|row| row.moving)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_moves_and_what_scrolls_or_grows_does_not() {
        let table: [(&[&[&str]], bool); 10] = [
            (&[&["⠋ Working"], &["⠙ Working"]], true),
            (&[&["Working 1s"], &["Working 2s"], &["Working 2s"]], true),
            (&[&["Working"], &["Working"]], false),
            (&[&["Wor"], &["Work"], &["Working"]], false),
            (&[&["one"], &["two", "one"], &["two"]], false),
            (&[&["Working 1s"], &["Thinking 2s"]], false),
            (&[&["⠋ Baking"], &["⠙ Baking"], &["⠹ Baking", "* Working (esc)"]], true),
            (&[&["⠋ Baking"], &["⠙ Baking"], &["⠹ Baking", "* Working (esc)"], &["* Working (esc)"]], false),
            // The lowest of two that may be the one before is it: what is quoted is above.
            (&[&["⠋ Working"], &["⠙ Working", "* Working (esc)"], &["* Working (esc)"]], false),
            (&[&["⠋ Working"], &[], &["⠙ Working"]], false),
        ];
        for (looks, moves) in table {
            let mut trace = Trace::default();
            let rows = |look: &[&str]| look.iter().map(|row| (*row).to_owned()).collect::<Vec<_>>();
            let moving = looks.iter().map(|look| trace.follow(&rows(look))).last();
            assert_eq!(moving, Some(moves), "{looks:?}");
            assert_eq!(trace.is_still(), !moves, "{looks:?}");
        }
    }
}
