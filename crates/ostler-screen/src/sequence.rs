//! Finds the control sequences in a stream of bytes.

use memchr::memchr;

const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
const ESC: u8 = 0x1b;

/// Longest `ESC …` or `CSI …` sequence that counts. The parser behind keeps 32 parameters.
const CONTROL_LIMIT: usize = 512;
/// Longest CSI sequence looked at as a whole.
const EVERYDAY: usize = 64;
/// Longest OSC sequence that counts, introducer included.
const OSC_LIMIT: usize = 2 + 4096;

/// Cuts a stream into plain text and control sequences, whatever the pieces it arrives in.
///
/// Only ESC begins a sequence. The 8-bit introducers do not: in UTF-8 they are parts of characters, and the
/// emulator ignores them as well. Unfinished sequences are held back, up to a limit; the text of strings
/// nobody reads (DCS, APC, …) is not kept at all.
#[derive(Default)]
pub(crate) struct Sequencer {
    state: State,
    /// The unfinished sequence as far as earlier calls brought it.
    held: Vec<u8>,
    /// `held` was handed out and is emptied by the next call.
    delivered: bool,
    /// Bytes of the current sequence so far.
    length: usize,
    /// The current sequence has passed its limit: its bytes are not kept.
    too_long: bool,
    /// Bells rung inside the current sequence.
    bells: u16,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Text,
    Escape,
    EscapeIntermediate,
    Csi,
    Osc,
    /// DCS, SOS, PM or APC.
    String,
}

/// What a sequence turned out to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A whole `ESC …` or `CSI …` sequence.
    Control,
    /// An `ESC …` or `CSI …` sequence that another one, CAN or SUB cut short.
    Cut,
    /// An OSC sequence without its terminator.
    Osc {
        /// BEL ended it.
        bell: bool,
    },
    /// A string nobody reads, or a sequence beyond its limit.
    Dropped,
}

/// A finished control sequence.
pub(crate) struct Sequence<'a> {
    pub(crate) kind: Kind,
    /// The bytes, introducer included.
    pub(crate) bytes: &'a [u8],
    /// Bells rung inside it.
    pub(crate) bells: u16,
}

/// The next stretch of the input.
pub(crate) struct Scan<'a> {
    /// Where the plain text that comes first ends.
    pub(crate) text_end: usize,
    /// The sequence behind the text, or none if the input ends first.
    pub(crate) sequence: Option<Sequence<'a>>,
    /// Where to go on.
    pub(crate) resume: usize,
}

enum Step {
    More,
    /// The byte was the last one.
    Done(Kind),
    /// The byte before was the last one: this one begins another sequence.
    DoneBefore(Kind),
}

impl Sequencer {
    /// Finds the first sequence that ends in `input[from..]`.
    pub(crate) fn next<'a>(&'a mut self, input: &'a [u8], from: usize) -> Scan<'a> {
        if std::mem::take(&mut self.delivered) {
            self.held.clear();
        }
        let mut start = from;
        let mut at = from;
        if self.state == State::Text {
            let Some(escape) = memchr(ESC, &input[from..]) else {
                return Scan { text_end: input.len(), sequence: None, resume: input.len() };
            };
            start += escape;
            at = start + 1;
            if let Some(length) = plain_csi(&input[start..]) {
                let end = start + length;
                let bytes = &input[start..end];
                let sequence = Sequence { kind: Kind::Control, bytes, bells: 0 };
                return Scan { text_end: start, sequence: Some(sequence), resume: end };
            }
            (self.state, self.length, self.too_long, self.bells) = (State::Escape, 1, false, 0);
        }
        while let Some(&byte) = input.get(at) {
            match self.step(byte) {
                Step::More => at += 1,
                Step::Done(kind) => {
                    let sequence = self.deliver(kind, input, start, at + 1);
                    return Scan { text_end: start, sequence: Some(sequence), resume: at + 1 };
                }
                Step::DoneBefore(kind) => {
                    // ST belongs to the string it ends.
                    let is_string = matches!(self.state, State::Osc | State::String);
                    let terminator = if is_string && input.get(at + 1) == Some(&b'\\') { 2 } else { 0 };
                    let sequence = self.deliver(kind, input, start, at);
                    return Scan { text_end: start, sequence: Some(sequence), resume: at + terminator };
                }
            }
        }
        self.hold(&input[start..]);
        Scan { text_end: start, sequence: None, resume: input.len() }
    }

    /// Appends bytes that bring a fresh sequencer to where this one is: in the middle of the same sequence.
    pub(crate) fn push_unfinished(&self, out: &mut Vec<u8>) {
        let introducer: &[u8] = match self.state {
            State::Text => return,
            State::Escape => b"\x1b",
            State::EscapeIntermediate => b"\x1b ",
            State::Csi => b"\x1b[",
            State::Osc => b"\x1b]",
            State::String => b"\x1b_",
        };
        if self.too_long {
            // What it says no longer counts, only that it is beyond its limit.
            out.extend_from_slice(introducer);
            out.resize(out.len() + self.limit(), 0);
        } else {
            out.extend_from_slice(&self.held);
        }
    }

