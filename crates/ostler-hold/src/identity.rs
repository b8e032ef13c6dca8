//! Which process this is, beyond a number that the kernel hands out again.

use std::fs;

use rustix::process::{Pid, Signal};

/// A process, told apart from a later one with the same number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Process id.
    pub pid: u32,
    /// Start time in clock ticks since boot.
    pub start: u64,
    /// The kernel's id of this boot.
    pub boot: String,
}

impl Identity {
    /// The identity of a process that runs now.
    pub fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, start: start_time(pid)?, boot: boot_id() })
    }

    /// The identity of this process.
    pub fn own() -> Option<Self> {
        Self::of(std::process::id())
    }

    /// Whether that very process still runs. A zombie does not.
    pub fn is_alive(&self) -> bool {
        boot_id() == self.boot && start_time(self.pid) == Some(self.start)
    }

    /// Whether somebody has stopped it, so that it answers nobody until it is continued.
    pub fn is_stopped(&self) -> bool {
        proc_stat(self.pid).is_some_and(|stat| stat.state == b'T' && stat.start == self.start)
    }

    /// Sends a signal, if the process is still the one meant.
    pub fn signal(&self, signal: Signal) -> bool {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return false };
        self.is_alive() && rustix::process::kill_process(pid, signal).is_ok()
    }

    /// The identity as one line of text.
    pub fn to_text(&self) -> String {
        format!("{} {} {}\n", self.pid, self.start, self.boot)
    }

    /// Reads what [`Identity::to_text`] wrote.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        Some(Self {
            pid: words.next()?.parse().ok()?,
            start: words.next()?.parse().ok()?,
            boot: words.next()?.to_owned(),
        })
    }
}

/// The kernel's id of this boot, empty where it has none.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// One line of `/proc/PID/stat`, as far as it is needed here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcStat {
    /// State letter.
    pub(crate) state: u8,
    /// Parent process.
    pub(crate) parent: u32,
    /// Start time in clock ticks since boot.
    pub(crate) start: u64,
}

/// Reads `/proc/PID/stat`.
pub(crate) fn proc_stat(pid: u32) -> Option<ProcStat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The name is in brackets and may hold anything, brackets and blanks too: fields count from the last one.
fn parse_stat(line: &str) -> Option<ProcStat> {
    let mut fields = line.get(line.rfind(')')? + 1..)?.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    let start = fields.nth(17)?.parse().ok()?;
    Some(ProcStat { state, parent, start })
}

fn start_time(pid: u32) -> Option<u64> {
    proc_stat(pid).filter(|stat| !matches!(stat.state, b'Z' | b'X')).map(|stat| stat.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_does_not_shift_the_fields() {
        let line = "42 (a) R 1 (b) S 7 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 998877 0 0";
        assert_eq!(parse_stat(line), Some(ProcStat { state: b'S', parent: 7, start: 998_877 }));
        assert_eq!(parse_stat("42 (a"), None);
    }

    #[test]
    fn tells_itself_from_another_with_its_number() {
        let own = Identity::own().unwrap();
        assert!(own.is_alive());
        assert_eq!(Identity::from_text(&own.to_text()), Some(own.clone()));
        assert!(!Identity { start: own.start + 1, ..own.clone() }.is_alive());
        assert!(!Identity { boot: "another boot".into(), ..own }.is_alive());
    }
}
