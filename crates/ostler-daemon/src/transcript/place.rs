//! Where a session's transcript is, and how far it was read.

use std::path::PathBuf;

use ostler_agents::transcript::Memory;
use ostler_core::Wall;
use serde::{Deserialize, Serialize};

use super::tail::{FileId, Position};

/// What is known of where a session's transcript is.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// The directory that the agent's transcripts are beneath. Nothing else is opened.
    pub root: PathBuf,
    /// The agent's working directory.
    pub cwd: PathBuf,
    /// The agent's own id of the conversation, if it is known.
    pub session: Option<String>,
    /// The file, if a hook named it. Not trusted.
    pub path: Option<PathBuf>,
    /// When the session was started: older files and records are not its own.
    pub started: Wall,
}

/// How far a transcript was read: small, and kept by the caller, so that nothing is told twice.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TailState {
    /// The file, once it was found.
    pub path: Option<PathBuf>,
    /// The directory that it was found beneath.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
    /// Which file that was: another may bear its name by now.
    pub file: FileId,
    /// How far it was read.
    pub position: Position,
    /// What its records said that later ones build on.
    pub memory: Memory,
}
