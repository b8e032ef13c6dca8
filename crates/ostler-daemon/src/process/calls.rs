//! What a thread waits for in the kernel, where that can be read.

use std::fs;
use std::path::Path;

/// A call into the kernel that a thread waits in, and the first thing that it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Call {
    number: u32,
    first: u64,
}

impl Call {
    /// The call of a process or a thread, by its directory in `/proc`; none of one that runs.
    pub(super) fn of(dir: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(dir.join("syscall")).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split_whitespace();
        let number = fields.next()?.parse().ok()?;
        let first = u64::from_str_radix(fields.next()?.trim_start_matches("0x"), 16).ok()?;
        Some(Self { number, first })
    }

    /// Whether it waits for time or for other processes, and for nothing else.
    pub(super) fn is_sleep(self) -> bool {
        SLEEP.contains(&self.number)
    }
}

/// Whether a process waits for its terminal alone: in a read of it, or in a wait for its standard input.
pub(super) fn reads_terminal(pid: u32) -> bool {
    let Some(call) = Call::of(Path::new(&format!("/proc/{pid}"))) else { return false };
    let is_terminal = |handle: u64| {
        fs::read_link(format!("/proc/{pid}/fd/{handle}")).is_ok_and(|file| file.starts_with("/dev/pts"))
    };
    if call.number == READ {
        return is_terminal(call.first);
    }
    // A wait for handles below 1 is a wait for standard input.
    SELECT.contains(&call.number) && call.first == 1 && is_terminal(0)
}

#[cfg(target_arch = "x86_64")]
mod numbers {
    pub(super) const READ: u32 = 0;
    /// select and pselect6.
    pub(super) const SELECT: &[u32] = &[23, 270];
    /// nanosleep, `clock_nanosleep`, wait4 and waitid.
    pub(super) const SLEEP: &[u32] = &[35, 230, 61, 247];
}

#[cfg(not(target_arch = "x86_64"))]
mod numbers {
    pub(super) const READ: u32 = 63;
    /// pselect6.
    pub(super) const SELECT: &[u32] = &[72];
    /// nanosleep, `clock_nanosleep`, wait4 and waitid.
    pub(super) const SLEEP: &[u32] = &[101, 115, 260, 95];
}

use numbers::{READ, SELECT, SLEEP};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_read_and_one_that_runs_has_none() {
        let call = Call::parse("230 0x0 0x1 0x7ffd 0x0 0x0 0x0 0x7ffc 0x7f1a\n").unwrap();
        assert_eq!((call.number, call.first), (230, 0));
        assert_eq!(Call::parse("running\n"), None);
        assert_eq!(Call::parse(""), None);
    }
}
