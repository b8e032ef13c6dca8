//! All processes that descend from one, read from `/proc`.

use std::collections::HashMap;
use std::fs;

use rustix::process::{Pid, Signal};

use crate::identity::proc_stat;

/// Process ids of all living descendants of `root`, without `root`.
pub fn descendants(root: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for pid in process_ids() {
        if let Some(stat) = proc_stat(pid).filter(|stat| stat.state != b'Z') {
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(parent) = open.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            found.push(child);
            open.push(child);
        }
    }
    found
}

/// All process ids that `/proc` shows.
pub fn process_ids() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// Signals every descendant of `root`; returns how many there were.
pub fn signal_descendants(root: u32, signal: Signal) -> usize {
    let pids = descendants(root);
    for pid in &pids {
        if let Some(pid) = i32::try_from(*pid).ok().and_then(Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
    pids.len()
}
