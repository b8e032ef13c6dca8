//! A look at the processes of a session, taken only when nothing better tells what it is doing.

mod sockets;

use std::fs;
use std::sync::{Arc, Mutex, PoisonError};

use ostler_core::Steady;
use ostler_core::detector::ProcessSample;
use ostler_hold::tree;

/// CPU time in clock ticks, of which there are a hundred in a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Ticks(u64);

/// Measures the CPU time that the processes of a session spend between two looks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter(Arc<Mutex<Option<(Ticks, Steady)>>>);

impl Meter {
    /// Looks at a program and the processes below it.
    pub(crate) fn sample(&self, program: u32, session: &str, now: Steady) -> ProcessSample {
        // What was measured last is whole, whoever panicked.
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ago = |(ticks, at)| (ticks, u64::try_from(now.since(at).as_millis()).unwrap_or(0));
        let (sample, ticks) = look(program, session, last.map(ago));
        *last = Some((ticks, now));
        sample
    }
}

/// The fields of `/proc/PID/stat` behind the program's name.
struct Stat {
    group: u32,
    foreground: i32,
    ticks: u64,
}

/// Looks at a program and the processes below it. `before` is the CPU time at the last look, and how long ago
/// that was, in milliseconds.
fn look(program: u32, session: &str, before: Option<(Ticks, u64)>) -> (ProcessSample, Ticks) {
    let below = tree::descendants(program, Some(session));
    let all = [&[program], below.as_slice()].concat();
    let spent = all.iter().filter_map(|pid| stat(*pid)).map(|stat| stat.ticks).sum();
    let foreground = stat(program).and_then(|stat| u32::try_from(stat.foreground).ok());
    let cpu_percent = before.map_or(0, |(Ticks(ticks), ms)| {
        u32::try_from(u64::saturating_sub(spent, ticks) * 1000 / ms.max(10)).unwrap_or(u32::MAX)
    });
    let sample = ProcessSample {
        reads_terminal: foreground.is_some_and(reads_terminal),
        children: u32::try_from(below.len()).unwrap_or(u32::MAX),
        cpu_percent,
        awaits_answer: sockets::await_answer(&all),
    };
    (sample, Ticks(spent))
}

fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = text.rsplit_once(") ")?.1.split(' ').collect();
    let ticks = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let group = fields.get(2)?.parse().ok()?;
    Some(Stat { group, foreground: fields.get(5)?.parse().ok()?, ticks: ticks(11)? + ticks(12)? })
}

/// Whether one of these programs runs in a group of the processes of a session.
pub(crate) fn runs_in_group(program: u32, session: &str, group: u32, names: &[String]) -> bool {
    let below = tree::descendants(program, Some(session));
    let in_group = |pid: &u32| stat(*pid).is_some_and(|stat| stat.group == group);
    [&[program], below.as_slice()].concat().iter().filter(|pid| in_group(pid)).any(|pid| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        names.iter().any(|other| other == name.trim_end())
    })
}

/// Whether a process waits for its terminal alone: in a read of it, or in a wait for its standard input.
fn reads_terminal(pid: u32) -> bool {
    let Ok(text) = fs::read_to_string(format!("/proc/{pid}/syscall")) else { return false };
    let mut fields = text.split(' ').map(str::trim);
    let call = fields.next().and_then(|call| call.parse::<u32>().ok());
    let first = fields.next().and_then(|value| u64::from_str_radix(value.trim_start_matches("0x"), 16).ok());
    let (Some(call), Some(first)) = (call, first) else { return false };
    let is_terminal = |handle: u64| {
        fs::read_link(format!("/proc/{pid}/fd/{handle}")).is_ok_and(|file| file.starts_with("/dev/pts"))
    };
    if call == calls::READ {
        return is_terminal(first);
    }
    // A wait for handles below 1 is a wait for standard input.
    calls::SELECT.contains(&call) && first == 1 && is_terminal(0)
}

#[cfg(target_arch = "x86_64")]
mod calls {
    pub(super) const READ: u32 = 0;
    /// select and pselect6.
    pub(super) const SELECT: [u32; 2] = [23, 270];
}

#[cfg(not(target_arch = "x86_64"))]
mod calls {
    pub(super) const READ: u32 = 63;
    /// pselect6.
    pub(super) const SELECT: [u32; 1] = [72];
}
