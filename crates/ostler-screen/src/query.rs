//! Answers to what programs ask their terminal.
//!
//! The answers are a fixed set. None of them repeats text that the program supplied: what is typed back into a
//! program must not be of its (or its input's) choosing.

use crate::{Cursor, Modes};

/// Asks whether the terminal understands OSC 7501; the answer is the question.
const STATUS_QUERY: &[u8] = b"\x1b]7501;?\x1b\\";

/// A CSI sequence taken apart as far as questions need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Csi {
    /// `?`, `>`, `=`, `<`, or 0 if there is none.
    pub(crate) marker: u8,
    /// First parameter, if there is one.
    pub(crate) first: Option<u16>,
    /// Intermediate byte, or 0 if there is none.
    pub(crate) intermediate: u8,
    pub(crate) action: u8,
}

/// What an answer may depend on.
pub(crate) struct Facts {
    pub(crate) modes: Modes,
    pub(crate) cursor: Cursor,
    /// First row of the scroll region.
    pub(crate) region_top: u16,
}

impl Csi {
    /// Takes a whole CSI sequence apart; `None` if it is another kind of sequence or cannot be a question.
    pub(crate) fn parse(sequence: &[u8]) -> Option<Self> {
        let (action, body) = sequence.strip_prefix(b"\x1b[")?.split_last()?;
        if !matches!(action, b'b' | b'c' | b'n' | b'p' | b'q' | b't' | b'u') {
            return None;
        }
        let mut csi = Self { marker: 0, first: None, intermediate: 0, action: *action };
        let mut at_first = true;
        for &byte in body.iter().filter(|byte| (0x20..0x7f).contains(*byte)) {
            match byte {
                b'<'..=b'?' => csi.marker = byte,
                b'0'..=b'9' if at_first => {
                    let value = csi.first.unwrap_or(0);
                    csi.first = Some(value.saturating_mul(10).saturating_add(u16::from(byte - b'0')));
                }
                b'0'..=b'9' => {}
                b':' | b';' => at_first = false,
                _ => csi.intermediate = byte,
            }
        }
        Some(csi)
    }

    /// Returns the answer, if this is a question that gets one.
    pub(crate) fn answer(self, facts: impl FnOnce() -> Facts) -> Option<Vec<u8>> {
        let first = self.first.unwrap_or(0);
        let answer = match (self.marker, first, self.intermediate, self.action) {
            // DA1: a VT220 with colours. DA2: a VT100-like terminal, version 1.0.
            (0, 0, 0, b'c') => "\x1b[?62;22c".to_owned(),
            (b'>', 0, 0, b'c') => "\x1b[>0;10;1c".to_owned(),
            (0, 5, 0, b'n') => "\x1b[0n".to_owned(),
            (0, 6, 0, b'n') => facts().cursor_position(),
            (b'>', 0, 0, b'q') => concat!("\x1bP>|ostler(", env!("CARGO_PKG_VERSION"), ")\x1b\\").to_owned(),
            (b'?', _, 0, b'u') => format!("\x1b[?{}u", facts().modes.kitty_keyboard),
            (b'?', number, b'$', b'p') => {
                let facts = facts();
                let state = match facts.modes.private(number, facts.cursor) {
                    Some(true) => 1,
                    Some(false) => 2,
                    None => 0,
                };
                format!("\x1b[?{number};{state}$y")
            }
            _ => return None,
        };
        Some(answer.into_bytes())
    }
}

impl Facts {
    fn cursor_position(&self) -> String {
        let top = if self.modes.origin { self.region_top } else { 0 };
        format!("\x1b[{};{}R", self.cursor.row.saturating_sub(top) + 1, self.cursor.col + 1)
    }
}

/// Returns the answer to an OSC question: a dark theme's colours, or that OSC 7501 is understood.
pub(crate) fn answer_osc(payload: &[u8], bell: bool) -> Option<Vec<u8>> {
    let color = match payload {
        b"7501;?" => return Some(STATUS_QUERY.to_vec()),
        b"10;?" => "10;rgb:d0d0/d0d0/d0d0",
        b"11;?" => "11;rgb:1010/1010/1010",
        _ => return None,
    };
    // Some programs wait for the terminator they used themselves.
    Some(format!("\x1b]{color}{}", if bell { "\x07" } else { "\x1b\\" }).into_bytes())
}
