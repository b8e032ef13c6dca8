//! What tasks may be called.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

const MAX_LEN: usize = 64;

/// A task's name: letters, digits, `.`, `_` and `-`, starting with a letter or digit, so that it can stand in any
/// path and in any branch's name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TaskId(String);

/// A text that cannot be a task's id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} cannot be an id; use 1 to {MAX_LEN} letters, digits, '.', '_' or '-', starting with a letter or digit"
)]
pub struct BadId(pub String);

impl TaskId {
    /// An id to try things with.
    pub(crate) fn sample() -> Self {
        Self("sample".into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TaskId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let good = text.len() <= MAX_LEN
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
            // Names of branches cannot have these.
            && !text.contains("..")
            && !text.ends_with('.');
        if good { Ok(Self(text.to_owned())) } else { Err(BadId(text.to_owned())) }
    }
}

impl TryFrom<String> for TaskId {
    type Error = BadId;

    fn try_from(text: String) -> Result<Self, BadId> {
        text.parse()
    }
}

impl From<TaskId> for String {
    fn from(id: TaskId) -> Self {
        id.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
