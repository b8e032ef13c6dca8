//! What a provider is judged by.

use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::detector::Reporter;

/// Why a provider cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Too many requests.
    RateLimit,
    /// The plan or the account is used up.
    Quota,
    /// The login is not good.
    Auth,
    /// The provider has more to do than it can.
    Overloaded,
    /// The agent fell over.
    Crash,
    /// The provider is broken or cannot be reached.
    Unavailable,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 6] =
        [Self::RateLimit, Self::Quota, Self::Auth, Self::Overloaded, Self::Crash, Self::Unavailable];

    /// The name in JSON and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RateLimit => "rate_limit",
            Self::Quota => "quota",
            Self::Auth => "auth",
            Self::Overloaded => "overloaded",
            Self::Crash => "crash",
            Self::Unavailable => "unavailable",
        }
    }

    /// The same in words.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::RateLimit => "rate limit exceeded",
            Self::Quota => "quota used up",
            Self::Auth => "login refused",
            Self::Overloaded => "provider overloaded",
            Self::Crash => "agent crashed",
            Self::Unavailable => "provider unavailable",
        }
    }

    /// Whether it passes by itself: waiting helps.
    pub fn passes(self) -> bool {
        matches!(self, Self::RateLimit | Self::Quota | Self::Overloaded)
    }

    /// Whether it may be the trouble of one machine: its login, its program, its network. What the provider says of
    /// itself is not.
    pub fn may_be_local(self) -> bool {
        matches!(self, Self::Auth | Self::Crash | Self::Unavailable)
    }
}

/// A limit that an agent shows on its screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Of requests in a short time.
    Rate,
    /// Of the plan or the account.
    Quota,
}

impl Limit {
    /// The name, in reasons.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Quota => "quota",
        }
    }

    /// The limit that a verdict's kind means.
    pub fn of_kind(kind: Option<&str>) -> Self {
        if kind == Some(Failure::RateLimit.as_str()) { Self::Rate } else { Self::Quota }
    }
}

/// Something that speaks against a provider.
///
/// There is no variant for text: what an agent writes about, or what a task is about, says nothing of its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "source", rename_all = "snake_case")]
pub enum Evidence {
    /// A hook, the transcript or a structured connection reported that a turn failed.
    TurnFailed {
        /// Which of them.
        by: Reporter,
        /// What went wrong.
        failure: Failure,
    },
    /// The program's status on its terminal is an error.
    StatusError,
    /// The program ended.
    Exited {
        /// Exit status, where it ended by itself.
        status: Option<u8>,
        /// Signal that ended it, where one did.
        signal: Option<u8>,
    },
    /// A rule saw a limit where the agent shows its limits.
    LimitShown {
        /// The limit that was hit.
        limit: Limit,
    },
}

/// Hangup, interrupt and termination: somebody ended the program.
const ENDED_BY_SOMEBODY: [u8; 3] = [1, 2, 15];

impl Evidence {
    /// What it says about the provider, if anything: a bad request or a program that was ended is not its fault.
    pub fn reason(&self) -> Option<Reason> {
        match *self {
            Self::TurnFailed { failure, .. } => match failure {
                Failure::RateLimit => Some(Reason::RateLimit),
                Failure::Quota => Some(Reason::Quota),
                Failure::Auth => Some(Reason::Auth),
                Failure::Overloaded => Some(Reason::Overloaded),
                Failure::Unavailable => Some(Reason::Unavailable),
                Failure::Invalid | Failure::Other => None,
            },
            Self::StatusError => Some(Reason::Unavailable),
            Self::Exited { signal: Some(signal), .. } if ENDED_BY_SOMEBODY.contains(&signal) => None,
            Self::Exited { status: Some(0), signal: None } => None,
            Self::Exited { .. } => Some(Reason::Crash),
            Self::LimitShown { limit: Limit::Rate } => Some(Reason::RateLimit),
            Self::LimitShown { limit: Limit::Quota } => Some(Reason::Quota),
        }
    }
}
