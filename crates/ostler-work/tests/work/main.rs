//! The crate as the daemon uses it, on real trees, with real programs.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on panics")]
#![allow(clippy::print_stdout, reason = "tests say what they leave out")]

mod check;
// They make system calls by number.
#[cfg(target_arch = "x86_64")]
mod escapes;
mod observe_git;
mod observe_tree;
mod process;
mod sandbox;
mod standing;
mod support;
mod worktree;
mod world;
