//! What a program tells its terminal besides the picture.

use serde::{Deserialize, Serialize};

/// Something in the program's output that is not a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// The bell rang.
    Bell,
    /// The program named its window (OSC 0 or 2, or a return to an earlier title). Free of control characters.
    Title(String),
    /// The program told its own state (OSC 7501).
    ProgramStatus(ProgramStatus),
    /// The program wants a person's attention.
    Notification {
        /// The OSC code it used: 9, 99 or 777.
        source: u16,
        /// A heading, if it gave one.
        title: Option<String>,
        /// The text; empty if there is only a heading.
        body: String,
    },
    /// The program told how far it is (OSC 9;4).
    Progress {
        /// What kind of progress it is.
        state: ProgressState,
        /// Per cent done, 0 to 100, if it is known.
        percent: Option<u8>,
    },
    /// A shell marked a part of its dialogue (OSC 133).
    PromptMark(PromptMark),
    /// The program asked its terminal something: these bytes are to be typed into it.
    Reply {
        /// Index in the fed bytes just behind the question.
        at: usize,
        /// The answer. Never contains text of the program's choosing.
        bytes: Vec<u8>,
    },
}

/// What a program says about itself with OSC 7501. A hint: any program on the terminal can write it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramStatus {
    /// The state it claims.
    pub state: ProgramState,
    /// Its name.
    pub app: Option<String>,
    /// What it waits for, when blocked.
    pub kind: Option<BlockKind>,
    /// A text for people. Free of control characters.
    pub message: Option<String>,
    /// Names the thing the status is about.
    pub id: Option<String>,
}

/// A state that a program can claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProgramState {
    /// Ready for input.
    Idle,
    /// At work.
    Working,
    /// Waiting for a person.
    Blocked,
    /// Finished what it was asked.
    Done,
    /// Failed.
    Error,
    /// Takes back the last status.
    Clear,
}

/// What a blocked program waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BlockKind {
    /// Leave to do something.
    Permission,
    /// An answer.
    Question,
    /// A login.
    Auth,
}

/// The kinds of progress that OSC 9;4 knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProgressState {
    /// No progress to show.
    Cleared,
    /// Under way.
    Normal,
    /// Failed.
    Error,
    /// Under way, no telling how far.
    Indeterminate,
    /// Halted.
    Paused,
}

/// A part of a shell's dialogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptMark {
    /// The prompt begins.
    PromptStart,
    /// The prompt ends, typing begins.
    InputStart,
    /// The command runs, its output begins.
    OutputStart,
    /// The command ended.
    Finished {
        /// Its exit code, if the shell told.
        exit: Option<i32>,
    },
}
