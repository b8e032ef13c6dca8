//! The holder: one small process per session that owns the terminal.
//!
//! # Theory of operation
//!
//! A program under care runs on a PTY whose master belongs to a *holder*, not to the daemon. The holder
//! decides nothing about agents, and of what they print it follows only the terminal modes ([`modes`]). It drains the program's output into a [`Ring`] with
//! absolute offsets, and types input frames that come with a sequence number, which its [`ledger::Ledger`]
//! lets through once. Daemons come and go; whoever shows the session's token may ask for everything since
//! offset N and may offer input again without knowing whether an earlier try got through.
//!
//! What outlives the holder lies in the [`SessionDir`]: the ring, the [`ExitRecord`], the recording. What
//! proves that it lives is the lock on the spec file, which it inherits from the daemon that starts it and
//! keeps until the kernel takes it away.
//!
//! A reader that keeps up a little late is waited for (the program's writes block for moments, as on any
//! slow terminal); one that takes nothing for five seconds is not, and is told later what it missed.
//!
//! This is the only crate with `unsafe` code: memory mapping, signals, and the moments between fork and exec.

pub mod cgroup;
mod client;
mod codec;
mod crc;
mod dir;
mod entry;
mod exit;
mod holder;
mod identity;
mod launch;
pub mod ledger;
pub mod modes;
mod recorder;
mod ring;
mod signals;
mod spawn;
mod spec;
mod stopping;
pub mod tree;
pub mod wire;

pub use codec::Truncated;
pub use crc::crc32;
pub use dir::{SessionDir, SocketPath, create_private, write_atomically};
pub use entry::main;
pub use exit::{BadExitFile, ExitRecord};
pub use identity::{Identity, boot_id};
pub use launch::{LaunchError, Launched, Launcher};
pub use ring::{Remains, Ring, read_remains};
pub use spawn::{detach, detach_while_we_live};
pub use spec::{DEFAULT_RING, Spec};
pub use tree::{DAEMON_MARK, SESSION_MARK};
