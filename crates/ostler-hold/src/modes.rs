//! The modes a program has set on its terminal, followed without a terminal.
//!
//! Output that nobody reads falls out of the ring, and with it the sequences that switched on bracketed paste,
//! the mouse or the alternate screen: programs send them once. So the ring passes what it forgets through a
//! [`Scanner`], which knows no characters, cursor or colours: it recognises the ends of sequences and those few
//! that set modes. It never allocates, and what it keeps has a fixed size.
//!
//! It follows what the daemon's screen follows, by the same grammar; a test compares the two.

const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
const ESC: u8 = 0x1b;

/// Longest `ESC …` or `CSI …` sequence that counts, without its last byte.
const CONTROL_LIMIT: u16 = 512;
/// Most parameters of a sequence that counts.
const MAX_PARAMETERS: u8 = 32;
/// Saved keyboard flags kept per screen; older ones fall off the bottom.
const KEYBOARD_DEPTH: usize = 8;
/// Keyboard flags that the protocol defines.
const KEYBOARD_FLAGS: u8 = 0b1_1111;

const CLICKS: u32 = 1 << 4;
const DRAGS: u32 = 1 << 5;
const MOTION: u32 = 1 << 6;
const MOUSE: u32 = CLICKS | DRAGS | MOTION;
const UTF8_MOUSE: u32 = 1 << 8;
const SGR_MOUSE: u32 = 1 << 9;
const ALTERNATE: u32 = 1 << 11;
const KEYPAD: u32 = 1 << 16;
/// The output goes on in the middle of an OSC sequence.
const IN_OSC: u32 = 1 << 17;
/// The output goes on in the middle of another string (DCS, SOS, PM, APC).
const IN_STRING: u32 = 1 << 18;
/// Set in all that was written down by somebody who knew of modes.
const KNOWN: u32 = 1 << 31;

/// Private modes with their bits: cursor keys, origin, wrap, cursor, mouse, focus, scrolling, screen, paste, frames.
const PRIVATE: [(u16, u32); 14] = [
    (1, 1 << 0),
    (6, 1 << 1),
    (7, 1 << 2),
    (25, 1 << 3),
    (1000, CLICKS),
    (1002, DRAGS),
    (1003, MOTION),
    (1004, 1 << 7),
    (1005, UTF8_MOUSE),
    (1006, SGR_MOUSE),
    (1007, 1 << 10),
    (1049, ALTERNATE),
    (2004, 1 << 12),
    (2026, 1 << 13),
];
/// The other modes: insertion, and line feeds that return.
const ANSI: [(u16, u32); 2] = [(4, 1 << 14), (20, 1 << 15)];
/// A terminal that was just opened wraps, shows its cursor, and scrolls by the wheel.
const FRESH: u32 = 1 << 2 | 1 << 3 | 1 << 10;

/// The modes of a terminal at one place of its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modes {
    flags: u32,
    /// Keyboard flags of the main and the alternate screen.
    keyboard: [Keyboard; 2],
}

/// The keyboard flags of one screen (the kitty protocol): those in force and those to come back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Keyboard {
    current: u8,
    depth: u8,
    saved: [u8; KEYBOARD_DEPTH],
}

impl Default for Modes {
    /// The modes of a terminal that was just opened.
    fn default() -> Self {
        Self { flags: FRESH, keyboard: [Keyboard::default(); 2] }
    }
}

impl Modes {
    /// Length of [`Modes::to_bytes`].
    pub(crate) const LEN: usize = 4 + 2 * (2 + KEYBOARD_DEPTH);

