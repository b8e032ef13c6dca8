//! What went wrong, for a person and for the exit code.

use std::io::{self, Write};
use std::process::ExitCode;

use ostler_protocol::{ErrorKind, Problem};

use crate::hints;
use crate::output::visible;

/// Kinds of failure, one per exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It was tried and did not work.
    Failed,
    /// The command makes no sense.
    Usage,
    /// There is no daemon to be had.
    Unreachable,
    /// It took too long.
    TimedOut,
    /// A person is needed.
    Blocked,
    /// Nobody reads what the command prints: it ends, quietly.
    ReaderGone,
    /// A defect of ostler.
    Internal,
}

impl Kind {
    /// The exit code, which scripts rely on.
    pub(crate) fn exit_code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::ReaderGone => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Unreachable => 3,
            Self::TimedOut => 4,
            Self::Blocked => 5,
            Self::Internal => 70,
        })
    }
}

/// A failed command.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) kind: Kind,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl CommandError {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    pub(crate) fn reader_gone() -> Self {
        Self::new(Kind::ReaderGone, "nobody reads the output")
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Tells the person, and returns what the process ends with.
    pub(crate) fn report(&self) -> ExitCode {
        if self.kind == Kind::ReaderGone {
            return self.kind.exit_code();
        }
        let mut stderr = io::stderr().lock();
        let _ = writeln!(stderr, "ostler: {}", visible(&self.message));
        if let Some(hint) = &self.hint {
            let _ = writeln!(stderr, "hint: {}", visible(hint));
        }
        self.kind.exit_code()
    }
}

impl From<Problem> for CommandError {
    fn from(problem: Problem) -> Self {
        let kind = match problem.kind {
            ErrorKind::Usage => Kind::Usage,
            ErrorKind::Internal => Kind::Internal,
            ErrorKind::NotFound
            | ErrorKind::Conflict
            | ErrorKind::Ended
            | ErrorKind::Failed
            | ErrorKind::Storage => Kind::Failed,
        };
        let hint = hints::for_problem(&problem).or(problem.hint);
        Self { kind, message: problem.message, hint }
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        Self::new(Kind::Failed, error.to_string())
    }
}
