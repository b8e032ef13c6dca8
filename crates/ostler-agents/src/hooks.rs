//! How agents report events to programs, and how ostler has them report to it.
//!
//! # Theory of operation
//!
//! A hook is a command that an agent runs when something happens, with a JSON payload on its standard input. What
//! an agent calls its events, what they mean, where it wants its hooks written down and in which of a few forms
//! is data: a [`HookSpec`]. From it, [`decode`] makes [`ostler_core::Fact`]s of a payload, [`session_hooks`] makes
//! the arguments that give hooks to one session alone, and [`install`], [`remove`] and [`inspect`] change the text
//! of the agent's own settings, of which every byte that is not ours stays as it was.
//!
//! Payloads are hints of an untrusted program: their size, depth, ids and paths are bounded here.

mod command;
mod decode;
mod json_text;
mod meaning;
mod merge;
mod own_file;
mod render;
mod salvage;
mod session;
mod spec;
mod trust;

pub use command::{BY_OSTLER, CONTEXT, PER_SESSION, PRINT};
pub use decode::{Decoded, MAX_PAYLOAD, decode, fuzz_decode};
pub use meaning::{Meaning, MeaningError};
pub use merge::{Found, MergeError, Removed, by_hand, inspect, install, remove};
pub(crate) use session::contradiction;
pub use session::{SessionHooks, context_output, session_hooks};
pub use spec::{EventSpec, Format, HookSpec, SessionWay, TrustSpec};

#[cfg(test)]
mod tests;