    /// Returns sequences that give a terminal that was just opened these modes.
    ///
    /// Where the output goes on in the middle of a string, they end with the beginning of one.
    pub fn to_sequences(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.keyboard[0].push_sequences(&mut out);
        // Each screen has keyboard flags of its own. Those of the other one cannot be reached from here.
        if self.flags & ALTERNATE != 0 {
            push_mode(&mut out, b"?", 1049, true);
            self.keyboard[1].push_sequences(&mut out);
        }
        for (modes, marker) in [(&PRIVATE[..], &b"?"[..]), (&ANSI[..], b"")] {
            for (number, bit) in modes.iter().filter(|(_, bit)| *bit != ALTERNATE) {
                if (self.flags ^ FRESH) & bit != 0 {
                    push_mode(&mut out, marker, *number, self.flags & bit != 0);
                }
            }
        }
        if self.flags & KEYPAD != 0 {
            out.extend_from_slice(b"\x1b=");
        }
        if self.flags & IN_OSC != 0 {
            // Its number is gone; no number means nothing to anybody.
            out.extend_from_slice(b"\x1b]-");
        } else if self.flags & IN_STRING != 0 {
            out.extend_from_slice(b"\x1b_");
        }
        out
    }

    /// The modes as the ring's header has them.
    pub(crate) fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        let (flags, keyboards) = bytes.split_at_mut(4);
        flags.copy_from_slice(&(self.flags | KNOWN).to_le_bytes());
        for (out, keyboard) in keyboards.chunks_exact_mut(2 + KEYBOARD_DEPTH).zip(self.keyboard) {
            out[0] = keyboard.current;
            out[1] = keyboard.depth;
            out[2..].copy_from_slice(&keyboard.saved);
        }
        bytes
    }

    /// Reads what [`Modes::to_bytes`] wrote; nothing where a holder did that knew of no modes.
    pub(crate) fn from_bytes(bytes: [u8; Self::LEN]) -> Option<Self> {
        let (flags, keyboards) = bytes.split_first_chunk::<4>()?;
        let flags = u32::from_le_bytes(*flags);
        if flags & KNOWN == 0 {
            return None;
        }
        let mut modes = Self { flags: flags & !KNOWN, ..Self::default() };
        for (bytes, keyboard) in keyboards.chunks_exact(2 + KEYBOARD_DEPTH).zip(modes.keyboard.iter_mut()) {
            keyboard.current = bytes[0] & KEYBOARD_FLAGS;
            keyboard.depth = if usize::from(bytes[1]) > KEYBOARD_DEPTH { 0 } else { bytes[1] };
            keyboard.saved.copy_from_slice(&bytes[2..]);
        }
        Some(modes)
    }

    fn keyboard_mut(&mut self) -> &mut Keyboard {
        &mut self.keyboard[usize::from(self.flags & ALTERNATE != 0)]
    }
}

fn push_mode(out: &mut Vec<u8>, marker: &[u8], number: u16, set: bool) {
    out.extend_from_slice(b"\x1b[");
    out.extend_from_slice(marker);
    out.extend_from_slice(number.to_string().as_bytes());
    out.push(if set { b'h' } else { b'l' });
}

impl Keyboard {
    fn push(&mut self, flags: u8) {
        if usize::from(self.depth) == KEYBOARD_DEPTH {
            self.saved.rotate_left(1);
            self.depth -= 1;
        }
        self.saved[usize::from(self.depth)] = self.current;
        self.depth += 1;
        self.current = flags & KEYBOARD_FLAGS;
    }

    fn pop(&mut self, count: u16) {
        for _ in 0..usize::from(count).min(KEYBOARD_DEPTH + 1) {
            self.current = match self.depth.checked_sub(1) {
                Some(depth) => {
                    self.depth = depth;
                    self.saved[usize::from(depth)]
                }
                None => 0,
            };
        }
    }

    fn set(&mut self, flags: u8, how: u16) {
        let flags = flags & KEYBOARD_FLAGS;
        self.current = match how {
            2 => self.current | flags,
            3 => self.current & !flags,
            _ => flags,
        };
    }

    fn push_sequences(&self, out: &mut Vec<u8>) {
        let saved = &self.saved[..usize::from(self.depth).min(KEYBOARD_DEPTH)];
        let mut introducer = "\x1b[=";
        for level in saved.iter().chain([&self.current]) {
            if introducer == "\x1b[>" || *level != 0 {
                out.extend_from_slice(format!("{introducer}{level}u").as_bytes());
            }
            introducer = "\x1b[>";
        }
    }
}

