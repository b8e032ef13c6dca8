//! Output of a program, with its middle left out where there is too much of it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// How much of a stream is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keep {
    /// Bytes from the beginning.
    pub head: usize,
    /// Bytes from the end.
    pub tail: usize,
}

impl Default for Keep {
    /// The first errors are in the head, the summary is in the tail.
    fn default() -> Self {
        Self { head: 128 << 10, tail: 128 << 10 }
    }
}

/// The beginning and the end of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Kept {
    /// Takes in what came next.
    pub(crate) fn push(&mut self, bytes: &[u8], keep: Keep) {
        self.total += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(keep.head.saturating_sub(self.head.len())));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(keep.tail)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(keep.tail);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    /// How many bytes in the middle are missing.
    pub fn left_out(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// All bytes, if none are missing.
    pub(crate) fn complete(self) -> Option<Vec<u8>> {
        let is_complete = self.left_out() == 0;
        let mut bytes = self.head;
        bytes.extend(self.tail);
        is_complete.then_some(bytes)
    }

    /// The bytes from the beginning.
    pub fn into_head(self) -> Vec<u8> {
        self.head
    }

    /// The text, odd bytes replaced; a line of its own says what is missing.
    pub fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        match self.left_out() {
            // One string, so that a character across the seam stays whole.
            0 => String::from_utf8_lossy(&[&self.head[..], &tail].concat()).into_owned(),
            bytes => format!(
                "{}\n[... {bytes} bytes left out ...]\n{}",
                String::from_utf8_lossy(&self.head),
                String::from_utf8_lossy(&tail)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(chunks: &[&str], keep: Keep) -> Kept {
        let mut kept = Kept::default();
        for chunk in chunks {
            kept.push(chunk.as_bytes(), keep);
        }
        kept
    }

    #[test]
    fn the_middle_is_left_out_however_it_was_cut_up() {
        let keep = Keep { head: 4, tail: 3 };
        let text = "abcdefghijkl";
        for size in 1..=text.len() {
            let chunks: Vec<&str> =
                text.as_bytes().chunks(size).map(|c| std::str::from_utf8(c).unwrap()).collect();
            let kept = kept(&chunks, keep);
            assert_eq!(kept.text(), "abcd\n[... 5 bytes left out ...]\njkl", "chunks of {size}");
            assert_eq!((kept.total, kept.left_out()), (12, 5));
            assert_eq!(kept.complete(), None);
        }
    }

    #[test]
    fn what_fits_is_whole_across_the_seam() {
        let kept = kept(&["a\u{e9}", "b"], Keep { head: 2, tail: 8 });
        assert_eq!(kept.text(), "a\u{e9}b");
        assert_eq!(kept.complete().as_deref(), Some("a\u{e9}b".as_bytes()));
    }
}
