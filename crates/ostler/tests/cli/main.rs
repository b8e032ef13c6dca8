//! The program as a user drives it: the built binary, in homes of their own.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on panics")]

mod agents;
mod attach;
mod basics;
mod context;
mod hooks;
mod hostile;
mod judge;
mod kill;
mod sandbox;
mod states;
mod support;
mod trouble;
mod users;
