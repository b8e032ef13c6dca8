//! How a turn or a process ended.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::breaker::{Evidence, Limit};
use crate::detector::Reporter;
use crate::{Asking, Failure, Wall};

/// Why an agent does no more. All of it is structured: what the agent wrote is not looked at here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Stop {
    /// It worked on the prompt and is idle now.
    Idle {
        /// Its last words ask something.
        asks: bool,
    },
    /// Its turn failed.
    TurnFailed {
        /// Who says so.
        by: Reporter,
        /// What went wrong.
        failure: Failure,
        /// When it can be tried again.
        until: Option<Wall>,
    },
    /// Its status on the terminal is an error.
    StatusError,
    /// Its process ended.
    Exited {
        /// Exit status.
        status: Option<u8>,
        /// Signal.
        signal: Option<u8>,
    },
    /// A person or a program asked ostler to end it.
    Ended,
    /// It is gone with its terminal, and how it ended is unknown.
    Lost,
    /// It shows a limit.
    Limited {
        /// The limit that was hit.
        limit: Limit,
        /// When it ends.
        until: Option<Wall>,
    },
    /// It waits for a person.
    Blocked {
        /// What for.
        kind: Asking,
    },
}

impl Stop {
    /// How a process ended. One that was asked to end did so for that reason, whatever its exit status is.
    pub fn of_process(exit: Option<Exit>, stop_requested: bool) -> Self {
        match exit {
            Some(_) if stop_requested => Self::Ended,
            Some(Exit { status, signal }) if status.is_some() || signal.is_some() => {
                Self::Exited { status, signal }
            }
            _ => Self::Lost,
        }
    }

    /// Whether the agent's last words ask something.
    pub fn asks(&self) -> bool {
        *self == Self::Idle { asks: true }
    }

    /// What speaks against the provider, and until when.
    pub fn evidence(&self) -> Option<(Evidence, Option<Wall>)> {
        let (evidence, until) = match *self {
            Self::Idle { .. } | Self::Blocked { .. } | Self::Ended | Self::Lost => return None,
            Self::TurnFailed { by, failure, until } => (Evidence::TurnFailed { by, failure }, until),
            Self::StatusError => (Evidence::StatusError, None),
            Self::Exited { status, signal } => (Evidence::Exited { status, signal }, None),
            Self::Limited { limit, until } => (Evidence::LimitShown { limit }, until),
        };
        evidence.reason().map(|_| (evidence, until))
    }
}

/// How a process ended, from its exit record. Both are missing where its terminal was lost with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Exit {
    /// Exit status, where it ended by itself.
    pub status: Option<u8>,
    /// Signal that ended it, where one did.
    pub signal: Option<u8>,
}

/// What shows that an agent does no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The turn is over: the agent is idle, shows a limit, or shows an error.
    TurnEnded,
    /// A dialog is open that no policy answers.
    DialogOpen,
    /// Calls to the model fail, and the agent only retries them.
    RetriesFailing,
    /// The process behind the terminal ended.
    PtyExit,
    /// A person or the agent asks that it goes on.
    ExplicitRequest,
}

impl Trigger {
    /// The name in events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TurnEnded => "turn_ended",
            Self::DialogOpen => "dialog_open",
            Self::RetriesFailing => "retries_failing",
            Self::PtyExit => "pty_exit",
            Self::ExplicitRequest => "explicit_request",
        }
    }
}

/// An agent stopped, after everything that could still change was waited for. It is recorded as an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// What shows it.
    pub trigger: Trigger,
    /// Why it does no more.
    pub stop: Stop,
    /// How its process ended, if that is known.
    pub exit: Option<Exit>,
    /// When its terminal last had output.
    pub last_output: Option<Wall>,
    /// Time without output, or in its present state where the last output is unknown.
    #[serde(rename = "idle_for_ms", with = "millis")]
    pub idle_for: Duration,
    /// When the agent last called one of ostler's tools.
    pub last_heartbeat: Option<Wall>,
}

/// Durations as whole milliseconds.
mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}
