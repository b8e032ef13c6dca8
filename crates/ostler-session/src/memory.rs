//! What the record keeps of what an agent was doing, for the next daemon.

use ostler_core::detector::Memory;
use ostler_core::{Usage, Wall};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::conversation::{Conversation, ConversationSummary};
use crate::stops::StopsMemory;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Remembered {
    /// Since when the agent has been in its state.
    pub(crate) since: Wall,
    pub(crate) detector: Memory,
    /// How far the transcript was read.
    #[serde(default)]
    transcript: Option<Value>,
    /// What was said of late.
    #[serde(default, rename = "told")]
    summary: ConversationSummary,
    /// The transcript tells what the agent says.
    #[serde(default)]
    tells_replies: bool,
    /// What was spent, as far as the transcript was read.
    #[serde(default)]
    usage: Usage,
    /// What was said of stops.
    #[serde(default)]
    pub(crate) stops: StopsMemory,
}

impl Remembered {
    pub(crate) fn new(
        since: Wall,
        detector: Memory,
        conversation: &Conversation,
        stops: StopsMemory,
    ) -> Self {
        let Conversation { read, usage, summary, tells_replies, .. } = conversation;
        Self {
            since,
            detector,
            transcript: read.clone(),
            summary: summary.clone(),
            tells_replies: *tells_replies,
            usage: *usage,
            stops,
        }
    }

    pub(crate) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(crate) fn into_parts(self) -> (Wall, Memory, Conversation, StopsMemory) {
        let Self { since, detector, transcript, summary, tells_replies, usage, stops } = self;
        let conversation = Conversation { read: transcript, usage, summary, tells_replies, problem: None };
        (since, detector, conversation, stops)
    }
}
