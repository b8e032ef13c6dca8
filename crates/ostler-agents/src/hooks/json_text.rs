//! JSON as text that is changed in place: what is not touched keeps its order, its spelling and its white space.

use std::ops::Range;

use serde_json::Value;

/// Where something stands in a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Scalar,
}

/// A member of an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    pub(super) key: String,
    /// From the key to the end of the value.
    pub(super) span: Range<usize>,
    pub(super) value: Node,
}

impl Node {
    /// The member that counts: of several with one name, the last.
    pub(super) fn member(&self, key: &str) -> Option<&Member> {
        match &self.kind {
            Kind::Object(members) => members.iter().rev().find(|member| member.key == key),
            _ => None,
        }
    }

    /// Where the elements or members stand.
    pub(super) fn parts(&self) -> Vec<Range<usize>> {
        match &self.kind {
            Kind::Object(members) => members.iter().map(|member| member.span.clone()).collect(),
            Kind::Array(items) => items.iter().map(|item| item.span.clone()).collect(),
            Kind::Scalar => Vec::new(),
        }
    }
}

/// Finds where everything stands in a text that is known to be JSON and not nested deeper than the parser that
/// found that out allows.
pub(super) fn nodes(text: &str) -> Option<Node> {
    let mut scanner = Scanner { text, at: 0 };
    scanner.space();
    scanner.value()
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Takes the byte if it is next, and the white space behind it.
    fn takes(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.at += 1;
            self.space();
        }
        found
    }

    fn value(&mut self) -> Option<Node> {
        let start = self.at;
        let kind = match self.peek()? {
            b'{' => {
                let mut members = Vec::new();
                self.takes(b'{');
                while self.peek()? != b'}' {
                    members.push(self.pair()?);
                    self.space();
                    self.takes(b',');
                }
                self.at += 1;
                Kind::Object(members)
            }
            b'[' => {
                let mut items = Vec::new();
                self.takes(b'[');
                while self.peek()? != b']' {
                    items.push(self.value()?);
                    self.space();
                    self.takes(b',');
                }
                self.at += 1;
                Kind::Array(items)
            }
            b'"' => {
                self.string();
                Kind::Scalar
            }
            _ => {
                let ends = |byte: u8| byte.is_ascii_whitespace() || b",]}".contains(&byte);
                while self.peek().is_some_and(|byte| !ends(byte)) {
                    self.at += 1;
                }
                // Something that is no value must not keep the loops above busy for ever.
                if self.at == start {
                    return None;
                }
                Kind::Scalar
            }
        };
        Some(Node { span: start..self.at, kind })
    }

    fn pair(&mut self) -> Option<Member> {
        let start = self.at;
        self.string();
        let key = serde_json::from_str(&self.text[start..self.at]).ok()?;
        self.space();
        if !self.takes(b':') {
            return None;
        }
        let value = self.value()?;
        Some(Member { key, span: start..self.at, value })
    }

    fn string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                break;
            }
        }
        self.at = self.at.min(self.text.len());
    }
}

/// How a text is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    unit: String,
    newline: &'static str,
}

impl Layout {
    /// Sees how a text is laid out by how its first member is.
    pub(super) fn of(text: &str, root: &Node) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let first = root.parts().first().map_or("", |first| &text[root.span.start + 1..first.start]);
        let unit = first.rsplit('\n').next().filter(|_| first.contains('\n')).unwrap_or("  ");
        Self { unit: if unit.is_empty() { "  ".into() } else { unit.into() }, newline }
    }

    /// A value over several lines, the first of which is at `level`.
    pub(super) fn render(&self, value: &Value, level: usize) -> String {
        let pretty = serde_json::to_string_pretty(value).unwrap_or_default();
        let lines = pretty.lines().enumerate().map(|(index, line)| {
            let depth = (line.len() - line.trim_start_matches(' ').len()) / 2;
            let indent = if index == 0 { String::new() } else { self.unit.repeat(level + depth) };
            format!("{indent}{}", line.trim_start_matches(' '))
        });
        lines.collect::<Vec<_>>().join(self.newline)
    }
}

/// Puts a part at the end of a container.
///
/// In one that was empty nothing but the part itself is put, without white space before it: that is how
/// [`without`] knows that the container was there before.
pub(super) fn with(text: &str, container: &Node, part: &str) -> String {
    let parts = container.parts();
    let opening = container.span.start + 1;
    match (parts.first(), parts.last()) {
        (Some(first), Some(last)) => {
            let space = &text[opening..first.start];
            format!("{},{space}{part}{}", &text[..last.end], &text[last.end..])
        }
        _ => format!("{}{part}{}", &text[..opening], &text[opening..]),
    }
}

/// Takes a part out of a container again, if the container stays.
pub(super) fn without(text: &str, container: &Node, index: usize) -> String {
    let parts = container.parts();
    let Some(part) = parts.get(index) else { return text.to_owned() };
    let gone = match (index.checked_sub(1).map(|before| &parts[before]), parts.get(index + 1)) {
        (Some(before), _) => before.end..part.end,
        (None, Some(after)) => part.start..after.start,
        (None, None) => part.clone(),
    };
    format!("{}{}", &text[..gone.start], &text[gone.end..])
}

/// Whether a container was made together with its only part: see [`with`].
pub(super) fn made_together(text: &str, container: &Node) -> bool {
    let parts = container.parts();
    parts.len() == 1 && !text[container.span.start + 1..parts[0].start].is_empty()
}

/// The line that a place in a text is in, counted from one.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or(text).matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_found_where_it_stands() {
        let text = " {\"a\" : [1, \"x]\\\"\", {}] ,\n\"b\":{\"c\":null} , \"b\": true}\n";
        let root = nodes(text).unwrap();
        let at = |key: &str| &text[root.member(key).unwrap().value.span.clone()];
        assert_eq!(at("a"), "[1, \"x]\\\"\", {}]");
        assert_eq!(at("b"), "true");
        assert_eq!(root.member("a").unwrap().value.parts().len(), 3);
        assert!(root.member("c").is_none());
        for broken in ["", "{", "[1,", "{\"a\"", "{\"a\" 1}", "[,]", "{]", "\"\\"] {
            let _ = nodes(broken);
        }
    }

    #[test]
    fn a_part_is_taken_out_as_it_was_put_in() {
        for text in
            ["{}", "{ }", "{\n}", "{\"a\":1}", "{\n\t\"a\": 1,\n\t\"b\": 2\n}", "[]", "[1]", "[ 1, 2 ]\n"]
        {
            let root = nodes(text).unwrap();
            let part = if text.starts_with('{') { "\"x\": {}" } else { "{}" };
            let more = with(text, &root, part);
            serde_json::from_str::<Value>(&more).unwrap();
            let root = nodes(&more).unwrap();
            assert_eq!(without(&more, &root, root.parts().len() - 1), text);
        }
    }
}
