//! What agents ask for through ostler's tools.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::context::ContextInfo;
use crate::response::MessageInfo;

/// Most bytes of what an agent says in one call.
pub const MAX_TOOL_TEXT: usize = 64 << 10;

/// A call of one of ostler's tools, by the agent of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRequest {
    /// Makes a repeated request the same one.
    pub id: String,
    /// Id of the session that the agent runs in.
    pub session: String,
    /// Proof that the call is from within that session.
    pub nonce: String,
    /// What is asked for.
    pub call: ToolCall,
}

/// The tools and their arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "tool", content = "arguments", rename_all = "snake_case", deny_unknown_fields)]
pub enum ToolCall {
    /// Confirms a message.
    Ack {
        /// The message's id.
        id: String,
    },
    /// Puts the context of the project together.
    ContextLoad {
        /// What is to be done: code that has to do with it is sought.
        #[serde(default)]
        task: Option<String>,
    },
    /// Keeps something of the project.
    ContextSave {
        /// What was done.
        summary: String,
        /// What is left to do.
        #[serde(default)]
        open: Vec<String>,
    },
    /// Says how far the work has got.
    ReportProgress {
        /// In words.
        text: String,
        /// In percent.
        #[serde(default)]
        percent: Option<u8>,
    },
    /// Asks to be sent on when the turn is over.
    RequestContinuation {
        /// What is left to do.
        reason: String,
    },
    /// Says what the agent waits for.
    WaitFor(WaitFor),
    /// Asks the owner something.
    AskOwner {
        /// The question.
        question: String,
        /// Answers to choose from.
        #[serde(default)]
        choices: Vec<String>,
    },
    /// Shows what became of a question.
    AskStatus {
        /// The question's id.
        id: String,
    },
    /// Shows the agent's task.
    TaskStatus {},
    /// Sends a message to another session of the project.
    SendMessage {
        /// The other session's name.
        to: String,
        /// What to say.
        text: String,
    },
    /// A call whose arguments make no sense: a sign of life, and nothing else.
    Misunderstood {},
}

/// What an agent waits for: one of the three things, or a time alone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WaitFor {
    /// The end of a process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The end of one of the agent's own background shells, by the agent's name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// A file that is made or changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// At most for so many seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// At most until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// What for, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What a tool answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", content = "answer", rename_all = "snake_case")]
pub enum ToolAnswer {
    /// It is recorded.
    Noted,
    /// A message.
    Message(Box<MessageInfo>),
    /// The context of the project.
    Context(Box<ContextInfo>),
    /// A question.
    Question(Box<QuestionInfo>),
    /// The agent's task, if a run gave it one.
    Task(Option<Box<TaskInfo>>),
}

/// The task of an agent, as the agent is told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskInfo {
    /// The run that gave it.
    pub run: String,
    /// The task's id.
    pub task: String,
    /// Where the run stands, in words.
    pub state: String,
    /// What is to be done.
    pub goal: Option<String>,
    /// Number of the present attempt, from 1 on.
    pub attempt: usize,
    /// Commands that have to succeed, as far as they were run.
    pub checks: Vec<String>,
    /// What they complained of last.
    pub errors: Vec<String>,
}

/// What an agent asks its owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionInfo {
    /// Its id.
    pub id: String,
    /// Name of the session that asks.
    pub session: String,
    /// The question.
    pub question: String,
    /// Answers to choose from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// When it was asked.
    pub asked: Timestamp,
    /// The answer, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// When it was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Timestamp>,
    /// The message that tells the agent, once it is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
