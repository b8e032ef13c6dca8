//! Text as words, numbers and marks.

/// More of a text is not looked at.
const MAX_BYTES: usize = 4 << 10;

/// A piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// ASCII letters, in small letters.
    Word(&'a str),
    /// Digits, perhaps with a fraction.
    Number(&'a str),
    /// Anything else but white space.
    Mark(char),
}

/// A text to read, in small letters.
pub(super) fn lower(text: &str) -> String {
    let end = (0..=MAX_BYTES.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    text[..end].to_ascii_lowercase()
}

/// The tokens of a text that is in small letters.
pub(super) fn split(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            _ if c.is_ascii_alphabetic() => run(rest, |c| c.is_ascii_alphabetic()),
            _ if c.is_ascii_digit() => number(rest),
            _ => c.len_utf8(),
        };
        let (piece, behind) = rest.split_at(length);
        if c.is_ascii_alphabetic() {
            tokens.push(Token::Word(piece));
        } else if c.is_ascii_digit() {
            tokens.push(Token::Number(piece));
        } else if !c.is_whitespace() {
            tokens.push(Token::Mark(c));
        }
        rest = behind;
    }
    tokens
}

fn run(text: &str, is: fn(char) -> bool) -> usize {
    text.find(|c| !is(c)).unwrap_or(text.len())
}

/// The length of a number. A point belongs to it only with a digit behind.
fn number(text: &str) -> usize {
    let whole = run(text, |c| c.is_ascii_digit());
    match text[whole..].strip_prefix('.') {
        Some(fraction) if fraction.starts_with(|c: char| c.is_ascii_digit()) => {
            whole + 1 + run(fraction, |c| c.is_ascii_digit())
        }
        _ => whole,
    }
}

/// A place in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'t, 'a> {
    tokens: &'t [Token<'a>],
}

impl<'t, 'a> Cursor<'t, 'a> {
    pub(super) fn new(tokens: &'t [Token<'a>]) -> Self {
        Self { tokens }
    }

    pub(super) fn peek(&self) -> Option<Token<'a>> {
        self.tokens.first().copied()
    }

    pub(super) fn next(&mut self) -> Option<Token<'a>> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(*first)
    }

    /// The next token, if it is a word that is wanted.
    pub(super) fn word<T>(&mut self, wanted: impl FnOnce(&'a str) -> Option<T>) -> Option<T> {
        let Some(Token::Word(word)) = self.peek() else { return None };
        let found = wanted(word)?;
        self.next();
        Some(found)
    }

    /// The next token, if it is a whole number.
    pub(super) fn whole<T: std::str::FromStr>(&mut self) -> Option<T> {
        let Some(Token::Number(digits)) = self.peek() else { return None };
        let found = digits.parse().ok()?;
        self.next();
        Some(found)
    }

    /// Passes over a mark, if it is the next token.
    pub(super) fn mark(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(Token::Mark(wanted));
        if found {
            self.next();
        }
        found
    }

    /// What `read` finds; the place stays the same if it finds nothing.
    pub(super) fn attempt<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let mut ahead = *self;
        let found = read(&mut ahead)?;
        *self = ahead;
        Some(found)
    }
}
