//! Texts that mean themselves: agents take some characters for commands, modes and completions.

use std::borrow::Cow;

use crate::Input;

impl Input {
    /// What to type so that the agent takes this text as it is.
    pub fn literally<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let begins = |part: &str, with: &str| part.chars().next().is_some_and(|first| with.contains(first));
        let triggers = !self.literal.is_empty() && begins(text.trim_start(), &self.triggers);
        // A menu looks at the word before the cursor, which is the last.
        let last = text.rsplit(char::is_whitespace).next().unwrap_or_default();
        let completes = !self.closing.is_empty() && begins(last, &self.completers);
        if !triggers && !completes {
            return Cow::Borrowed(text);
        }
        let before = if triggers { self.literal.as_str() } else { "" };
        let behind = if completes { self.closing.as_str() } else { "" };
        Cow::Owned([before, text, behind].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_a_command_is_made_a_text() {
        let input = Input {
            triggers: "/!".into(),
            literal: " ".into(),
            completers: "@/".into(),
            closing: " ".into(),
            ..Input::default()
        };
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