/// Follows the modes through a stream of output, whatever the pieces it comes in.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scanner {
    modes: Modes,
    state: State,
    /// Bytes of the current sequence so far, as far as they matter.
    length: u16,
    csi: Csi,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Text,
    Escape,
    EscapeIntermediate,
    Csi,
    Osc,
    String,
}

/// A CSI sequence as far as it has come.
///
/// Its last byte says what the parameters are for. So that they need not be kept, each is applied at once both
/// ways, and the last byte decides which of the two counts.
#[derive(Debug, Clone, Copy, Default)]
struct Csi {
    /// `<`, `=`, `>` or `?`, or 0 if there is none.
    marker: u8,
    /// It can have no marker any more.
    begun: bool,
    /// It is nothing that sets a mode.
    ignored: bool,
    /// Only the first part of a parameter (`1:2`) counts; this is behind it.
    behind_colon: bool,
    parameter: u16,
    /// Parameters, and parts of them, that are complete.
    count: u8,
    /// Parameters that are complete.
    position: u8,
    /// The first two.
    values: [u16; 2],
    /// The modes if it sets them, and if it resets them.
    if_set: u32,
    if_reset: u32,
}

impl Scanner {
    /// The modes as of the last byte.
    pub fn modes(&self) -> Modes {
        let within = match self.state {
            State::Osc => IN_OSC,
            State::String => IN_STRING,
            _ => 0,
        };
        Modes { flags: self.modes.flags | within, ..self.modes }
    }

    /// Takes in output.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.state == State::Text {
                bytes = beyond_harmless(bytes);
            }
            let rest = bytes.iter().position(|byte| {
                self.step(*byte);
                self.state == State::Text
            });
            bytes = rest.map_or(&[], |last| &bytes[last + 1..]);
        }
    }

    /// Takes in output up to the end of the sequence or character that is under way; returns how much that is.
    pub(crate) fn finish(&mut self, bytes: &[u8]) -> usize {
        if self.state == State::Text {
            return bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
        }
        let mut taken = 0;
        for byte in bytes {
            self.step(*byte);
            taken += 1;
            if self.state == State::Text {
                break;
            }
        }
        taken
    }

    fn step(&mut self, byte: u8) {
        use State::{Csi, Escape, EscapeIntermediate, Osc, String, Text};
        self.length = self.length.saturating_add(1);
        self.state = match (self.state, byte) {
            (_, ESC) => {
                self.length = 1;
                Escape
            }
            (Text, _) | (_, CAN | SUB) | (Osc, BEL) | (EscapeIntermediate, 0x30..=0x7e) => Text,
            (Escape, b'[') => {
                let flags = self.modes.flags;
                self.csi = self::Csi { if_set: flags, if_reset: flags, ..Default::default() };
                Csi
            }
            (Escape, b']') => Osc,
            (Escape, b'P' | b'X' | b'^' | b'_') => String,
            (Escape, 0x20..=0x2f) => EscapeIntermediate,
            (Escape, 0x30..=0x7e) => {
                self.escape(byte);
                Text
            }
            (Csi, 0x40..=0x7e) => {
                self.control(byte);
                Text
            }
            (Csi, 0x20..=0x3f) => {
                self.csi.take(byte);
                Csi
            }
            (state, _) => state,
        };
    }

    fn is_too_long(&self) -> bool {
        self.length > CONTROL_LIMIT + 1
    }

    /// Does what an `ESC …` sequence says.
    fn escape(&mut self, last: u8) {
        match last {
            _ if self.is_too_long() => {}
            b'c' => self.modes = Modes::default(),
            b'=' => self.modes.flags |= KEYPAD,
            b'>' => self.modes.flags &= !KEYPAD,
            _ => {}
        }
    }

    /// Does what a CSI sequence says.
    fn control(&mut self, last: u8) {
        self.csi.end_parameter();
        let Csi { marker, ignored, values: [first, second], if_set, if_reset, count, .. } = self.csi;
        if ignored || count > MAX_PARAMETERS || self.is_too_long() {
            return;
        }
        // Flags beyond the first eight bits are cut off, not out of range: that is how the screen reads them.
        let flags = first.to_le_bytes()[0];
        match (marker, last) {
            (b'?' | 0, b'h') => self.modes.flags = if_set,
            (b'?' | 0, b'l') => self.modes.flags = if_reset,
            (b'>', b'u') => self.modes.keyboard_mut().push(flags),
            (b'<', b'u') => self.modes.keyboard_mut().pop(first.max(1)),
            (b'=', b'u') => self.modes.keyboard_mut().set(flags, second),
            _ => {}
        }
    }
}

