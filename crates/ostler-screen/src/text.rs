//! Text that cannot steer a terminal.

use std::fmt;

/// Text that is safe to type into a program: no escape sequences, no control characters.
///
/// Newlines and tabs are the only control characters it can hold, and newline the only line end.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct SafeText(String);

impl SafeText {
    /// Makes any text safe: drops ESC, the other control characters of C0 and C1, and DEL; CRLF and CR become
    /// newlines.
    pub fn new(text: &str) -> Self {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        Self(text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect())
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the bytes that paste the text.
    ///
    /// With `bracketed` they are framed so that the program takes them as one piece. Without, every newline
    /// is what the Enter key sends, as terminals do it.
    pub fn paste(&self, bracketed: bool) -> Vec<u8> {
        if bracketed {
            [b"\x1b[200~", self.0.as_bytes(), b"\x1b[201~"].concat()
        } else {
            self.0.replace('\n', "\r").into_bytes()
        }
    }
}

impl fmt::Display for SafeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Makes one short line of a program's text: no control characters, at most `max` characters.
pub(crate) fn one_line(text: &str, max: usize) -> String {
    let mut line = String::new();
    let mut space = false;
    for character in text.chars().filter(|c| !c.is_control() || c.is_ascii_whitespace()).take(max) {
        // Line ends and tabs become a single blank; blanks of the program's own stay.
        let is_break = character.is_control();
        if !(is_break && space) {
            line.push(if is_break { ' ' } else { character });
        }
        space = is_break;
    }
    line.truncate(line.trim_end().len());
    line.drain(..line.len() - line.trim_start().len());
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_dropped_and_what_stays() {
        for (text, safe) in [
            ("plain ü 🦀", "plain ü 🦀"),
            ("a\x1b[201~b", "a[201~b"),
            ("one\r\ntwo\rthree\nfour\tfive", "one\ntwo\nthree\nfour\tfive"),
            ("\0\x07\x08\x7f\u{80}\u{9b}31m\u{9f}", "31m"),
        ] {
            assert_eq!(SafeText::new(text).as_str(), safe);
        }
    }

    #[test]
    fn pasting_frames_the_text_or_presses_enter() {
        let text = SafeText::new("a\nb");
        assert_eq!(text.paste(true), b"\x1b[200~a\nb\x1b[201~");
        assert_eq!(text.paste(false), b"a\rb");
    }

    #[test]
    fn one_line_is_short_and_flat() {
        assert_eq!(one_line("  a\r\n\tb  c\x1b]\x07 ", 99), "a b  c]");
        assert_eq!(one_line("ééééé", 3), "ééé");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn safe_text_is_safe_and_stays_the_same(text in any::<String>()) {
            let safe = SafeText::new(&text);
            prop_assert!(safe.as_str().chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
            prop_assert_eq!(&SafeText::new(safe.as_str()), &safe);
            prop_assert_eq!(memchr::memchr_iter(0x1b, &safe.paste(true)).count(), 2);
        }
    }
}
