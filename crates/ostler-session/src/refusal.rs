//! Why something cannot be done.

use ostler_core::message::MessageState;

/// Why a command was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// That cannot be the id of a message.
    BadId {
        /// Its beginning.
        id: String,
    },
    /// The id names another message.
    ReusedId {
        /// The id.
        id: String,
    },
    /// Too many messages wait for the session.
    QueueFull {
        /// How many.
        waiting: usize,
    },
    /// The text is not valid UTF-8.
    NotText,
    /// Nothing is left of the text without blanks and control characters.
    Empty,
    /// It is not known how to interrupt the agent.
    NoInterrupt {
        /// What the agent is called.
        agent: String,
    },
    /// No dialog is open, or none that can be read.
    NoDialog,
    /// Another dialog is open than the one that was meant.
    AnotherDialog {
        /// Its id.
        id: String,
    },
    /// The dialog is being answered.
    BeingAnswered,
    /// The dialog has no such choice.
    NoSuchChoice {
        /// What was said.
        word: String,
        /// What can be chosen.
        choices: Vec<String>,
    },
    /// The dialog has no choice that allows it for good, or several.
    NoAlways,
    /// The dialog takes no words of one's own.
    TakesNoText,
    /// Nothing can be typed there.
    NoKeys,
    /// Only a message that was given up can be tried again.
    NotGivenUp {
        /// The message.
        id: String,
        /// How it stands.
        state: MessageState,
    },
    /// Only a message that waits or was given up can be dropped.
    NotDroppable {
        /// The message.
        id: String,
        /// How it stands.
        state: MessageState,
    },
    /// Something of the message is in the terminal.
    InTerminal {
        /// The message.
        id: String,
    },
    /// Raw bytes are not confirmed.
    RawBytes {
        /// The message.
        id: String,
    },
    /// The message was not typed yet.
    NotTyped {
        /// The message.
        id: String,
    },
    /// The program has ended.
    Ended,
    /// The store does not take it.
    NotRecorded,
}
