//! What the daemon answers.

use jiff::Timestamp;
use ostler_core::{Proof, State};
use serde::{Deserialize, Serialize};

use crate::context::{ClearedInfo, ContextInfo, RecordInfo};
use crate::conversation::{AnswersInfo, ReplyInfo, TranscriptPage};
use crate::dialog::{AnsweredInfo, PendingInfo};
use crate::problem::Problem;
use crate::run::{ProviderInfo, RunInfo};
use crate::tool::{QuestionInfo, ToolAnswer};

/// An answer of the daemon.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Response {
    /// The connection is open.
    Welcome(DaemonInfo),
    /// One session.
    Session(Box<SessionInfo>),
    /// Why a session is in its state.
    Explanation(Box<Explanation>),
    /// Several sessions.
    Sessions {
        /// By name.
        sessions: Vec<SessionInfo>,
    },
    /// A view begins. Frames of bytes follow; feed them to a screen of this size.
    View {
        /// The session.
        session: Box<SessionInfo>,
        /// Bytes of output that are no longer kept.
        missing: u64,
    },
    /// In a view: the terminal has this size from here on.
    Resized {
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
    /// In a view: output was lost; the next frame begins from a clean screen.
    Restarted {
        /// Bytes that are missing.
        missing: u64,
    },
    /// The view is over.
    ViewEnded {
        /// The session as it is now.
        session: Box<SessionInfo>,
    },
    /// A message.
    Message(Box<MessageInfo>),
    /// Several messages.
    Messages {
        /// Oldest first.
        messages: Vec<MessageInfo>,
    },
    /// What became of all messages, and what sessions there are.
    Metrics(Box<Metrics>),
    /// A run.
    Run(Box<RunInfo>),
    /// Several runs.
    Runs {
        /// Oldest first.
        runs: Vec<RunInfo>,
    },
    /// Providers.
    Providers {
        /// By name.
        providers: Vec<ProviderInfo>,
        /// What the store that they are kept in guarantees.
        store: String,
    },
    /// What happened.
    Events {
        /// Oldest first.
        events: Vec<EventInfo>,
    },
    /// A hook's report was taken.
    Hook {
        /// What the hook is to print for its agent, instead of the usual.
        print: Option<String>,
    },
    /// The context of a project.
    Context(Box<ContextInfo>),
    /// What is kept of a project.
    Records {
        /// The root of the project.
        project: String,
        /// Newest first.
        records: Vec<RecordInfo>,
    },
    /// What was cleared of a project.
    Cleared(ClearedInfo),
    /// What one of the tools for agents answers.
    Tool {
        /// The answer.
        answer: ToolAnswer,
    },
    /// What agents ask their owner.
    Questions {
        /// Oldest first.
        questions: Vec<QuestionInfo>,
    },
    /// The dialog that waits for a person.
    Dialog(PendingInfo),
    /// What became of an answer to a dialog.
    Answered(AnsweredInfo),
    /// What became of an interrupt.
    Interrupted(InterruptInfo),
    /// The agent's last answers.
    Answers(AnswersInfo),
    /// A piece of a transcript.
    Transcript(TranscriptPage),
    /// What was replied to a message.
    Reply(ReplyInfo),
    /// It is done.
    Done,
    /// It was not done.
    Failed(Problem),
}

/// The daemon itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DaemonInfo {
    /// Its process id.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// Protocol it speaks.
    pub protocol: u32,
    /// Sessions whose program runs.
    pub sessions: usize,
    /// When it started.
    pub since: Timestamp,
    /// Where its state lies.
    pub home: String,
    /// Where runs and breakers are kept: the address of a server, or `local`.
    #[serde(default)]
    pub store: String,
}

/// A session as users see it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SessionInfo {
    /// Unique id.
    pub id: String,
    /// Name, unique among running sessions.
    pub name: String,
    /// What kind of agent it is; the program's name where none is known.
    pub agent: String,
    /// The agent's version, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// The preset that says what is known of it, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Process id of the program.
    pub pid: Option<u32>,
    /// What it is doing.
    pub state: State,
    /// More precisely, where the state has kinds.
    pub kind: Option<String>,
    /// How sure that is, from 0 to 1.
    #[serde(default)]
    pub confidence: f64,
    /// When a limit ends, in the agent's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Since when it is in that state.
    pub since: Timestamp,
    /// What the state is concluded from.
    pub because: Vec<String>,
    /// The command line.
    pub command: Vec<String>,
    /// Where it was started.
    pub cwd: String,
    /// Columns of its terminal.
    pub cols: u16,
    /// Rows of its terminal.
    pub rows: u16,
    /// When it was started.
    pub started: Timestamp,
    /// Window title that the program set.
    pub title: Option<String>,
    /// Bytes of output so far.
    pub output: u64,
    /// Messages that are not settled.
    pub waiting: usize,
    /// Counts of its prompts by what became of them, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deliveries: Option<serde_json::Map<String, serde_json::Value>>,
    /// Process id of the holder.
    pub holder: Option<u32>,
    /// Where its files are.
    pub dir: String,
    /// What the terminal is set to, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<TerminalInfo>,
    /// What the program says of itself (OSC 7501): a claim, not a finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<serde_json::Value>,
    /// What the agent says it has spent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<ostler_core::Usage>,
    /// The dialog on its screen is being answered, as the user's policy says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answering: bool,
    /// Where carrying on its agent stands, if it is carried on or held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carry_on: Option<ostler_core::continuation::Standing>,
    /// How it ended.
    pub exit: Option<ExitInfo>,
    /// Number of its present process: one more each time it was resumed.
    #[serde(default = "first")]
    pub process: u32,
    /// The agent's own id of the conversation, once it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// When the agent last called one of ostler's tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_heartbeat: Option<Timestamp>,
    /// How far the work has got, as the agent said last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressInfo>,
    /// What the agent said it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaited: Option<ostler_core::awaited::Awaited>,
    /// What the agent asks its owner, and is not answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<QuestionInfo>,
    /// The processes before the present one, oldest first, where they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past: Vec<ProcessInfo>,
}

