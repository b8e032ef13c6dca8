//! The crate as the daemon uses it, on real trees, with real programs.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on panics")]

mod check;
mod observe_git;
mod observe_tree;
mod support;
