//! Types on the wire between the command line and the daemon.
//!
//! # Theory of operation
//!
//! A connection carries [`frame`]s both ways: JSON for requests and responses, raw bytes for terminal output,
//! keys and message bodies. The client says [`Request::Hello`] first and checks the daemon's protocol number;
//! within one number, fields and variants are only added. A request is answered by one [`Response`], except
//! [`Request::View`], which is a conversation until either side ends it.

mod context;
mod conversation;
mod dialog;
pub mod frame;
mod hook;
mod os_text;
mod problem;
mod request;
mod response;
mod run;
mod tool;

pub use context::{
    ClearedFile, ClearedInfo, ContextInfo, ContextPlace, ContextRequest, RecordInfo, SaveRequest,
};
pub use conversation::{AnswerInfo, AnswersInfo, ReplyInfo, TranscriptEntry, TranscriptPage};
pub use dialog::{AnswerRequest, AnsweredInfo, ChoiceInfo, DialogInfo, PendingInfo};
pub use hook::{HookReport, MAX_HOOK_PAYLOAD};
pub use os_text::OsText;
pub use ostler_core::Proof;
pub use problem::{Code, ErrorKind, Problem};
pub use request::{
    CarryOnRequest, Request, ResumeRequest, SendTerms, Since, StartRequest, StartupRequest, ViewRequest,
};
pub use response::{
    DaemonInfo, EventInfo, ExitInfo, Explanation, InterruptInfo, MessageInfo, Metrics, ProcessInfo,
    ProgressInfo, Response, RuleInfo, SessionInfo, SignalInfo, TerminalInfo,
};
pub use run::{
    CheckInfo, CommittedWork, PromptInfo, ProviderInfo, RunCheck, RunInfo, RunRequest, RunWorkTree,
};
pub use tool::{MAX_TOOL_TEXT, QuestionInfo, TaskInfo, ToolAnswer, ToolCall, ToolRequest, WaitFor};

/// Number of the protocol this build speaks.
pub const PROTOCOL: u32 = 1;
