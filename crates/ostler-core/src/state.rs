//! What a session may be doing, as users see it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The state of an agent. What no evidence speaks for is `Unknown`, never `Idle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Not up yet.
    Starting,
    /// Ready for a message.
    Idle,
    /// On a turn.
    Working,
    /// Quiet, with work of its own in the background.
    Watching,
    /// Waits for a person.
    Blocked,
    /// Out of quota.
    Limited,
    /// Its last turn failed.
    Error,
    /// Its process has ended.
    Exited,
    /// Nothing certain can be said.
    Unknown,
}

impl State {
    /// Every state, in the order of a session's life.
    pub const ALL: [Self; 9] = [
        Self::Starting,
        Self::Idle,
        Self::Working,
        Self::Watching,
        Self::Blocked,
        Self::Limited,
        Self::Error,
        Self::Exited,
        Self::Unknown,
    ];

    /// The name on the command line and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Idle => "idle",
            Self::Working => "working",
            Self::Watching => "watching",
            Self::Blocked => "blocked",
            Self::Limited => "limited",
            Self::Error => "error",
            Self::Exited => "exited",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// No state has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no state is called {0:?}; the states are {names}", names = State::ALL.map(State::as_str).join(", "))]
pub struct UnknownState(pub String);

impl FromStr for State {
    type Err = UnknownState;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| UnknownState(text.to_owned()))
    }
}
