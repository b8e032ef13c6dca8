//! The input box: what was typed, what of it is shown, and what would be submitted.

use std::time::Duration;

/// The text being written.
#[derive(Debug, Default)]
pub(super) struct Composer {
    pieces: Vec<Piece>,
    /// Collapsed pastes so far; they are numbered over the whole session.
    collapsed: usize,
}

#[derive(Debug)]
struct Piece {
    /// What is submitted.
    body: String,
    /// What is shown instead of the body.
    label: Option<String>,
    /// When it becomes visible.
    due: Duration,
}

impl Piece {
    fn shown(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.body)
    }
}

impl Composer {
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Appends text that is shown from `due` on.
    pub(super) fn push(&mut self, text: &str, due: Duration) {
        match self.pieces.last_mut() {
            Some(last) if last.label.is_none() && last.due == due => last.body.push_str(text),
            _ if text.is_empty() => {}
            _ => self.pieces.push(Piece { body: text.to_owned(), label: None, due }),
        }
    }

    /// Appends a paste shown only as a placeholder.
    pub(super) fn push_collapsed(&mut self, text: String, due: Duration) {
        self.collapsed += 1;
        let label = match text.matches('\n').count() {
            0 => format!("[Pasted text #{}]", self.collapsed),
            lines => format!("[Pasted text #{} +{lines} lines]", self.collapsed),
        };
        self.pieces.push(Piece { body: text, label: Some(label), due });
    }

    /// Removes the last character, or the last placeholder as a whole.
    pub(super) fn backspace(&mut self) {
        if let Some(last) = self.pieces.last_mut() {
            last.body.pop();
            if last.label.is_some() || last.body.is_empty() {
                self.pieces.pop();
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.pieces.clear();
    }

    /// Empties the composer and returns the text with its pastes expanded.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.pieces).into_iter().map(|piece| piece.body).collect()
    }

    /// Returns at most the last `limit` bytes of what is visible at `now`.
    ///
    /// A frame shows only the end of a huge text, so drawing must not cost its whole length.
    pub(super) fn visible(&self, now: Duration, limit: usize) -> String {
        let mut shown = Vec::new();
        let mut room = limit;
        for piece in self.pieces.iter().rev().filter(|piece| piece.due <= now) {
            let text = piece.shown();
            let mut start = text.len().saturating_sub(room);
            while !text.is_char_boundary(start) {
                start += 1;
            }
            shown.push(&text[start..]);
            room = room.saturating_sub(text.len());
            if room == 0 {
                break;
            }
        }
        shown.reverse();
        shown.concat()
    }

    /// When more of the text becomes visible.
    pub(super) fn deadline(&self, now: Duration) -> Option<Duration> {
        self.pieces.iter().map(|piece| piece.due).filter(|&due| due > now).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn placeholders_are_shown_and_bodies_are_submitted() {
        let mut composer = Composer::default();
        composer.push("see ", NOW);
        composer.push_collapsed("a\nb\nc".into(), NOW);
        composer.push_collapsed("long".into(), NOW);
        assert_eq!(composer.visible(NOW, 999), "see [Pasted text #1 +2 lines][Pasted text #2]");
        composer.backspace();
        composer.push("!", NOW);
        assert_eq!(composer.take(), "see a\nb\nc!");
        assert!(composer.is_empty());
    }

    #[test]
    fn late_text_is_submitted_but_not_yet_shown() {
        let mut composer = Composer::default();
        let due = Duration::from_millis(50);
        composer.push("a", NOW);
        composer.push("b", due);
        assert_eq!((composer.visible(NOW, 9), composer.deadline(NOW)), ("a".into(), Some(due)));
        assert_eq!((composer.visible(due, 9), composer.deadline(due)), ("ab".into(), None));
        assert_eq!(composer.take(), "ab");
    }

    #[test]
    fn only_the_end_of_a_long_text_is_laid_out() {
        let mut composer = Composer::default();
        composer.push(&"é".repeat(1000), NOW);
        assert_eq!(composer.visible(NOW, 5), "éé");
    }
}
