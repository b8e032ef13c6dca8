//! What is known of agents, tried on recordings, transcripts and sources.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on panics")]
#![allow(clippy::disallowed_methods, reason = "what it tries are files")]

mod corpus;
mod dialogs;
mod no_names;
mod recordings;
mod speech;
mod strange;
mod transcripts;

// Where the score of the laboratory looks for it.
use recordings::truth;
