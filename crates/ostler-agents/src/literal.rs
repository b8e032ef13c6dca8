//! Texts that mean themselves: agents take some characters for commands, modes and completions.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::Input;

impl Input {
    /// What to type so that the agent takes this text as it is.
    pub fn literally<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let first = |part: &str| part.chars().next();
        let typed = |by: &BTreeMap<char, String>, part: &str| first(part).and_then(|c| by.get(&c).cloned());
        // A menu looks at the word before the cursor, which is the last.
        let last = text.rsplit(char::is_whitespace).next().unwrap_or_default();
        match (typed(&self.literal, text.trim_start()), typed(&self.closing, last)) {
            (None, None) => Cow::Borrowed(text),
            (before, behind) => {
                Cow::Owned([&before.unwrap_or_default(), text, &behind.unwrap_or_default()].concat())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_a_command_is_made_a_text() {
        let blank = |characters: &str| characters.chars().map(|c| (c, " ".to_owned())).collect();
        let input = Input { literal: blank("/!"), closing: blank("@/"), ..Input::default() };
        for (text, typed) in [
            ("plain", "plain"),
            ("/help me", " /help me"),
            ("  /help me", "   /help me"),
            ("/help", " /help "),
            ("a / b", "a / b"),
            ("see @READ", "see @READ "),
            ("see @READ now", "see @READ now"),
            ("one\n@two", "one\n@two "),
            ("a@b", "a@b"),
            ("", ""),
        ] {
            assert_eq!(input.literally(text), typed, "{text:?}");
        }
        assert_eq!(Input::default().literally("/help"), "/help");
    }
}
