//! What all tests share: the one fixture, [`TestHome`], and what can be put into it.
//!
//! A topic that needs more of a home than this (an agent to talk to, agents with a part to play) adds to it in an `impl`
//! of its own: see `stand_in.rs` and `runs/team.rs`.

mod home;
mod mounts;
mod programs;
mod random;
mod shown;

use std::path::Path;

pub(crate) use ostler_testkit::wait::{PATIENCE, until, until_file, until_gone, within};
use rustix::process::{Pid, Signal};
use serde_json::Value;

pub(crate) use self::home::{Done, TestHome};
pub(crate) use self::mounts::{mount, own_mounts};
pub(crate) use self::random::{Random, seed, setting};

pub(crate) fn ostler() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_ostler"))
}

/// Kills one process of ours, by its id.
pub(crate) fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
}

pub(crate) fn pid(value: &Value) -> u32 {
    u32::try_from(value.as_u64().unwrap()).unwrap()
}

pub(crate) fn is_running(pid: u32) -> bool {
    ostler_hold::Identity::of(pid).is_some()
}

/// What a preset says of an agent that writes down who said what, and where.
pub(crate) const TRANSCRIPT: &str = r#"
[transcript]
place = "chats/*.jsonl"
cwd = "/cwd"
[[transcript.records]]
fact = "prompt_submitted"
when = { "/type" = "user" }
text = ["/text"]
[[transcript.records]]
fact = "said"
when = { "/type" = "assistant" }
text = ["/text"]
"#;
