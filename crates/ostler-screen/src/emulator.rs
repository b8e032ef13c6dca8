//! Bytes into the terminal, in pieces that its parser takes well.

use alacritty_terminal::vte::ansi::{Processor, Timeout};

use crate::Size;
use crate::terminal::{HISTORY_SLACK, Terminal};

/// A sequence that does nothing but end whatever came before, such as an unfinished character.
const NOTHING: &[u8] = b"\x1b\\";

/// The terminal and the parser that drives it.
///
/// The parser can lose characters when it is handed one in two pieces, so it never is: the beginning of a
/// character waits here for its rest.
pub(crate) struct Emulator {
    processor: Processor<Never>,
    terminal: Terminal,
    /// Bytes after which the history is looked at; none without history.
    history_step: Option<usize>,
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
        Self {
            processor: Processor::new(),
            terminal: Terminal::new(size, scrollback),
            history_step: (scrollback > 0).then(|| history_step(size)),
            begun: Vec::new(),
        }
    }

    pub(crate) fn terminal(&self) -> &Terminal {
        &self.terminal
    }

    pub(crate) fn resize(&mut self, size: Size) {
        self.terminal.resize(size);
        self.history_step = self.history_step.map(|_| history_step(size));
    }

    /// Draws text and whole sequences.
    pub(crate) fn draw(&mut self, bytes: &[u8]) {
        let Some(step) = self.history_step else {
            return self.processor.advance(&mut self.terminal, bytes);
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            let piece = &rest[..step.min(rest.len())];
            // Behind ASCII no character is cut in two.
            let end = if piece.len() == rest.len() { None } else { piece.iter().rposition(u8::is_ascii) };
            let (piece, later) = rest.split_at(end.map_or(piece.len(), |last| last + 1));
            self.processor.advance(&mut self.terminal, piece);
            self.terminal.trim_history();
            rest = later;
        }
    }

    /// Draws the end of the input. If it is text, a character that is not complete yet waits for the next call;
    /// if a sequence follows, it never will be.
    pub(crate) fn draw_last(&mut self, bytes: &[u8], is_text: bool) {
        let begun = begun_character(bytes);
        let (whole, begun) = bytes.split_at(bytes.len() - if is_text { begun } else { 0 });
        self.begun.extend_from_slice(begun);
        self.draw(whole);
        if begun_character(whole) > 0 {
            self.draw_nothing();
        }
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
                    self.draw(&character);
                    return taken + 1;
                }
                Err(error) if error.error_len().is_none() => {}
                Err(_) => {
                    self.draw("\u{fffd}".as_bytes());
                    return taken;
                }
            }
        }
        self.begun = character;
        bytes.len()
    }

    /// Draws a sequence that was cut short, and makes sure the parser knows.
    pub(crate) fn draw_cut(&mut self, bytes: &[u8]) {
        self.draw(bytes);
        self.draw(b"\x18");
    }

    /// Stands in for a sequence that the parser does not get to see: an unfinished character before it must not
    /// meet the text behind it.
    pub(crate) fn draw_nothing(&mut self) {
        self.draw(NOTHING);
    }

    /// Draws the last character again, `count` times.
    pub(crate) fn repeat(&mut self, count: u16) {
        self.draw_nothing();
        self.terminal.repeat(count);
        self.terminal.trim_history();
    }
}

/// Returns how many bytes can be drawn before the spare history rows could run out: four bytes can scroll a
/// whole screen.
fn history_step(size: Size) -> usize {
    (HISTORY_SLACK / usize::from(size.rows)).max(1) * 4
}

/// Counts the bytes at the end that begin a character without finishing it.
fn begun_character(bytes: &[u8]) -> usize {
    let is_begun = |count: &usize| {
        let tail = &bytes[bytes.len() - count..];
        std::str::from_utf8(tail).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=bytes.len().min(3)).find(is_begun).unwrap_or(0)
}
