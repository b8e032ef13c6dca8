//! All decisions, no I/O.
//!
//! # Theory of operation
//!
//! Each machine here is a value with a `handle` that takes an event and the present moment and returns what
//! to do, and a `deadline` at which it wants to be called even if nothing happens. Events are past facts,
//! actions are imperatives. The shell around a machine (the daemon) turns I/O into events, stores what must
//! not be lost, and performs the actions; their results come back as events. Nothing here reads a clock,
//! a file or the environment, so every decision can be replayed and tested in microseconds.
//!
//! - [`lifecycle`]: whether a session's program runs, cannot be reached, or has ended, and how it is stopped.
//! - [`typing`]: in which order input goes to a terminal, and what is known of each piece.
//! - [`environment`]: what a program under care inherits.
//! - [`continuity`]: what is kept of a piece of work.
//! - [`name`]: what sessions may be called.

pub mod continuity;
pub mod detector;
pub mod environment;
pub mod fact;
pub mod lifecycle;
pub mod name;
pub mod state;
pub mod time;
pub mod typing;

pub use fact::{Asking, Fact, Failure, Usage};
pub use name::SessionName;
pub use state::State;
pub use time::Timestamp;
