//! Why a request failed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Why a request failed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Problem {
    /// What kind of problem.
    pub kind: ErrorKind,
    /// Which problem exactly, for programs.
    #[serde(default, skip_serializing_if = "Code::is_unspecified")]
    pub code: Code,
    /// What the problem is about, by the names that [`Code`] gives.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, String>,
    /// What happened.
    pub message: String,
    /// What to do about it, where that is the same for every front end.
    #[serde(default)]
    pub hint: Option<String>,
}

/// Kinds of problems, for exit codes and programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The request makes no sense.
    Usage,
    /// No such session or message.
    NotFound,
    /// It is in the way of something that exists.
    Conflict,
    /// The session has ended.
    Ended,
    /// It was tried and did not work.
    Failed,
    /// The disk is full or cannot be written.
    Storage,
    /// A defect of ostler.
    Internal,
}

/// Which problem exactly. In brackets: the names of its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "String", into = "&'static str")]
pub enum Code {
    /// None was given, or one that this build does not know.
    #[default]
    Unspecified,
    /// No session has this name or id (`session`).
    SessionNotFound,
    /// The session runs, and the daemon is about to take it up (`session`).
    SessionRecovering,
    /// The session has ended (`session`).
    SessionEnded,
    /// The session runs, so there is nothing to resume (`session`).
    SessionRuns,
    /// Processes of the session outlived its terminal (`session`, `pids`).
    SessionHasSurvivors,
    /// The session's holder does not answer (`session`).
    HolderUnreachable,
    /// No message has this id (`message`).
    MessageNotFound,
    /// Several sessions have a message with this id (`message`).
    MessageAmbiguous,
    /// The session of the message has ended (`message`).
    MessageSessionEnded,
    /// The message is longer than one may be (`limit`, in bytes).
    MessageTooLong,
    /// The directory is not there, or cannot be entered (`directory`).
    DirectoryUnusable,
    /// No agent has this name (`agent`).
    AgentUnknown,
    /// The agent's program is not installed, or not on the `PATH` (`agent`, `title`).
    AgentNotInstalled,
    /// There is no such program (`program`).
    ProgramNotFound,
    /// Another program has the name of the agent's (`title`, `program`).
    WrongProgram,
    /// The program could not be started (`session`).
    StartFailed,
    /// A run without an agent that could do it.
    NoAgentGiven,
    /// No run has this id, or several ids begin so (`run`).
    RunNotFound,
    /// Another run works in the directory (`run`).
    DirectoryTaken,
    /// No breaker is kept for a provider of this name (`provider`).
    ProviderUnknown,
    /// The store that runs and breakers are kept in does not answer.
    SharedStoreUnavailable,
    /// The caller could not prove that it runs in the session (`session`).
    SessionUnproven,
    /// The agent calls tools too often.
    TooManyCalls,
    /// The user does not allow agents to send messages to each other.
    SendNotAllowed,
    /// No question has this id (`question`).
    QuestionNotFound,
    /// The question was answered otherwise (`question`).
    QuestionAnswered,
    /// The database is damaged.
    RecordDamaged,
    /// The daemon does not know this request: it is of another version.
    UnknownRequest,
    /// No dialog is open, another one than was meant, or one that cannot be answered so.
    NoDialog,
}

impl Code {
    /// All codes.
    pub const ALL: [Self; 30] = [
        Self::Unspecified,
        Self::SessionNotFound,
        Self::SessionRecovering,
        Self::SessionEnded,
        Self::SessionRuns,
        Self::SessionHasSurvivors,
        Self::HolderUnreachable,
        Self::MessageNotFound,
        Self::MessageAmbiguous,
        Self::MessageSessionEnded,
        Self::MessageTooLong,
        Self::DirectoryUnusable,
        Self::AgentUnknown,
        Self::AgentNotInstalled,
        Self::ProgramNotFound,
        Self::WrongProgram,
        Self::StartFailed,
        Self::NoAgentGiven,
        Self::RunNotFound,
        Self::DirectoryTaken,
        Self::ProviderUnknown,
        Self::SharedStoreUnavailable,
        Self::SessionUnproven,
        Self::TooManyCalls,
        Self::SendNotAllowed,
        Self::QuestionNotFound,
        Self::QuestionAnswered,
        Self::RecordDamaged,
        Self::UnknownRequest,
        Self::NoDialog,
    ];

