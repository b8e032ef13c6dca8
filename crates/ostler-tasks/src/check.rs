//! Commands that tell whether a task is done.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A command that succeeds if the task is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Check {
    /// A line for the shell.
    Shell(String),
    /// A program with its arguments; no shell reads it.
    Program(Vec<String>),
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shell(line) => f.write_str(line),
            Self::Program(argv) => {
                for (index, argument) in argv.iter().enumerate() {
                    let space = if index == 0 { "" } else { " " };
                    let plain = !argument.is_empty()
                        && argument.chars().all(|c| c.is_alphanumeric() || "-_./=:,+@%".contains(c));
                    if plain {
                        write!(f, "{space}{argument}")?;
                    } else {
                        write!(f, "{space}'{}'", argument.replace('\'', r"'\''"))?;
                    }
                }
                Ok(())
            }
        }
    }
}

impl Check {
    /// A line for the shell, if there is anything on it.
    ///
    /// # Errors
    ///
    /// Why it is no check.
    pub fn shell(line: &str) -> Result<Self, EmptyCheck> {
        if line.trim().is_empty() { Err(EmptyCheck) } else { Ok(Self::Shell(line.to_owned())) }
    }
}

/// There is nothing to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an empty check always succeeds; write a command, or leave it out")]
pub struct EmptyCheck;

impl<'de> Deserialize<'de> for Check {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CheckVisitor)
    }
}

struct CheckVisitor;

impl<'de> Visitor<'de> for CheckVisitor {
    type Value = Check;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a line for the shell, such as \"cargo test\", or a program with its arguments, such as [\"cargo\", \"test\"]")
    }

    fn visit_str<E: Error>(self, line: &str) -> Result<Check, E> {
        Check::shell(line).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Check, A::Error> {
        let mut argv: Vec<String> = Vec::new();
        while let Some(argument) = items.next_element()? {
            argv.push(argument);
        }
        if argv.first().is_none_or(|program| program.trim().is_empty()) {
            return Err(A::Error::custom("a check needs a program; write it as the first of the array"));
        }
        Ok(Check::Program(argv))
    }
}
