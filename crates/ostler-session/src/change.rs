//! What is to be recorded.

use ostler_core::Proof;
use ostler_core::message::{Ending, MessageState, Terms};
use serde_json::Value;

/// A change of the record. Those of one [`Commit`](crate::Effect::Commit) are recorded together or not at all.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A message was accepted.
    Accepted {
        /// Its id.
        id: String,
        /// Its place in the order of arrival.
        order: u64,
        /// What is to be delivered.
        body: Vec<u8>,
        /// What was agreed.
        terms: Terms,
    },
    /// A message that was given up is under way again.
    Revived {
        /// Its id.
        id: String,
        /// Its new place in the order of arrival.
        order: u64,
    },
    /// A message that waits is not wanted any more.
    Cancelled {
        /// Its id.
        id: String,
    },
    /// A message that was given up is done with.
    Dropped {
        /// Its id.
        id: String,
    },
    /// Something is about to be typed for a message.
    WriteBegun {
        /// The message.
        id: String,
        /// The write's number in the holder's ledger.
        seq: u64,
        /// What kind of write.
        write: &'static str,
        /// How often the text's beginning stands on the screen before it is typed.
        echoes: u32,
        /// What the agent shows in place of the text, if it does.
        mark: Option<String>,
    },
    /// A write is in the terminal.
    WriteEnded {
        /// Its number in the holder's ledger.
        seq: u64,
    },
    /// More is proven of a message.
    Proven {
        /// The message.
        id: String,
        /// How far it has got.
        proof: Proof,
        /// What that is concluded from.
        evidence: String,
        /// Nothing more is to be done for it.
        last: bool,
    },
    /// More is proven of a message that is done with, unless that much was known.
    ProvenLate {
        /// The message.
        id: String,
        /// How far it has got.
        proof: Proof,
        /// What that is concluded from.
        evidence: String,
    },
    /// The agent took a different text, also if more was thought to be proven.
    Differed {
        /// The message.
        id: String,
        /// Who says so.
        evidence: String,
        /// The reason, for people.
        failure: String,
    },
    /// Nothing of a message's text is where it was typed.
    Missed {
        /// The message.
        id: String,
    },
    /// Nothing more is done for a message.
    GivenUp {
        /// The message.
        id: String,
        /// Whether it failed, or that cannot be told.
        state: MessageState,
        /// The reason, for people.
        failure: String,
    },
    /// The program runs.
    Started {
        /// Its process id.
        pid: u32,
    },
    /// The terminal has another size.
    Resized {
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
    /// A person wants the session ended.
    StopRequested,
    /// The agent is doing something else.
    Observed {
        /// What the next daemon has to know of it.
        memory: String,
        /// The event that tells of it.
        event: &'static str,
        /// What there is to say about it.
        details: Value,
    },
    /// What the next daemon has to know has changed, and nothing that the event log tells of.
    Remembered {
        /// What that is.
        memory: String,
    },
    /// Something happened that the event log tells of.
    Event {
        /// Its name.
        event: &'static str,
        /// What there is to say about it.
        details: Value,
    },
    /// The program has ended.
    Ended(Ending),
}
