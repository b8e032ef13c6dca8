//! All processes that descend from one, read from `/proc`.

use std::collections::HashMap;
use std::fs;

use rustix::process::{Pid, Signal};

use crate::identity::proc_stat;

/// The variable that marks every process of a session; its value is the session's id.
pub const SESSION_MARK: &str = "OSTLER_SESSION_ID";
/// The variable that marks a daemon.
pub const DAEMON_MARK: &str = "OSTLER_DAEMON";

/// Whether a process belongs to someone else although it descends from a session: a daemon that was started from
/// within, or a process of another session that such a daemon started.
pub fn is_foreign(pid: u32, session: Option<&str>) -> bool {
    let Ok(environ) = fs::read(format!("/proc/{pid}/environ")) else { return false };
    environ.split(|byte| *byte == 0).any(|entry| match entry.split(|byte| *byte == b'=').next() {
        Some(name) if name == DAEMON_MARK.as_bytes() => true,
        Some(name) if name == SESSION_MARK.as_bytes() => {
            session.is_some_and(|session| entry.get(name.len() + 1..) != Some(session.as_bytes()))
        }
        _ => false,
    })
}

/// All living processes, by their parents.
#[derive(Debug, Default)]
pub struct Processes(HashMap<u32, Vec<u32>>);

impl Processes {
    /// Those that `/proc` shows now.
    pub fn look() -> Self {
        let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
        for pid in process_ids() {
            if let Some(stat) = proc_stat(pid).filter(|stat| stat.state != b'Z') {
                children.entry(stat.parent).or_default().push(pid);
            }
        }
        Self(children)
    }

    /// Process ids of all descendants of `root` that belong to its session, without `root`.
    pub fn descendants(&self, root: u32, session: Option<&str>) -> Vec<u32> {
        let mut found = Vec::new();
        let mut open = vec![root];
        while let Some(parent) = open.pop() {
            for child in self.0.get(&parent).into_iter().flatten() {
                // Where numbers were given again meanwhile, parents may go in a circle.
                if *child == root || found.contains(child) || is_foreign(*child, session) {
                    continue;
                }
                found.push(*child);
                open.push(*child);
            }
        }
        found
    }
}

/// Process ids of all living descendants of `root` that belong to its session, without `root`.
pub fn descendants(root: u32, session: Option<&str>) -> Vec<u32> {
    Processes::look().descendants(root, session)
}

/// All process ids that `/proc` shows.
pub fn process_ids() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// Signals every descendant of `root` that belongs to its session; returns how many there were.
pub fn signal_descendants(root: u32, session: Option<&str>, signal: Signal) -> usize {
    signal_all(root, None, session, signal)
}

/// The same, with a program that is known to be one of them, for `/proc` may hide it.
pub(crate) fn signal_all(root: u32, program: Option<u32>, session: Option<&str>, signal: Signal) -> usize {
    let mut pids = descendants(root, session);
    pids.extend(program.filter(|program| !pids.contains(program)));
    for pid in &pids {
        if let Some(pid) = i32::try_from(*pid).ok().and_then(Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
    pids.len()
}
