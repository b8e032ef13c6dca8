//! What was said between a person, or a program, and an agent.

use jiff::Timestamp;
use ostler_core::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The last answers of an agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AnswersInfo {
    /// The session's name.
    pub session: String,
    /// What the agent is doing now.
    pub state: State,
    /// Where the answers are from: `transcript`, `hook` or `screen`.
    pub source: String,
    /// Oldest first.
    pub answers: Vec<AnswerInfo>,
}

/// An answer of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerInfo {
    /// What was asked, if it is known.
    pub prompt: Option<String>,
    /// When.
    pub asked: Option<Timestamp>,
    /// What was answered.
    pub answer: String,
    /// When.
    pub at: Option<Timestamp>,
    /// How the turn ended: `done`, `failed` or `interrupted`; nothing while it goes on, or where nobody tells.
    pub outcome: Option<String>,
}

/// A piece of a transcript.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TranscriptPage {
    /// In their order.
    pub entries: Vec<TranscriptEntry>,
    /// Where the next piece begins.
    pub next: Value,
    /// There is more at once.
    pub more: bool,
    /// The session has ended: nothing will be added.
    pub ended: bool,
}

/// Something that a transcript tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptEntry {
    /// When it happened, if that is told.
    pub at: Option<Timestamp>,
    /// `prompt`, `said`, `asked`, `failed`, `interrupted` or `ended` (the turn).
    pub kind: String,
    /// The words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// What an agent replied to a message.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReplyInfo {
    /// The message.
    pub id: String,
    /// The session's name.
    pub session: String,
    /// How the turn ended: `done`, `failed`, `interrupted`, `blocked` (a dialog waits for a person), or `ended` (with
    /// the program).
    pub outcome: String,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What it said, if it said anything.
    pub answer: Option<String>,
    /// Where the answer is from: `transcript`, `hook` or `screen`.
    pub source: Option<String>,
}
