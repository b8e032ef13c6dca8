//! What anyone can ask of the daemon: typed arguments in, a typed answer or a [`Problem`] out.
//!
//! Front ends translate between these functions and a wire; the unix socket is one. Nothing here knows of sockets or
//! frames. A function that waits stops waiting when its future is dropped; whatever outlives that is recorded before
//! the function returns.
//!
//! [`Problem`]: ostler_protocol::Problem

pub(crate) mod context;
pub(crate) mod conversation;
pub(crate) mod daemon;
pub(crate) mod dialogs;
pub(crate) mod events;
pub(crate) mod hooks;
pub(crate) mod messages;
pub(crate) mod metrics;
pub(crate) mod providers;
pub(crate) mod questions;
pub(crate) mod runs;
pub(crate) mod sessions;
pub(crate) mod tools;
pub(crate) mod views;
