//! Dialogs that wait for a person, and answers to them.

use ostler_core::State;
use serde::{Deserialize, Serialize};

/// The dialog of a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DialogInfo {
    /// Names this dialog as long as it stands.
    pub id: String,
    /// The session's name.
    pub session: String,
    /// `permission`, `question`, `plan`, `trust`, `auth`, `dialog` or `menu`, if it is known.
    pub kind: Option<String>,
    /// The rule that knows it.
    pub rule: Option<String>,
    /// What it asks, and the command or file that it is about, in lines.
    pub about: Vec<String>,
    /// What can be chosen.
    pub choices: Vec<ChoiceInfo>,
    /// One can answer in one's own words.
    pub takes_text: bool,
}

/// Something to choose in a dialog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChoiceInfo {
    /// What chooses it, beside its words: its number in the dialog, or its place.
    pub number: u32,
    /// Its words.
    pub label: String,
    /// It is selected.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub selected: bool,
    /// It allows for good.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub always: bool,
}

/// What is known of a session's dialog.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PendingInfo {
    /// The session's name.
    pub session: String,
    /// What it is doing.
    pub state: State,
    /// The dialog; nothing if none is open.
    pub dialog: Option<DialogInfo>,
}

/// An answer to a dialog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerRequest {
    /// The session's name or id.
    pub name: String,
    /// The dialog that is meant.
    pub dialog: String,
    /// `yes`, `no`, the number or the words of a choice, or words of one's own.
    pub word: String,
    /// It is words of one's own, whatever it says.
    #[serde(default)]
    pub own_words: bool,
    /// With `yes`: for good.
    #[serde(default)]
    pub always: bool,
}

/// What became of an answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AnsweredInfo {
    /// The dialog's id.
    pub id: String,
    /// The session's name.
    pub session: String,
    /// What was chosen, or written.
    pub choice: String,
    /// `answered`, `unanswered` (no answer was pressed), or `uncertain`.
    pub outcome: String,
    /// Why it is not known to be answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The dialog that is open now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<DialogInfo>,
}
