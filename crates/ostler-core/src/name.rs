//! What sessions may be called.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

const MAX_LEN: usize = 64;

/// A session's name: letters, digits, `.`, `_` and `-`, starting with a letter or digit, so that it can stand
/// on any command line and in any path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionName(String);

/// A text that cannot be a session's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} cannot be a session name: use 1 to {MAX_LEN} letters, digits, '.', '_' or '-', starting with a letter or digit"
)]
pub struct BadName(pub String);

impl SessionName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A name made from a program's file name, whatever characters that has.
    pub fn for_program(program: &str) -> Self {
        let base = program.rsplit('/').next().unwrap_or(program);
        let clean: String = base
            .chars()
            .filter(|c| is_name_char(*c))
            .skip_while(|c| !c.is_ascii_alphanumeric())
            .take(48)
            .collect();
        Self(if clean.is_empty() { "session".to_owned() } else { clean })
    }

    /// This name if it is free, else the first free one of `name-2`, `name-3`, ….
    #[must_use]
    pub fn first_free(&self, taken: impl Fn(&Self) -> bool) -> Self {
        if !taken(self) {
            return self.clone();
        }
        let mut number = 2u64;
        loop {
            let name = Self(format!("{}-{number}", self.0));
            if !taken(&name) {
                return name;
            }
            number += 1;
        }
    }
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

impl FromStr for SessionName {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let good = text.len() <= MAX_LEN
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(is_name_char);
        if good { Ok(Self(text.to_owned())) } else { Err(BadName(text.to_owned())) }
    }
}

impl TryFrom<String> for SessionName {
    type Error = BadName;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<SessionName> for String {
    fn from(name: SessionName) -> Self {
        name.0
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_command_lines_and_paths() {
        for good in ["a", "agent-1", "x.y_z", &"n".repeat(64)] {
            assert!(good.parse::<SessionName>().is_ok(), "{good}");
        }
        for bad in ["", "-a", ".a", "a b", "a/b", "é", "a\n", &"n".repeat(65)] {
            assert!(bad.parse::<SessionName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn every_program_gets_a_valid_free_name() {
        for (program, name) in
            [("/usr/bin/vim", "vim"), ("./-odd", "odd"), ("日本", "session"), ("a b", "ab")]
        {
            let made = SessionName::for_program(program);
            assert_eq!(made.as_str(), name);
            assert!(made.as_str().parse::<SessionName>().is_ok());
        }
        let taken = ["sh", "sh-2"];
        let name = SessionName::for_program("sh").first_free(|name| taken.contains(&name.as_str()));
        assert_eq!(name.as_str(), "sh-3");
    }
}
