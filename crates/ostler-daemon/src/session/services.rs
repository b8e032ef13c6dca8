//! What an actor needs of the daemon.

use std::sync::Arc;

use ostler_store::StoreHandle;
use tokio::sync::Notify;

use super::Handles;
use crate::context::ContextAssembler;
use crate::continuity::Records;
use crate::hints::Hints;
use crate::home::Home;
use crate::judge::Turns;
use crate::knowledge::Knowledge;
use crate::process::Looks;
use crate::transcript::Transcripts;

/// What an actor needs of the daemon.
#[derive(Debug, Clone)]
pub(crate) struct Services {
    pub(crate) home: Arc<Home>,
    pub(crate) store: StoreHandle,
    /// Number of this daemon; holders refuse input of earlier ones.
    pub(crate) epoch: u64,
    /// All tickets; an actor that ends takes its own out.
    pub(crate) sessions: Handles,
    pub(crate) knowledge: Arc<Knowledge>,
    pub(crate) transcripts: Transcripts,
    /// Word from the kernel that something may have changed.
    pub(crate) hints: Hints,
    /// Questions to the judge, over all sessions.
    pub(crate) turns: Turns,
    /// Looks at the processes of all sessions.
    pub(crate) processes: Looks,
    /// Told when a session has ended: its process may be run again.
    pub(crate) ended: Arc<Notify>,
    /// Whether programs are told that their status is understood (OSC 7501).
    pub(crate) answer_status: bool,
    /// What is kept of projects.
    pub(crate) records: Records,
    /// What agents are told of a project.
    pub(crate) context: ContextAssembler,
}