    /// The code on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unspecified => "unspecified",
            Self::SessionNotFound => "session_not_found",
            Self::SessionRecovering => "session_recovering",
            Self::SessionEnded => "session_ended",
            Self::SessionRuns => "session_runs",
            Self::SessionHasSurvivors => "session_has_survivors",
            Self::HolderUnreachable => "holder_unreachable",
            Self::MessageNotFound => "message_not_found",
            Self::MessageAmbiguous => "message_ambiguous",
            Self::MessageSessionEnded => "message_session_ended",
            Self::MessageTooLong => "message_too_long",
            Self::DirectoryUnusable => "directory_unusable",
            Self::AgentUnknown => "agent_unknown",
            Self::AgentNotInstalled => "agent_not_installed",
            Self::ProgramNotFound => "program_not_found",
            Self::WrongProgram => "wrong_program",
            Self::StartFailed => "start_failed",
            Self::NoAgentGiven => "no_agent_given",
            Self::RunNotFound => "run_not_found",
            Self::DirectoryTaken => "directory_taken",
            Self::ProviderUnknown => "provider_unknown",
            Self::SharedStoreUnavailable => "shared_store_unavailable",
            Self::SessionUnproven => "session_unproven",
            Self::TooManyCalls => "too_many_calls",
            Self::SendNotAllowed => "send_not_allowed",
            Self::QuestionNotFound => "question_not_found",
            Self::QuestionAnswered => "question_answered",
            Self::RecordDamaged => "record_damaged",
            Self::UnknownRequest => "unknown_request",
            Self::NoDialog => "no_dialog",
        }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it so")]
    fn is_unspecified(&self) -> bool {
        *self == Self::Unspecified
    }
}

impl From<String> for Code {
    fn from(text: String) -> Self {
        Self::ALL.into_iter().find(|code| code.as_str() == text).unwrap_or_default()
    }
}

impl From<Code> for &'static str {
    fn from(code: Code) -> Self {
        code.as_str()
    }
}

impl Problem {
    /// A problem without code and hint.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, code: Code::Unspecified, data: BTreeMap::new(), message: message.into(), hint: None }
    }

    /// The same problem with a code.
    #[must_use]
    pub fn code(mut self, code: Code) -> Self {
        self.code = code;
        self
    }

    /// The same problem with something that it is about.
    #[must_use]
    pub fn about(mut self, name: &str, value: impl Into<String>) -> Self {
        self.data.insert(name.to_owned(), value.into());
        self
    }

    /// The same problem with advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_told_apart_and_read_back() {
        for code in Code::ALL {
            assert_eq!(Code::from(code.as_str().to_owned()), code);
        }
        let problem = Problem::new(ErrorKind::Ended, "over").code(Code::SessionEnded).about("session", "one");
        let json = serde_json::to_value(&problem).unwrap();
        let expected = serde_json::json!({
            "kind": "ended", "code": "session_ended", "data": { "session": "one" }, "message": "over", "hint": null
        });
        assert_eq!(json, expected);
        let read: Problem = serde_json::from_value(json).unwrap();
        assert_eq!((read.code, read.data["session"].as_str()), (Code::SessionEnded, "one"));
    }

    #[test]
    fn a_peer_of_another_version_is_understood() {
        let older: Problem = serde_json::from_str(r#"{"kind":"failed","message":"m","hint":"h"}"#).unwrap();
        assert_eq!((older.code, older.hint.as_deref()), (Code::Unspecified, Some("h")));
        let newer: Problem =
            serde_json::from_str(r#"{"kind":"failed","message":"m","code":"of_tomorrow"}"#).unwrap();
        assert_eq!(newer.code, Code::Unspecified);
    }
}
