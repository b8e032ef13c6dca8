//! What the record keeps of what an agent was doing, for the next daemon and for the session's next process.

use ostler_core::detector::Memory;
use ostler_core::{Usage, Wall};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::conversation::{Conversation, ConversationSummary};
use crate::stops::StopsMemory;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Remembered {
    /// Since when the agent has been in its state.
    pub(crate) since: Wall,
    /// Nothing of a process that nobody has seen yet.
    pub(crate) detector: Option<Memory>,
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
    /// The agent's own id of the conversation.
    #[serde(default)]
    conversation: Option<String>,
    /// The agent was given something in it.
    #[serde(default)]
    begun: bool,
    /// When the agent was last given what it has to know once more.
    #[serde(default)]
    context_given: Option<Wall>,
    /// How many answers to dialogs were begun by a command.
    #[serde(default)]
    pub(crate) answers: u64,
}

impl Remembered {
    pub(crate) fn new(
        since: Wall,
        detector: Memory,
        conversation: &Conversation,
        stops: &StopsMemory,
    ) -> Self {
        let Conversation { id, begun, read, usage, summary, tells_replies, context_given, .. } = conversation;
        Self {
            since,
            detector: Some(detector),
            transcript: read.clone(),
            summary: summary.clone(),
            tells_replies: *tells_replies,
            usage: *usage,
            stops: *stops,
            conversation: id.clone(),
            begun: *begun,
            context_given: *context_given,
            answers: 0,
        }
    }

    /// The same where so many answers were begun.
    pub(crate) fn with_answers(self, answers: u64) -> Self {
        Self { answers, ..self }
    }

    pub(crate) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(crate) fn into_parts(self) -> (Wall, Option<Memory>, Conversation, StopsMemory) {
        let Self { since, detector, transcript: read, summary, tells_replies, usage, stops, .. } = self;
        let (id, begun) = (self.conversation, self.begun);
        let context_given = self.context_given;
        let conversation =
            Conversation { id, begun, read, usage, summary, tells_replies, context_given, problem: None };
        (since, detector, conversation, stops)
    }
}

/// What a session remembers when its process has ended and another one begins.
#[derive(Debug, Clone)]
pub struct Carried {
    /// The conversation that the agent can take up, by its own id; none if it was given nothing in it.
    pub conversation: Option<String>,
    memory: Remembered,
}

impl Carried {
    /// Reads what the record has of a session whose process has ended.
    pub fn read(memory: &str) -> Option<Self> {
        let memory = Remembered::read(memory)?;
        let conversation = memory.conversation.clone().filter(|_| memory.begun);
        Some(Self { conversation, memory })
    }

    /// How far the transcript was read, and the agent's own id of the conversation.
    pub fn transcript(self) -> (Option<Value>, Option<String>) {
        (self.memory.transcript, self.memory.conversation)
    }

    /// What the next process begins with: what was said and spent stays, what was seen does not. The transcript is read
    /// on only if the agent goes on with the conversation.
    pub fn into_memory(self, goes_on: bool, now: Wall) -> Option<String> {
        let Remembered { transcript, summary, tells_replies, usage, conversation, .. } = self.memory;
        let next = Remembered {
            since: now,
            detector: None,
            transcript: transcript.filter(|_| goes_on),
            summary,
            tells_replies: tells_replies && goes_on,
            usage,
            stops: StopsMemory::default(),
            conversation: conversation.filter(|_| goes_on),
            begun: goes_on,
            context_given: None,
            answers: self.memory.answers,
        };
        serde_json::to_string(&next).ok()
    }
}
