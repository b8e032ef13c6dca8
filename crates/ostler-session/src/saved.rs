//! What a session is taken up from.

use jiff::tz::TimeZone;
use ostler_core::Wall;
use ostler_core::message::{LastWrite, Message};
use ostler_screen::Size;

use crate::event::StoredBody;
use crate::terminal::SavedScreen;

/// What the record has of a session.
#[derive(Debug)]
pub struct Saved {
    /// Its id.
    pub id: String,
    /// When its present process was asked for.
    pub created: Wall,
    /// The preset of its agent.
    pub agent: Option<String>,
    /// The terminal's size.
    pub size: Size,
    /// Process id of the program, once it ran.
    pub pid: Option<u32>,
    /// A person asked for its end.
    pub stop_requested: bool,
    /// What an earlier daemon knew of the agent.
    pub memory: Option<String>,
    /// Whether programs are told that their status is understood.
    pub answer_status: bool,
    /// The user's time zone.
    pub zone: TimeZone,
    /// The last screen that was put on disk.
    pub screen: Option<SavedScreen>,
    /// Its messages.
    pub messages: SavedMessages,
}

/// What the record has of a session's messages.
#[derive(Debug, Default)]
pub struct SavedMessages {
    /// Those that something is still to be done for, in the order of arrival.
    pub open: Vec<SavedMessage>,
    /// The last ones that were typed and are done with, the newest first.
    pub taken: Vec<SavedMessage>,
    /// Those that the agent has to know from its start, oldest first.
    pub essential: Vec<SavedMessage>,
    /// Highest place in the order.
    pub last_order: u64,
    /// Highest number of a write.
    pub last_input: u64,
    /// Highest number of a write for a prompt.
    pub last_prompt_write: u64,
    /// Highest number of a write of raw bytes.
    pub last_raw_write: u64,
}

/// What the record has of a message.
#[derive(Debug)]
pub struct SavedMessage {
    /// The message.
    pub message: Message,
    /// What it says.
    pub body: Vec<u8>,
    /// The last write for it.
    pub last: Option<LastWrite>,
    /// The line that was typed instead of it, if it is in a file.
    pub pointer: Option<StoredBody>,
}
