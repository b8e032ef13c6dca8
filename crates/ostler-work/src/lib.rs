//! What an agent did to a work tree, and whether it is right.
//!
//! # Theory of operation
//!
//! An attempt is judged by what is on the disk, not by what the agent says. Before it, [`snapshot`] looks at the
//! tree; after it, [`changes`] looks again and tells which files were created, updated and deleted. Then the
//! checks of the task run, outside the agent ([`check`]). Commands that a model proposed run in a copy of the tree,
//! contained by the kernel, or not at all ([`sandbox`]).
//!
//! How a work tree stands, as its people would say it (branch, commits, files that differ), tells [`standing`].
//!
//! A task can have a work tree and a branch of its own ([`worktree`]).
//!
//! All of this reads what an agent has written, so nothing here trusts it: git is asked in a way that runs no
//! program which a repository's settings name, no link is followed out of the tree, every program has a deadline
//! and a bound on its output, and ends with all that it started.

pub mod check;
mod exclude;
mod git;
mod kept;
pub mod names;
mod observe;
mod print;
pub mod process;
pub mod sandbox;
mod standing;
mod tree;
pub mod worktree;

pub use exclude::Exclude;
pub use git::GitError;
pub use kept::{Keep, Kept};
pub use observe::{Changes, Limits, ObserveError, Observed, Renamed, Snapshot, changes, snapshot};
pub use process::{End, end_marked};
pub use standing::{TreeStatus, standing};
