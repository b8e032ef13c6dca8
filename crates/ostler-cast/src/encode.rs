//! Bytes and times to event lines.

use std::borrow::Cow;
use std::time::Duration;

use crate::json::push_escaped;

/// Turns what passes through a terminal into asciicast event lines.
///
/// Every method appends whole lines to `out`; `at` is the time since the recording began. A call whose bytes
/// only begin a character appends nothing and remembers them.
#[derive(Debug, Default)]
pub struct Encoder {
    output: Tail,
    input: Tail,
}

/// The bytes of a character that has not arrived in full: three at most.
#[derive(Debug, Default)]
struct Tail(Vec<u8>);

impl Encoder {
    /// Creates an encoder with nothing held back.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records bytes the program wrote to the terminal.
    pub fn output(&mut self, at: Duration, bytes: &[u8], out: &mut Vec<u8>) {
        self.output.event(at, b'o', bytes, out);
    }

    /// Records bytes typed into the terminal.
    pub fn input(&mut self, at: Duration, bytes: &[u8], out: &mut Vec<u8>) {
        self.input.event(at, b'i', bytes, out);
    }

    /// Records that something was typed, and not what: of the text only Enter is kept.
    pub fn typed(&mut self, at: Duration, enter: bool, out: &mut Vec<u8>) {
        begin(out, at, b'i');
        if enter {
            push_escaped(out, "\r");
        }
        end(out);
    }

    /// Records a new size of the terminal.
    pub fn resize(&mut self, at: Duration, cols: u16, rows: u16, out: &mut Vec<u8>) {
        begin(out, at, b'r');
        out.extend_from_slice(format!("{cols}x{rows}").as_bytes());
        end(out);
    }

    /// Records a named point in time.
    pub fn marker(&mut self, at: Duration, text: &str, out: &mut Vec<u8>) {
        begin(out, at, b'm');
        push_escaped(out, text);
        end(out);
    }

    /// Writes what is still held back, as U+FFFD: the rest of the character will not come.
    pub fn finish(&mut self, at: Duration, out: &mut Vec<u8>) {
        for (tail, code) in [(&mut self.output, b'o'), (&mut self.input, b'i')] {
            if !tail.0.is_empty() {
                tail.0.clear();
                begin(out, at, code);
                push_escaped(out, "\u{fffd}");
                end(out);
            }
        }
    }
}

impl Tail {
    fn event(&mut self, at: Duration, code: u8, bytes: &[u8], out: &mut Vec<u8>) {
        let bytes = if self.0.is_empty() {
            Cow::Borrowed(bytes)
        } else {
            let mut joined = std::mem::take(&mut self.0);
            joined.extend_from_slice(bytes);
            Cow::Owned(joined)
        };
        let complete = bytes.len() - unfinished(&bytes);
        self.0.extend_from_slice(&bytes[complete..]);
        if complete == 0 {
            return;
        }
        begin(out, at, code);
        for chunk in bytes[..complete].utf8_chunks() {
            push_escaped(out, chunk.valid());
            if !chunk.invalid().is_empty() {
                push_escaped(out, "\u{fffd}");
            }
        }
        end(out);
    }
}

/// Counts the bytes at the end that could still become a character.
fn unfinished(bytes: &[u8]) -> usize {
    let could_go_on = |count: &usize| {
        let tail = &bytes[bytes.len() - count..];
        std::str::from_utf8(tail).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=bytes.len().min(3)).find(could_go_on).unwrap_or(0)
}

fn begin(out: &mut Vec<u8>, at: Duration, code: u8) {
    out.extend_from_slice(
        format!("[{}.{:06}, \"{}\", \"", at.as_secs(), at.subsec_micros(), code as char).as_bytes(),
    );
}

fn end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"\"]\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(record: impl FnOnce(&mut Encoder, &mut Vec<u8>)) -> String {
        let (mut encoder, mut out) = (Encoder::new(), Vec::new());
        record(&mut encoder, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_kind_of_event_is_one_line() {
        let text = lines(|encoder, out| {
            encoder.output(Duration::from_millis(1), b"\x1b[1mhi\r\n", out);
            encoder.input(Duration::from_millis(1500), b"y\r", out);
            encoder.resize(Duration::from_secs(61), 100, 30, out);
            encoder.marker(Duration::from_micros(62_000_001), "turn \"2\"", out);
        });
        assert_eq!(
            text,
            concat!(
                "[0.001000, \"o\", \"\\u001b[1mhi\\r\\n\"]\n",
                "[1.500000, \"i\", \"y\\r\"]\n",
                "[61.000000, \"r\", \"100x30\"]\n",
                "[62.000001, \"m\", \"turn \\\"2\\\"\"]\n",
            )
        );
    }

    #[test]
    fn a_split_character_is_written_whole_in_the_later_event() {
        let crab = "🦀".as_bytes();
        let text = lines(|encoder, out| {
            encoder.output(Duration::ZERO, &crab[..1], out);
            encoder.output(Duration::ZERO, &crab[1..3], out);
            assert!(out.is_empty());
            // The other direction has its own tail.
            encoder.input(Duration::ZERO, b"x", out);
            encoder.output(Duration::from_secs(1), &crab[3..], out);
            encoder.finish(Duration::from_secs(2), out);
        });
        assert_eq!(text, "[0.000000, \"i\", \"x\"]\n[1.000000, \"o\", \"🦀\"]\n");
    }

    #[test]
    fn hostile_bytes_become_replacement_characters() {
        for (bytes, expected) in [
            (&b"a\xffb"[..], "a\u{fffd}b"),
            (b"\xc0\xaf", "\u{fffd}\u{fffd}"),
            (b"\xed\xa0\x80.", "\u{fffd}\u{fffd}\u{fffd}."),
            (b"\xe2\x94A", "\u{fffd}A"),
            (b"ok\xf0\x9f\xa6", "ok\"]\n[0.000000, \"o\", \"\u{fffd}"),
        ] {
            let text = lines(|encoder, out| {
                encoder.output(Duration::ZERO, bytes, out);
                encoder.finish(Duration::ZERO, out);
            });
            assert_eq!(text, format!("[0.000000, \"o\", \"{expected}\"]\n"), "{bytes:x?}");
        }
    }

    #[test]
    fn no_bytes_make_no_event() {
        assert_eq!(lines(|encoder, out| encoder.output(Duration::ZERO, b"", out)), "");
    }
}
