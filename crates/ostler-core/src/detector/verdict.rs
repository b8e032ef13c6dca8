//! What the detector says.

use serde::{Deserialize, Serialize};

use crate::{State, Steady};

/// What an agent is doing, how sure that is, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What it is doing.
    pub state: State,
    /// What kind of it.
    pub kind: Option<String>,
    /// From 0, a guess, to 1, certain.
    pub confidence: f32,
    /// What speaks for it, the weightiest first.
    pub because: Vec<String>,
    /// When a limit ends, in the agent's words.
    pub until: Option<String>,
    /// Since when it has been in this state.
    pub since: Steady,
}

impl Verdict {
    /// Whether another verdict is news: the reasons alone are not.
    pub fn differs(&self, other: &Self) -> bool {
        self.state != other.state || self.kind != other.kind || self.until != other.until
    }
}
