//! Bytes into the terminal, in pieces that its parser takes well.

use alacritty_terminal::vte::ansi::{Processor, Timeout};

use crate::Size;
use crate::terminal::{HISTORY_SLACK, Terminal};

/// A sequence that does nothing but end whatever came before, such as an unfinished character.
const NOTHING: &[u8] = b"\x1b\\";

/// Most bytes of text that are drawn before the history is looked at: each can scroll the screen by a line.
const STEP: usize = HISTORY_SLACK / 2;

/// The terminal and the parser that drives it.
///
/// Plain text is written straight into the terminal; only the rest is left to the parser. That can lose
/// characters when it is handed one in two pieces, so it never is: the beginning of a character waits here for
/// its rest.
pub(crate) struct Emulator {
    processor: Processor<Never>,
    terminal: Terminal,
    /// The beginning of a character whose rest has not come; three bytes at most.
    begun: Vec<u8>,
}

/// The timeout of synchronized updates: never running, so the parser never buffers one.
///
/// Bytes are drawn as they come. Whoever looks at the screen sees [`crate::Modes::synchronized`] and can wait.
#[derive(Default)]
struct Never;

impl Timeout for Never {
    fn set_timeout(&mut self, _: std::time::Duration) {}

    fn clear_timeout(&mut self) {}

    fn pending_timeout(&self) -> bool {
        false
    }
}

impl Emulator {
    pub(crate) fn new(size: Size, scrollback: usize) -> Self {
        Self { processor: Processor::new(), terminal: Terminal::new(size, scrollback), begun: Vec::new() }
    }

    pub(crate) fn terminal(&self) -> &Terminal {
        &self.terminal
    }

    pub(crate) fn terminal_mut(&mut self) -> &mut Terminal {
        &mut self.terminal
    }

    pub(crate) fn resize(&mut self, size: Size) {
        self.terminal.resize(size);
    }

    /// Draws text without sequences. A character that it does not finish will not be finished.
    pub(crate) fn draw_text(&mut self, text: &[u8]) {
        let mut rest = text;
        while let Some(first) = rest.first() {
            let plain = is_plain(*first);
            let end = rest.iter().position(|byte| is_plain(*byte) != plain).unwrap_or(rest.len());
            let (mut run, behind) = rest.split_at(end);
            while !run.is_empty() {
                let drawn = if plain { self.draw_plain(run) } else { self.draw_other(run) };
                run = &run[drawn..];
            }
            rest = behind;
        }
    }

    /// Draws printable ASCII; returns how much.
    fn draw_plain(&mut self, run: &[u8]) -> usize {
        let written = self.terminal.write_plain(run);
        if written > 0 {
            return written;
        }
        // What is special about this place may be over after one character, but not a special mode.
        let count = if self.terminal.can_write_plain() { 1 } else { run.len().min(STEP) };
        self.advance(&run[..count]);
        count
    }

    /// Draws control characters and everything beyond ASCII; returns how much.
    fn draw_other(&mut self, run: &[u8]) -> usize {
        let step = &run[..run.len().min(STEP)];
        let whole = if step.len() < run.len() { step.len() - begun_character(step) } else { step.len() };
        self.advance(&run[..whole]);
        if begun_character(&run[..whole]) > 0 {
            self.advance(NOTHING);
        }
        whole
    }

    /// Draws a whole sequence.
    pub(crate) fn draw_sequence(&mut self, sequence: &[u8]) {
        self.advance(sequence);
    }

    /// Draws a sequence that was cut short, and makes sure the parser knows.
    pub(crate) fn draw_cut(&mut self, sequence: &[u8]) {
        self.advance(sequence);
        self.advance(b"\x18");
    }

    /// Draws the last character again, `count` times.
    pub(crate) fn repeat(&mut self, count: u16) {
        self.terminal.repeat(count);
        self.terminal.trim_history();
    }

    fn advance(&mut self, bytes: &[u8]) {
        self.processor.advance(&mut self.terminal, bytes);
        self.terminal.trim_history();
    }

    /// Draws the end of the input. If more text may follow, a character that is not complete waits for it.
    pub(crate) fn draw_last(&mut self, text: &[u8], more: bool) {
        let begun = if more { begun_character(text) } else { 0 };
        let (whole, begun) = text.split_at(text.len() - begun);
        self.begun.extend_from_slice(begun);
        self.draw_text(whole);
    }

    /// Returns the beginning of a character whose rest has not come.
    pub(crate) fn begun(&self) -> &[u8] {
        &self.begun
    }

    /// Draws the character that the last call began, as far as `bytes` go on with it; returns how far.
    pub(crate) fn finish_character(&mut self, bytes: &[u8]) -> usize {
        if self.begun.is_empty() {
            return 0;
        }
        let mut character = std::mem::take(&mut self.begun);
        for (taken, byte) in bytes.iter().enumerate() {
            character.push(*byte);
            match std::str::from_utf8(&character) {
                Ok(_) => {
                    self.draw_text(&character);
                    return taken + 1;
                }
                Err(error) if error.error_len().is_none() => {}
                Err(_) => {
                    self.draw_text("\u{fffd}".as_bytes());
                    return taken;
                }
            }
        }
        self.begun = character;
        bytes.len()
    }
}

/// Returns whether a byte is a printable ASCII character.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

/// Counts the bytes at the end that begin a character without finishing it.
fn begun_character(bytes: &[u8]) -> usize {
    let is_begun = |count: &usize| {
        let tail = &bytes[bytes.len() - count..];
        std::str::from_utf8(tail).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=bytes.len().min(3)).find(is_begun).unwrap_or(0)
}
