//! What an agent said it waits for.

use serde::{Deserialize, Serialize};

use crate::Wall;

/// What an agent waits for, by its own word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Awaited {
    /// The thing.
    pub what: AwaitedThing,
    /// It is waited for until then at most; for as long as it takes if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Wall>,
    /// What for, in the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When the agent said so.
    pub since: Wall,
}

/// A thing that an agent waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AwaitedThing {
    /// The end of a process.
    Process {
        /// Its number.
        pid: u32,
        /// When it was started, in ticks since the machine was: another process may get its number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started: Option<u64>,
    },
    /// The end of a background shell of the agent's own.
    Shell {
        /// The agent's name for it.
        name: String,
    },
    /// A file that is made or changed.
    File {
        /// Its absolute path.
        path: String,
    },
    /// Nothing but the time.
    Time,
}
