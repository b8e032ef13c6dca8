//! What is known of projects, on the wire.

use jiff::Timestamp;
use ostler_core::continuity::Source;
use serde::{Deserialize, Serialize};

use crate::os_text::OsText;

/// Which project is meant: that of a session, or the one that a directory is in.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ContextPlace {
    /// The session's name or id.
    pub session: Option<String>,
    /// A directory: an absolute path. It counts where there is no session.
    pub cwd: OsText,
    /// The session asks for itself. If it is not known, the directory counts.
    pub inside: bool,
}

/// Asks for the context of a project.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ContextRequest {
    /// Which project.
    pub place: ContextPlace,
    /// What is to be done: it is part of the context, and code that has to do with it is sought.
    pub task: Option<String>,
    /// The agent is given the task by other means: code is sought for it, and it is not repeated.
    #[serde(default)]
    pub told: bool,
    /// Most bytes; the user's setting if absent.
    pub budget: Option<usize>,
}

/// Something to be kept of a project.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SaveRequest {
    /// Makes a repeated request the same one.
    pub id: String,
    /// Which project.
    pub place: ContextPlace,
    /// What was done.
    pub summary: String,
    /// What is left to do.
    pub open: Vec<String>,
}

/// The context of a project.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ContextInfo {
    /// The root of the project.
    pub project: String,
    /// The session it is for, where it is for one.
    pub session: Option<String>,
    /// The context in Markdown; empty if nothing is known.
    pub text: String,
    /// Text that could not be delivered to the session is at its beginning.
    pub pending: bool,
    /// How many records there are of the project.
    pub records: usize,
    /// How many lines of code were found for the task.
    pub places: usize,
    /// The search for code was not brought to its end.
    pub search_cut: bool,
}

/// A record of a project.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecordInfo {
    /// Its id.
    pub id: String,
    /// When it was made.
    pub at: Timestamp,
    /// Who made it.
    pub source: Source,
    /// Name of the session it is about.
    pub session: Option<String>,
    /// The agent in that session.
    pub agent: Option<String>,
    /// What was done.
    pub summary: String,
    /// What is left to do.
    pub open: Vec<String>,
    /// Files that differed from the last commit.
    pub files: Vec<String>,
    /// The branch of the work tree.
    pub branch: Option<String>,
    /// The last commit.
    pub commit: Option<String>,
    /// Commits that were made during the session.
    pub commits: Vec<String>,
}

/// What was cleared of a project.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ClearedInfo {
    /// The root of the project.
    pub project: String,
    /// Files that were looked at and had something of ours in them, or could not be looked at.
    pub files: Vec<ClearedFile>,
    /// How many texts were forgotten that waited to be asked for, as they could not be delivered.
    pub waiting: usize,
    /// How many records were forgotten.
    pub records: usize,
}

/// What was cleared of a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ClearedFile {
    /// The file.
    pub file: String,
    /// How many blocks were taken out.
    pub blocks: usize,
    /// The file was ostler's own, and is gone.
    pub deleted: bool,
    /// Why it was not changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}
