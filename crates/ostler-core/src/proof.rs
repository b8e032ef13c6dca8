//! How sure it is that a message arrived.

use serde::{Deserialize, Serialize};

/// How sure it is that a message arrived. Each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Proof {
    /// Recorded; nothing was typed yet.
    #[default]
    Queued,
    /// Every byte is in the program's terminal.
    Written,
    /// The agent shows it where prompts are written.
    Seen,
    /// The agent has taken it as a prompt.
    Submitted,
    /// The agent says that it has it.
    Acknowledged,
}

impl Proof {
    /// Every level, the weakest first.
    pub const ALL: [Self; 5] = [Self::Queued, Self::Written, Self::Seen, Self::Submitted, Self::Acknowledged];

    /// The name on the command line, in JSON and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Written => "written",
            Self::Seen => "seen",
            Self::Submitted => "submitted",
            Self::Acknowledged => "acknowledged",
        }
    }

    /// The level of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|proof| proof.as_str() == name)
    }
}
