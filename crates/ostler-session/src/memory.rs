//! What the record keeps of what an agent was doing, for the next daemon and for the session's next process.

use ostler_core::continuation::{self, Continuation, Standing, Terms};
use ostler_core::detector::Memory;
use ostler_core::{Now, Steady, Usage, Wall};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent_calls::AgentCalls;
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
    /// What the agent said by calling tools.
    #[serde(default)]
    pub(crate) calls: AgentCalls,
    /// The agent's own id of the conversation.
    #[serde(default)]
    conversation: Option<String>,
    /// The agent was given something in it.
    #[serde(default)]
    begun: bool,
    /// When the agent was last given what it has to know once more.
    #[serde(default)]
    context_given: Option<Wall>,
    /// How far the agent is carried on.
    #[serde(default)]
    carrying_on: Continuation,
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
        carrying_on: &Continuation,
        calls: &AgentCalls,
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
            calls: calls.clone(),
            conversation: id.clone(),
            begun: *begun,
            context_given: *context_given,
            carrying_on: carrying_on.clone(),
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

    pub(crate) fn into_parts(self) -> (Wall, Option<Memory>, Conversation, StopsMemory, Continuation) {
        let Self { since, detector, transcript: read, summary, tells_replies, usage, stops, .. } = self;
        let (id, begun) = (self.conversation, self.begun);
        let context_given = self.context_given;
        let conversation =
            Conversation { id, begun, read, usage, summary, tells_replies, context_given, problem: None };
        (since, detector, conversation, stops, self.carrying_on)
    }
}

/// What a session begins with whose agent is carried on.
pub fn begin_carried_on(terms: Terms, now: Wall) -> Option<String> {
    let mut carrying_on = Continuation::default();
    let _ = carrying_on.handle(continuation::Event::Began(terms), Now { wall: now, steady: Steady(0) });
    let first = Remembered {
        since: now,
        detector: None,
        transcript: None,
        summary: ConversationSummary::default(),
        tells_replies: false,
        usage: Usage::default(),
        stops: StopsMemory::default(),
        conversation: None,
        begun: false,
        context_given: None,
        carrying_on,
        calls: AgentCalls::default(),
        answers: 0,
    };
    serde_json::to_string(&first).ok()
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

    /// Where carrying on its agent stood.
    pub fn standing(&self) -> Option<Standing> {
        self.memory.carrying_on.standing()
    }

    /// When the process that has ended is to be run again, if it is.
    pub fn resumes_at(&self) -> Option<Wall> {
        self.memory.carrying_on.resumes_at()
    }

    /// What is remembered if it is not run again after all.
    pub fn stay_ended(mut self, trouble: Option<String>) -> Option<String> {
        self.memory.carrying_on.stay_ended(trouble);
        serde_json::to_string(&self.memory).ok()
    }

    /// How far the transcript was read, and the agent's own id of the conversation.
    pub fn transcript(self) -> (Option<Value>, Option<String>) {
        (self.memory.transcript, self.memory.conversation)
    }

    /// What the next process begins with: what was said and spent stays, what was seen does not. The transcript is read
    /// on only if the agent goes on with the conversation.
    pub fn into_memory(self, goes_on: bool, now: Wall) -> Option<String> {
        let Remembered { transcript, summary, tells_replies, usage, conversation, carrying_on, .. } =
            self.memory;
        let next = Remembered {
            since: now,
            detector: None,
            transcript: transcript.filter(|_| goes_on),
            summary,
            tells_replies: tells_replies && goes_on,
            usage,
            stops: StopsMemory::default(),
            calls: AgentCalls::default(),
            conversation: conversation.filter(|_| goes_on),
            begun: goes_on,
            context_given: None,
            carrying_on: carrying_on.in_next_process(now),
            answers: self.memory.answers,
        };
        serde_json::to_string(&next).ok()
    }
}
