//! What is wrong with a file of tasks.

use std::fmt;

use serde::Serialize;

/// Why a file of tasks is refused, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskError {
    /// The file, as people know it.
    pub file: String,
    /// The line, from 1, if it is known.
    pub line: Option<usize>,
    /// The field, from the top of the file, if it is known.
    pub field: Option<String>,
    /// What is wrong, and what to do.
    pub reason: String,
}

impl std::error::Error for TaskError {}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(field) = &self.field {
            write!(f, ": {field}")?;
        }
        write!(f, ": {}", self.reason)
    }
}
