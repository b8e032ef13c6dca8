//! Bytes from the terminal to keys, however the reads are split.

use super::reply::{self, Reply, StringKind};

/// One thing a person, a supervisor or the terminal sent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Key {
    /// A run of printable characters that arrived in one read.
    Text(String),
    /// A bracketed paste, its line ends normalised to `\n`.
    Paste(String),
    /// Enter (`CR`).
    Enter,
    /// A newline that does not submit: `LF`, Alt-Enter, Shift-Enter.
    Newline,
    /// Esc, alone.
    Escape,
    /// Backspace.
    Backspace,
    /// Tab.
    Tab,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-U.
    KillLine,
    /// Ctrl-D.
    EndOfInput,
    /// Cursor up.
    Up,
    /// Cursor down.
    Down,
    /// Cursor left.
    Left,
    /// Cursor right.
    Right,
    /// What the terminal answered to a query.
    Reply(Reply),
}

const ESC: u8 = 0x1b;
const PASTE_END: &[u8] = b"\x1b[201~";

/// Sequences longer than this are noise; a reply or key never is.
const LONGEST_CSI: usize = 256;

#[derive(Debug, Default)]
enum State {
    #[default]
    Ground,
    Escape,
    Ss3,
    Csi(Vec<u8>),
    Paste(Vec<u8>),
    /// `escaped`: the last byte was ESC, so `\` ends the string.
    Str {
        kind: StringKind,
        body: Vec<u8>,
        escaped: bool,
    },
}

/// Turns bytes into keys in linear time.
#[derive(Debug, Default)]
pub struct Decoder {
    state: State,
    /// Printable bytes not yet handed out; between reads at most one incomplete character.
    text: Vec<u8>,
}

impl Decoder {
    /// Takes one read and returns the keys it completes.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Key> {
        let mut keys = Vec::new();
        for &byte in bytes {
            self.step(byte, &mut keys);
        }
        self.flush_text(&mut keys, true);
        keys
    }

    /// Whether an ESC waits to be told from the start of a sequence.
    pub fn has_lone_escape(&self) -> bool {
        matches!(self.state, State::Escape)
    }

    /// Decides that a waiting ESC was the Esc key.
    pub fn expire_escape(&mut self) -> Option<Key> {
        self.has_lone_escape().then(|| {
            self.state = State::Ground;
            Key::Escape
        })
    }

    fn step(&mut self, byte: u8, keys: &mut Vec<Key>) {
        match &mut self.state {
            State::Ground => self.ground(byte, keys),
            State::Escape => self.escape(byte, keys),
            State::Ss3 => {
                self.state = State::Ground;
                keys.extend(reply::csi(b"", byte));
            }
            State::Csi(params) => match byte {
                0x40..=0x7e => {
                    let params = std::mem::take(params);
                    self.state = if params == b"200" && byte == b'~' {
                        State::Paste(Vec::new())
                    } else {
                        State::Ground
                    };
                    keys.extend(reply::csi(&params, byte));
                }
                ESC => self.state = State::Escape,
                _ if params.len() < LONGEST_CSI => params.push(byte),
                _ => self.state = State::Ground,
            },
            State::Paste(body) => {
                body.push(byte);
                if byte == b'~' && body.ends_with(PASTE_END) {
                    body.truncate(body.len() - PASTE_END.len());
                    keys.push(Key::Paste(normalised(body)));
                    self.state = State::Ground;
                }
            }
            State::Str { kind, body, escaped } => match (byte, *escaped) {
                (b'\\', true) | (0x07, false) => {
                    keys.push(reply::string(*kind, body));
                    self.state = State::Ground;
                }
                (ESC, _) => *escaped = true,
                _ => {
                    *escaped = false;
                    body.push(byte);
                }
            },
        }
    }

    fn ground(&mut self, byte: u8, keys: &mut Vec<Key>) {
        if !(byte < 0x20 || byte == 0x7f) {
            self.text.push(byte);
            return;
        }
        self.flush_text(keys, false);
        match byte {
            ESC => self.state = State::Escape,
            b'\r' => keys.push(Key::Enter),
            b'\n' => keys.push(Key::Newline),
            b'\t' => keys.push(Key::Tab),
            0x08 | 0x7f => keys.push(Key::Backspace),
            0x03 => keys.push(Key::Interrupt),
            0x04 => keys.push(Key::EndOfInput),
            0x15 => keys.push(Key::KillLine),
            _ => {}
        }
    }

    fn escape(&mut self, byte: u8, keys: &mut Vec<Key>) {
        let string = |kind| State::Str { kind, body: Vec::new(), escaped: false };
        self.state = match byte {
            b'[' => State::Csi(Vec::new()),
            b'O' => State::Ss3,
            b']' => string(StringKind::Osc),
            b'P' => string(StringKind::Dcs),
            b'_' | b'^' | b'X' => string(StringKind::Other),
            ESC => {
                keys.push(Key::Escape);
                State::Escape
            }
            b'\r' => {
                keys.push(Key::Newline);
                State::Ground
            }
            // Alt with any other key means nothing here.
            _ => State::Ground,
        };
    }

    /// Hands out the collected text; with `keep` an unfinished last character waits for the next read.
    fn flush_text(&mut self, keys: &mut Vec<Key>, keep: bool) {
        let waits = keep && matches!(self.state, State::Ground);
        let tail = if waits { unfinished(&self.text) } else { 0 };
        let rest = self.text.split_off(self.text.len() - tail);
        let text = std::mem::replace(&mut self.text, rest);
        if !text.is_empty() {
            keys.push(Key::Text(String::from_utf8_lossy(&text).into_owned()));
        }
    }
}

/// Counts the bytes at the end that begin a character and do not finish it.
fn unfinished(bytes: &[u8]) -> usize {
    for (back, &byte) in bytes.iter().rev().take(3).enumerate() {
        let needs = match byte {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => return 0,
        };
        return if back + 1 < needs { back + 1 } else { 0 };
    }
    0
}

fn normalised(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text.into_owned() }
}

#[cfg(test)]
mod tests;
