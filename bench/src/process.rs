//! What a process costs, as the kernel tells it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal};

/// A process, and not another one that was given its number later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pid: u32,
    /// Clock ticks between boot and its start.
    started: u64,
}

/// What of a process's memory counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    /// Its own pages and its share of those it has in common with others, in KiB.
    pub(crate) pss: u64,
    /// Pages that only it has and that it has changed, in KiB.
    pub(crate) private_dirty: u64,
}

impl Process {
    /// Looks up the process that has this id now.
    pub(crate) fn find(pid: u32) -> Result<Self> {
        let fields = stat(pid)?;
        Ok(Self { pid, started: number(&fields, STARTED)? })
    }

    pub(crate) fn is_alive(self) -> bool {
        stat(self.pid).is_ok_and(|fields| {
            number(&fields, STARTED).is_ok_and(|started| started == self.started)
                && fields.first().is_none_or(|state| state != "Z")
        })
    }

    pub(crate) fn memory(self) -> Result<Memory> {
        let path = format!("/proc/{}/smaps_rollup", self.pid);
        let text = fs::read_to_string(&path).with_context(|| path.clone())?;
        let kib = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key));
            line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse().ok())
                .with_context(|| format!("{path} has no {key}"))
        };
        Ok(Memory { pss: kib("Pss:")?, private_dirty: kib("Private_Dirty:")? })
    }

    /// CPU time used so far, in ticks.
    pub(crate) fn ticks(self) -> Result<u64> {
        let fields = stat(self.pid)?;
        Ok(number(&fields, USER_TIME)? + number(&fields, SYSTEM_TIME)?)
    }

    /// How often each of its threads went to sleep and was woken so far: finer than ticks.
    pub(crate) fn wakeups(self) -> Result<BTreeMap<OsString, u64>> {
        let tasks = format!("/proc/{}/task", self.pid);
        let mut wakeups = BTreeMap::new();
        for task in fs::read_dir(&tasks).context(tasks)? {
            let task = task?;
            // A thread may end while the list is read.
            let text = fs::read_to_string(task.path().join("status")).unwrap_or_default();
            let count = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            wakeups.insert(task.file_name(), count.and_then(|count| count.trim().parse().ok()).unwrap_or(0));
        }
        Ok(wakeups)
    }

    /// Kills it, unless it is gone already.
    pub(crate) fn kill(self) {
        if let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw)
            && self.is_alive()
        {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }
}

/// Ticks per second: the kernel's interface has this number on every architecture this runs on.
pub(crate) const TICKS: u32 = 100;

// Places in the line of `/proc/PID/stat`, counted from the state, which follows the name.
const USER_TIME: usize = 11;
const SYSTEM_TIME: usize = 12;
const STARTED: usize = 19;

fn stat(pid: u32) -> Result<Vec<String>> {
    let path = format!("/proc/{pid}/stat");
    let line = fs::read_to_string(&path).context(path)?;
    // The name is in parentheses and may hold anything, parentheses too.
    let behind = line.rsplit_once(')').map_or("", |(_, behind)| behind);
    Ok(behind.split_whitespace().map(str::to_owned).collect())
}

fn number(fields: &[String], place: usize) -> Result<u64> {
    fields.get(place).and_then(|field| field.parse().ok()).context("/proc/PID/stat is too short")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_itself() {
        let own = Process::find(std::process::id()).unwrap();
        assert!(own.is_alive());
        assert!(own.memory().unwrap().pss > 0);
        assert!(!Process { started: own.started + 1, ..own }.is_alive());
    }
}
