//! Names of keys. What belongs together has one hash tag: the part in braces decides the place in a cluster.

use std::fmt::Write as _;

use crate::shared::Kind;

/// The keys of one group of machines.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    prefix: String,
}

impl Keys {
    pub(super) fn new(prefix: &str) -> Self {
        Self { prefix: encoded(prefix) }
    }

    fn tag(&self, kind: &str, name: &str) -> String {
        format!("{{{}:{kind}:{}}}", self.prefix, encoded(name))
    }

    pub(super) fn cell(&self, kind: Kind, name: &str) -> String {
        self.tag(kind.as_str(), name)
    }

    /// The names of all cells of a kind.
    pub(super) fn index(&self, kind: Kind) -> String {
        format!("{{{}:{}s}}", self.prefix, kind.as_str())
    }

    pub(super) fn continuity(&self, project: &str) -> String {
        self.tag("continuity", project)
    }
}

/// A name without braces, blanks or line breaks; different names stay different.
pub(super) fn encoded(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._/@+".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_one_tag_whatever_the_name() {
        let keys = Keys::new("ostler");
        assert_eq!(keys.cell(Kind::Breaker, "one"), "{ostler:breaker:one}");
        assert_eq!(keys.index(Kind::Run), "{ostler:runs}");
        assert_eq!(keys.continuity("/a b/{x}:%"), "{ostler:continuity:/a%20b/%7Bx%7D%3A%25}");
        assert_eq!(keys.continuity(""), "{ostler:continuity:}");
    }
}