/// How far the work has got, as an agent says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgressInfo {
    /// In words.
    pub text: String,
    /// In percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<u8>,
    /// When it said so.
    pub at: Timestamp,
}

/// The number of a session's first process.
fn first() -> u32 {
    1
}

/// A process that a session had.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProcessInfo {
    /// Its number, from 1 on.
    pub number: u32,
    /// Process id of the program, if it ran.
    pub pid: Option<u32>,
    /// When it was asked for.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// How it ended: `exited`, `killed`, `lost` or `failed`.
    pub how: String,
    /// The end in words.
    pub reason: Option<String>,
    /// Where its files are.
    pub dir: String,
}

/// What became of an interrupt.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct InterruptInfo {
    /// `stopped`, `nothing` (it was at rest), `working` (it goes on), `dialog`, `unread`, `unclear` or `ended`.
    pub outcome: String,
    /// Whether the keys were pressed.
    pub pressed: bool,
    /// The session as it is now.
    pub session: Box<SessionInfo>,
}

/// Why a session is in its state: what each signal says now.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Explanation {
    /// The session.
    pub session: SessionInfo,
    /// What each signal says, the weightiest first.
    pub signals: Vec<SignalInfo>,
    /// The rules that hold on its screen, the weightiest first.
    pub rules: Vec<RuleInfo>,
    /// Where the preset and its rules come from.
    pub files: Vec<String>,
}

/// What one signal says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SignalInfo {
    /// The signal.
    pub signal: String,
    /// What it says; nothing where it has not spoken.
    pub says: Option<String>,
    /// Seconds since it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age: Option<f64>,
}

/// A rule that holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RuleInfo {
    /// Its id.
    pub rule: String,
    /// What it means.
    pub state: State,
    /// What kind of it.
    pub kind: Option<String>,
    /// It is for agents in general.
    pub general: bool,
}

/// What a session's terminal is set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalInfo {
    /// It collects whole lines (cooked mode).
    pub canonical: bool,
    /// It echoes input.
    pub echo: bool,
    /// It turns control characters into signals.
    pub signals: bool,
    /// The process group that reads from it.
    pub foreground: Option<u32>,
    /// Bytes of input that the program has not taken yet.
    pub pending: u32,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExitInfo {
    /// Exit status, where it ended by itself.
    pub status: Option<u8>,
    /// Signal that ended it, where one did.
    pub signal: Option<u8>,
    /// When it happened.
    pub at: Timestamp,
    /// A person had asked for it.
    pub stopped: bool,
    /// Processes of the session that are still there although its terminal is gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub survivors: Vec<u32>,
    /// CPU time, in seconds.
    pub cpu: f64,
    /// Largest memory, in KiB.
    pub max_rss_kib: u64,
}

/// A message and what is known of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MessageInfo {
    /// Its id.
    pub id: String,
    /// The session's name.
    pub session: String,
    /// Whether anything is still to be done for it: `queued`, `delivered`, `failed` or `uncertain`.
    pub state: String,
    /// What is proven.
    pub proof: Proof,
    /// By what, oldest first.
    pub evidence: Vec<String>,
    /// How often its text was typed.
    pub attempts: u32,
    /// How often Enter was pressed for it.
    pub enters: u32,
    /// Why it is not typed now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// Why it did not arrive, or why that cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Another way that it took: `file`, `notification`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalated: Option<String>,
    /// Who sent it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sender: String,
    /// How urgent it is.
    pub priority: ostler_core::queue::Priority,
    /// When it may be typed.
    pub mode: ostler_core::delivery::Mode,
    /// How it gets to its agent where it is not typed: `argument` (its command line), `hook`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way: Option<String>,
    /// It is typed as it is, and is no prompt.
    pub raw: bool,
    /// The agent is asked to confirm it.
    #[serde(default)]
    pub ack: bool,
    /// When it was sent.
    pub created: Timestamp,
    /// Seconds from sending to submission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed: Option<f64>,
    /// Length of the body.
    pub bytes: usize,
}

/// What became of all messages, and what sessions there are.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Metrics {
    /// Counts of messages, by what became of them.
    pub deliveries: serde_json::Map<String, serde_json::Value>,
    /// Running sessions by state.
    pub sessions: std::collections::BTreeMap<String, u64>,
    /// Prompts of runs that had context before them, by its kind.
    #[serde(default)]
    pub context_injections: std::collections::BTreeMap<String, u64>,
    /// Ended runs by outcome.
    #[serde(default)]
    pub runs: std::collections::BTreeMap<String, u64>,
}

/// Something that happened.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EventInfo {
    /// Grows with every event.
    pub seq: i64,
    /// When it happened.
    pub at: Timestamp,
    /// The session's name, where it concerns one.
    pub session: Option<String>,
    /// What kind of event.
    pub event: String,
    /// Details.
    pub details: serde_json::Value,
}
