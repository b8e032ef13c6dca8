//! How a run ends.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Asking;
use crate::breaker::UnavailableProvider;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The checks passed.
    Done,
    /// The agent finished, and there are no checks.
    FinishedUnchecked,
    /// A person is needed. The agent is left as it is.
    Blocked {
        /// What for.
        kind: Asking,
        /// Whose agent waits.
        provider: Option<String>,
    },
    /// It cannot be done this way.
    GivenUp {
        /// The reason, for people.
        #[serde(flatten)]
        why: GiveUp,
    },
    /// A person wanted no more of it.
    Cancelled,
}

impl Outcome {
    /// The name in JSON and on the command line.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::FinishedUnchecked => "finished_unchecked",
            Self::Blocked { .. } => "blocked",
            Self::GivenUp { .. } => "given_up",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Why a run was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum GiveUp {
    /// All attempts were made.
    Attempts,
    /// Attempts fail in the same way again and again.
    Loop,
    /// The same prompt would be given again, and nothing has changed.
    Unchanged,
    /// As many prompts were given as a run may have.
    Iterations,
    /// The time is up.
    Time,
    /// The tokens are spent.
    Tokens,
    /// No provider can be used.
    NoProvider {
        /// Why not.
        shut: Vec<UnavailableProvider>,
    },
    /// A check cannot be run, whatever the work is like.
    Check {
        /// Which one, and why.
        reason: String,
    },
    /// The provider was changed too often.
    Switches,
    /// Somebody ended the agent.
    AgentEnded,
}

impl fmt::Display for GiveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::Attempts => "every attempt failed its checks; read what they say, or allow more attempts",
            Self::Loop => "the attempts fail in the same way again and again; change the task or its checks",
            Self::Unchanged => {
                "the last attempt changed no file and failed as the one before; change the task or its checks"
            }
            Self::Iterations => {
                "as many prompts were given as the run may have; split the task, or allow more"
            }
            Self::Time => "the time of the run is up; split the task, or allow more time",
            Self::Tokens => "the tokens of the run are spent; split the task, or allow more",
            Self::NoProvider { shut } => {
                f.write_str("no provider can be used")?;
                for (index, UnavailableProvider { provider, reason, .. }) in shut.iter().enumerate() {
                    write!(f, "{} {provider}: {}", if index == 0 { ":" } else { "," }, reason.in_words())?;
                }
                "; wait, log in, or name other agents"
            }
            Self::Check { reason } => {
                write!(f, "{reason}")?;
                "; correct the check, or install what it needs"
            }
            Self::Switches => "the provider was changed too often; look at the agents one by one",
            Self::AgentEnded => "somebody ended the agent; start the run again",
        };
        f.write_str(words)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("done: the checks pass"),
            Self::FinishedUnchecked => {
                f.write_str("finished, but there are no checks to tell whether it is right")
            }
            Self::Blocked { kind: Asking::Auth, provider: None } => {
                f.write_str("no provider accepts its login; log in again")
            }
            Self::Blocked { kind, provider: Some(provider) } => {
                write!(
                    f,
                    "{provider} waits for a person ({}); attach to its session and answer",
                    kind.as_str()
                )
            }
            Self::Blocked { kind, provider: None } => write!(f, "a person is needed ({})", kind.as_str()),
            Self::GivenUp { why } => write!(f, "given up: {why}"),
            Self::Cancelled => f.write_str("cancelled"),
        }
    }
}
