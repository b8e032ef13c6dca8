//! What an agent's own records say: hooks, transcripts, heartbeats.

use serde::{Deserialize, Serialize};

/// Something that an agent reported about itself, in a hook or in its transcript.
///
/// Facts are hints from an untrusted program: they change what ostler believes, never what it may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Fact {
    /// The agent is up.
    SessionStarted,
    /// The agent is about to leave.
    SessionEnded,
    /// A prompt was taken in.
    PromptSubmitted {
        /// The prompt as the agent got it, if it says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// The agent goes to work.
    TurnStarted,
    /// The agent is still at work: it asked its model something, or got a piece of the answer.
    TurnProgressed,
    /// The agent said something to its user.
    Said {
        /// Its words.
        text: String,
    },
    /// The turn came to its natural end.
    TurnEnded {
        /// Work of its own that goes on in the background.
        #[serde(default)]
        background: u32,
    },
    /// The turn was ended by an error.
    TurnFailed {
        /// What went wrong.
        failure: Failure,
        /// The agent's words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// A call to the model failed and will be tried again.
    Retrying {
        /// What went wrong.
        failure: Failure,
    },
    /// A person stopped the turn.
    Interrupted,
    /// A tool was called.
    ToolStarted {
        /// Names the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// A tool call ended.
    ToolEnded {
        /// Names the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// The agent waits for a person.
    Asked {
        /// What for.
        kind: Asking,
    },
    /// A person answered.
    Answered,
    /// The agent says that it has been waiting for input for a while.
    IdleNotified,
    /// The conversation is being compacted.
    Compacting,
    /// A part of the work that was given to another agent ended.
    SubagentEnded,
    /// Tokens and money spent.
    Used(Usage),
    /// The agent called one of ostler's tools.
    Heartbeat,
}

/// What an agent waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asking {
    /// Leave to do something.
    Permission,
    /// An answer.
    Question,
    /// Approval of a plan.
    Plan,
    /// Trust in a folder.
    Trust,
    /// A login.
    Auth,
    /// Something else that a person has to choose.
    Dialog,
}

impl Asking {
    /// All of them.
    const ALL: [Self; 6] =
        [Self::Permission, Self::Question, Self::Plan, Self::Trust, Self::Auth, Self::Dialog];

    /// What of this name an agent waits for.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|asking| asking.as_str() == name)
    }

    /// The name in JSON and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Permission => "permission",
            Self::Question => "question",
            Self::Plan => "plan",
            Self::Trust => "trust",
            Self::Auth => "auth",
            Self::Dialog => "dialog",
        }
    }
}

/// Why a turn failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// Too many requests.
    RateLimit,
    /// The plan or the account is used up.
    Quota,
    /// The login is not good.
    Auth,
    /// The provider has more to do than it can.
    Overloaded,
    /// The provider is broken or cannot be reached.
    Unavailable,
    /// The request was not acceptable.
    Invalid,
    /// Anything else.
    Other,
}

impl Failure {
    /// All of them.
    const ALL: [Self; 7] = [
        Self::RateLimit,
        Self::Quota,
        Self::Auth,
        Self::Overloaded,
        Self::Unavailable,
        Self::Invalid,
        Self::Other,
    ];

    /// The failure of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|failure| failure.as_str() == name)
    }

    /// The name in JSON and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RateLimit => "rate_limit",
            Self::Quota => "quota",
            Self::Auth => "auth",
            Self::Overloaded => "overloaded",
            Self::Unavailable => "unavailable",
            Self::Invalid => "invalid",
            Self::Other => "other",
        }
    }

    /// The one of two that tells more.
    #[must_use]
    pub fn or_rather(self, other: Self) -> Self {
        let vagueness = |failure: Self| match failure {
            Self::RateLimit | Self::Quota | Self::Auth | Self::Overloaded => 0,
            Self::Unavailable | Self::Invalid => 1,
            Self::Other => 2,
        };
        if vagueness(other) < vagueness(self) { other } else { self }
    }

    /// Whether waiting helps: the provider has set a limit.
    pub fn is_limit(self) -> bool {
        matches!(self, Self::RateLimit | Self::Quota)
    }
}

/// What was spent. Zero where the agent does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens sent to the model, without those read from a cache.
    pub input: u64,
    /// Tokens read from a cache.
    pub cached: u64,
    /// Tokens that the model wrote.
    pub output: u64,
    /// Cost in millionths of a US dollar.
    pub cost_micros: u64,
}

impl Usage {
    /// Tokens that count against a budget.
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cached: self.cached.saturating_add(other.cached),
            output: self.output.saturating_add(other.output),
            cost_micros: self.cost_micros.saturating_add(other.cost_micros),
        }
    }

    /// The larger one of each.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            input: self.input.max(other.input),
            cached: self.cached.max(other.cached),
            output: self.output.max(other.output),
            cost_micros: self.cost_micros.max(other.cost_micros),
        }
    }
}