impl Csi {
    fn take(&mut self, byte: u8) {
        let is_first = !std::mem::replace(&mut self.begun, true);
        match byte {
            b'0'..=b'9' => {
                self.parameter = self.parameter.saturating_mul(10).saturating_add(u16::from(byte - b'0'));
            }
            b':' | b';' => {
                self.end_parameter();
                self.behind_colon = byte == b':';
            }
            b'<'..=b'?' if is_first => self.marker = byte,
            // A marker where none belongs, or an intermediate byte, which nothing that sets a mode has.
            _ => self.ignored = true,
        }
    }

    fn end_parameter(&mut self) {
        self.count = self.count.saturating_add(1);
        let number = std::mem::take(&mut self.parameter);
        if self.behind_colon {
            return;
        }
        if let Some(value) = self.values.get_mut(usize::from(self.position)) {
            *value = number;
        }
        self.position = self.position.saturating_add(1);
        let modes = if self.marker == b'?' { &PRIVATE[..] } else { &ANSI[..] };
        let Some((_, bit)) = modes.iter().find(|(known, _)| *known == number) else { return };
        self.if_set = self.if_set & !excluded_by(*bit) | bit;
        self.if_reset &= !bit;
    }
}

/// Modes that end when another one is set: a program gets mouse events of one kind, in one form.
fn excluded_by(bit: u32) -> u32 {
    match bit {
        CLICKS | DRAGS | MOTION => MOUSE,
        UTF8_MOUSE | SGR_MOUSE => UTF8_MOUSE | SGR_MOUSE,
        _ => 0,
    }
}

/// Returns what comes behind text and sequences that set no mode, which is nearly all output: what it begins with is looked
/// at byte by byte.
fn beyond_harmless(mut bytes: &[u8]) -> &[u8] {
    loop {
        bytes = &bytes[text_length(bytes)..];
        let length = harmless_length(bytes);
        if length == 0 {
            return bytes;
        }
        bytes = &bytes[length..];
    }
}

/// Length of the whole CSI sequence at the beginning, if it is one that sets no mode whatever its parameters: a colour, a place
/// for the cursor, something to erase. One that is cut off, odd or long has none.
fn harmless_length(bytes: &[u8]) -> usize {
    const SHORT: usize = 64;
    let Some(rest) = bytes.strip_prefix(b"\x1b[") else { return 0 };
    match rest.iter().take(SHORT).position(|byte| !(0x20..=0x3f).contains(byte)) {
        Some(end) if matches!(rest[end], 0x40..=0x7e) && !matches!(rest[end], b'h' | b'l' | b'u') => end + 3,
        _ => 0,
    }
}

/// Returns how much comes before the next ESC.
fn text_length(bytes: &[u8]) -> usize {
    // In blocks that the compiler makes one comparison of: nearly all output passes here.
    let is_text = |block: &[u8; 32]| block.iter().fold(0, |found, byte| found | u8::from(*byte == ESC)) == 0;
    let mut at = 0;
    while bytes[at..].first_chunk::<32>().is_some_and(is_text) {
        at += 32;
    }
    let rest = &bytes[at..];
    at + rest.iter().position(|byte| *byte == ESC).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests;
