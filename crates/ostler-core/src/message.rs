//! What is recorded of a message, and of a session's end.

use crate::delivery::Mode;
use crate::queue::Priority;
use crate::start_plan::StartupRoute;
use crate::{Proof, Wall};

/// What was agreed about a message when it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Terms {
    /// Bytes for the terminal, typed as they are; otherwise a prompt.
    pub raw: bool,
    /// Who sent it.
    pub sender: String,
    /// How urgent it is.
    pub priority: Priority,
    /// When it may be typed.
    pub mode: Mode,
    /// The agent is asked to confirm it.
    pub ack: bool,
    /// When it is of no use any more.
    pub expires: Option<Wall>,
    /// How it gets to its agent.
    pub way: StartupRoute,
    /// A command of the agent, not a text for its model.
    pub command: bool,
}

/// Whether anything is still to be done for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageState {
    /// It is under way.
    Queued,
    /// It arrived, as far as it can be told.
    Delivered,
    /// It did not arrive, and will not.
    Failed,
    /// Whether it arrived cannot be told.
    Uncertain,
}

impl MessageState {
    const ALL: [Self; 4] = [Self::Queued, Self::Delivered, Self::Failed, Self::Uncertain];

    /// The name in the store and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Uncertain => "uncertain",
        }
    }

    /// Whether nothing more is done for it though it may not have arrived.
    pub fn is_given_up(self) -> bool {
        matches!(self, Self::Failed | Self::Uncertain)
    }

    /// The state of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }
}

/// A recorded message.
#[derive(Debug, Clone)]
pub struct Message {
    /// Id of its session.
    pub session: String,
    /// Its id.
    pub id: String,
    /// Its place in the order of arrival.
    pub seq: u64,
    /// What was agreed.
    pub terms: Terms,
    /// Whether anything is still to be done.
    pub state: MessageState,
    /// How far it has got.
    pub proof: Proof,
    /// What that is concluded from, oldest first.
    pub evidence: Vec<String>,
    /// Why it did not arrive, or why that cannot be told.
    pub failure: Option<String>,
    /// How often its text was typed, or was about to be.
    pub attempts: u32,
    /// How often Enter was pressed for it.
    pub enters: u32,
    /// Another way that was taken, as it did not get through: `file`, `notification`.
    pub escalated: Option<String>,
    /// When it came.
    pub created: Wall,
    /// When it was taken as a prompt.
    pub submitted: Option<Wall>,
    /// Length of the body.
    pub bytes: usize,
    /// What the agent showed in place of the text, if it did.
    pub mark: Option<String>,
}

/// What a write is called of which nothing is where it was typed.
pub const MISSED: &str = "missed";
/// The last write for a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastWrite {
    /// Its number in the holder's ledger.
    pub seq: u64,
    /// What kind of write, or [`MISSED`].
    pub write: String,
    /// It is known to be in the terminal.
    pub done: bool,
    /// How often the text's beginning stood on the screen before it was typed.
    pub echoes: u32,
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// `exited`, `lost` or `failed`.
    pub kind: String,
    /// Exit status.
    pub status: Option<u8>,
    /// Signal.
    pub signal: Option<u8>,
    /// Why it failed or was lost.
    pub reason: Option<String>,
    /// When the session ended.
    pub at: Wall,
    /// Bytes of output in all.
    pub output: u64,
    /// CPU time in microseconds.
    pub cpu_us: u64,
    /// Largest memory in KiB.
    pub max_rss_kib: u64,
}