    /// Follows the same grammar as the parser behind, as far as the ends of sequences go.
    fn step(&mut self, byte: u8) -> Step {
        use State::{Csi, Escape, EscapeIntermediate, Osc, String};
        let broken = if matches!(self.state, Osc | String) { Kind::Dropped } else { Kind::Cut };
        match (self.state, byte) {
            (Osc, ESC) => return Step::DoneBefore(Kind::Osc { bell: false }),
            (_, ESC) => return Step::DoneBefore(broken),
            _ => self.length += 1,
        }
        match (self.state, byte) {
            (_, CAN | SUB) => return Step::Done(broken),
            (Osc, BEL) => return Step::Done(Kind::Osc { bell: true }),
            (Escape | EscapeIntermediate | Csi, BEL) => self.bells = self.bells.saturating_add(1),
            (Escape, b'[') => self.state = Csi,
            (Escape, b']') => self.state = Osc,
            (Escape, b'P' | b'X' | b'^' | b'_') => self.state = String,
            (Escape, 0x20..=0x2f) => self.state = EscapeIntermediate,
            (Escape | EscapeIntermediate, 0x30..=0x7e) | (Csi, 0x40..=0x7e) => {
                return Step::Done(Kind::Control);
            }
            _ => {}
        }
        self.too_long |= self.length > self.limit();
        Step::More
    }

    fn limit(&self) -> usize {
        match self.state {
            State::Osc => OSC_LIMIT,
            State::String => 0,
            _ => CONTROL_LIMIT,
        }
    }

    /// Keeps the bytes of an unfinished sequence unless it is already too long.
    fn hold(&mut self, bytes: &[u8]) {
        if self.too_long {
            self.held = Vec::new();
        } else {
            self.held.extend_from_slice(bytes);
        }
    }

    fn deliver<'a>(&'a mut self, kind: Kind, input: &'a [u8], start: usize, end: usize) -> Sequence<'a> {
        // BEL ends an OSC sequence but is no part of it.
        let here = &input[start..end - usize::from(kind == Kind::Osc { bell: true })];
        (self.state, self.delivered) = (State::Text, true);
        let (kind, bytes) = if self.too_long {
            (Kind::Dropped, &[][..])
        } else if self.held.is_empty() {
            (kind, here)
        } else {
            self.held.extend_from_slice(here);
            (kind, &self.held[..])
        };
        Sequence { kind, bytes, bells: self.bells }
    }
}

/// Returns the length of the CSI sequence that `input` begins with, if it is an everyday one: nearly all are.
fn plain_csi(input: &[u8]) -> Option<usize> {
    let body = input.strip_prefix(b"\x1b[")?;
    let end = body.iter().take(EVERYDAY).position(|byte| !(0x20..0x40).contains(byte))?;
    (0x40..0x7f).contains(&body[end]).then_some(end + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds the pieces and lists text as is and sequences as `<kind:bytes>`.
    fn scan(pieces: &[&[u8]]) -> String {
        let mut sequencer = Sequencer::default();
        let mut found = String::new();
        for piece in pieces {
            let mut from = 0;
            loop {
                let scan = sequencer.next(piece, from);
                found += &String::from_utf8_lossy(&piece[from..scan.text_end.max(from)]);
                from = scan.resume;
                let Some(sequence) = scan.sequence else { break };
                let bytes = String::from_utf8_lossy(sequence.bytes).replace('\x1b', "^");
                let shown = match sequence.kind {
                    Kind::Control => format!("<{bytes}>"),
                    Kind::Cut => format!("<cut {bytes}>"),
                    Kind::Osc { .. } => format!("<osc {bytes}>"),
                    Kind::Dropped => "<->".to_owned(),
                };
                found.push_str(&shown);
            }
        }
        found
    }

    #[test]
    fn sequences_are_found_whatever_the_pieces() {
        for (input, expected) in [
            (&b"plain"[..], "plain"),
            (b"a\x1b[1;31mb\x1bMc", "a<^[1;31m>b<^M>c"),
            (b"\x1b(0q\x1b#8", "<^(0>q<^#8>"),
            (b"\x1b]0;title\x07x", "<osc ^]0;title>x"),
            (b"\x1b]0;caf\xc3\xa9\x1b\\x", "<osc ^]0;caf\u{e9}>x"),
            (b"\x1bP+q544e\x1b\\x\x1b_app\x1b\\y", "<->x<->y"),
            (b"\x1b[12\x18x\x1b[3\x1b[4mz", "<cut ^[12\x18>x<cut ^[3><^[4m>z"),
            (b"\x1b\x1b[m", "<cut ^><^[m>"),
            (b"\x1b]9;cut\x18x", "<->x"),
            (b"\x1bPx\x1b\\\x1b]9;a\x07", "<-><osc ^]9;a>"),
        ] {
            assert_eq!(scan(&[input]), expected, "{input:?}");
            for split in 1..input.len() {
                let pieces = [&input[..split], &input[split..]];
                // ST that arrives in two pieces ends the string with its first byte.
                assert_eq!(scan(&pieces).replace("<^\\>", ""), expected, "{input:?} split at {split}");
            }
        }
    }

    #[test]
    fn what_is_too_long_is_dropped_and_not_kept() {
        let mut sequencer = Sequencer::default();
        let mut feed = |piece: &[u8]| {
            let scan = sequencer.next(piece, 0);
            (scan.sequence.map(|sequence| sequence.kind), sequencer.held.capacity())
        };
        feed(b"\x1b]52;c;");
        for _ in 0..1000 {
            let (kind, held) = feed(&[b'x'; 1000]);
            assert!(kind.is_none() && held < 16_384);
        }
        assert_eq!(feed(b"\x07").0, Some(Kind::Dropped));
        assert_eq!(feed(&[b"\x1b]0;", &[b'x'; 4096][..], b"\x07"].concat()).0, Some(Kind::Dropped));
        assert_eq!(
            feed(&[b"\x1b]0;", &[b'x'; 4094][..], b"\x07"].concat()).0,
            Some(Kind::Osc { bell: true })
        );
        assert_eq!(feed(&[b"\x1b[", &[b'1'; 2000][..], b"m"].concat()).0, Some(Kind::Dropped));
    }
}
