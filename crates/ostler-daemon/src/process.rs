//! A look at the processes of a session, taken only when nothing better tells what it is doing.

mod agent;
mod calls;
mod sockets;

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use ostler_core::detector::ProcessSample;
use ostler_hold::tree::Processes;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, test_kill_process};
use rustix::termios::LocalModes;
use rustix::time::{ClockId, clock_gettime};

pub(crate) use agent::{await_end, find_agent};
use calls::Call;

use crate::shared_look::SharedLook;

/// Looks at all processes of the machine: many sessions may want one at the same time, as after a restart.
pub(crate) type Looks = SharedLook<Processes>;

/// CPU time is measured over this long.
const WINDOW: Duration = Duration::from_millis(150);
/// One tick of CPU time: there are a hundred in a second.
const TICK_MS: u64 = 10;

/// The fields of `/proc/PID/stat` behind the program's name.
#[derive(Debug, Clone, Copy)]
struct Stat {
    /// It runs, or would if it had a core.
    runnable: bool,
    group: u32,
    foreground: i32,
    ticks: u64,
    threads: u32,
    /// When it was started, in ticks since boot.
    start: u64,
}

/// Looks at a program and the processes below it for a moment; nothing where they cannot be seen. It takes that moment:
/// not for threads that others wait for.
pub(crate) fn sample(looks: &Looks, program: u32, session: &str) -> Option<ProcessSample> {
    let before = stats(looks, program, session);
    if !before.contains_key(&program) {
        let gone = || ProcessSample::default();
        return (!runs(program)).then(gone);
    }
    std::thread::sleep(WINDOW);
    let now = stats(looks, program, session);
    let foreground = now.get(&program).and_then(|stat| u32::try_from(stat.foreground).ok());
    let front: Vec<u32> =
        now.iter().filter(|(_, stat)| Some(stat.group) == foreground).map(|(pid, _)| *pid).collect();
    let reader = front.iter().copied().find(|pid| calls::reads_terminal(*pid));
    let busy = |pid: &u32| {
        let (before, now) = before.get(pid).zip(now.get(pid))?;
        let spent = now.ticks.saturating_sub(before.ticks) * TICK_MS * 100 / window_ms();
        // On a busy machine it may have got no core meanwhile.
        let starved = before.runnable && now.runnable;
        Some(if starved { spent.max(100) } else { spent })
    };
    let cpu: u64 = match &reader {
        Some(reader) => busy(reader).unwrap_or(0),
        None => now.keys().filter_map(busy).sum(),
    };
    let newest = now.iter().filter(|(pid, _)| **pid != program).map(|(_, stat)| stat.start).max();
    let pids: Vec<u32> =
        std::iter::once(program).chain(now.keys().copied().filter(|pid| *pid != program)).collect();
    Some(ProcessSample {
        reads_terminal: reader.is_some(),
        single_threaded: reader.and_then(|pid| now.get(&pid)).is_some_and(|stat| stat.threads == 1),
        deaf: !front.is_empty() && collects_lines(program) && front.iter().all(|pid| is_deaf(*pid)),
        children: u32::try_from(now.len().saturating_sub(1)).unwrap_or(u32::MAX),
        newest_child_ms: newest.map(|start| since_boot_ms().saturating_sub(start * TICK_MS)),
        cpu_percent: u32::try_from(cpu).unwrap_or(u32::MAX),
        awaits_answer: sockets::await_answer(&pids),
    })
}

/// Whether a process is there, seen or not.
fn runs(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid).is_ok())
}

fn window_ms() -> u64 {
    u64::try_from(WINDOW.as_millis()).unwrap_or(u64::MAX)
}

fn since_boot_ms() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1000 + u64::try_from(now.tv_nsec).unwrap_or(0) / 1_000_000
}

/// The processes of a session that can be seen.
fn stats(looks: &Looks, program: u32, session: &str) -> HashMap<u32, Stat> {
    let below = looks.get(Processes::look).descendants(program, Some(session));
    std::iter::once(program).chain(below).filter_map(|pid| Some((pid, stat(pid)?))).collect()
}

fn stat(pid: u32) -> Option<Stat> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse(line: &str) -> Option<Stat> {
    let fields: Vec<&str> = line.rsplit_once(") ")?.1.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(Stat {
        runnable: fields.first() == Some(&"R"),
        group: fields.get(2)?.parse().ok()?,
        foreground: fields.get(5)?.parse().ok()?,
        ticks: number(11)? + number(12)?,
        threads: fields.get(17)?.parse().ok()?,
        start: number(19)?,
    })
}

/// Whether one of these programs runs in a group of the processes of a session.
pub(crate) fn runs_in_group(
    looks: &Looks,
    program: u32,
    session: &str,
    group: u32,
    names: &[String],
) -> bool {
    let in_group = |(pid, stat): (u32, Stat)| (stat.group == group).then_some(pid);
    stats(looks, program, session).into_iter().filter_map(in_group).any(|pid| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        names.iter().any(|other| other == name.trim_end())
    })
}

/// Whether the terminal of a program collects lines: then who waits for input is in a read, or waits for events.
fn collects_lines(program: u32) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(terminal) = rustix::fs::open(format!("/proc/{program}/fd/0"), flags, Mode::empty()) else {
        return false;
    };
    rustix::termios::tcgetattr(&terminal)
        .is_ok_and(|termios| termios.local_modes.contains(LocalModes::ICANON))
}

/// Whether no thread of a process waits for anything but time and other processes.
fn is_deaf(pid: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    let mut calls = threads.flatten().map(|thread| Call::of(&thread.path()));
    calls.all(|call| call.is_some_and(Call::is_sleep))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_does_not_shift_the_fields() {
        let line = "42 (a) R 1 (b) S 7 42 42 34816 99 4194560 1 0 0 0 5 6 0 0 20 0 3 0 998877 0 0";
        let stat = parse(line).unwrap();
        assert_eq!((stat.group, stat.foreground, stat.ticks), (42, 99, 11));
        assert_eq!((stat.threads, stat.start, stat.runnable), (3, 998_877, false));
        assert!(parse("42 (a").is_none());
    }

    #[test]
    fn this_process_can_be_seen_and_one_that_is_gone_cannot() {
        let own = sample(&Looks::default(), std::process::id(), "none").unwrap();
        assert!(!own.deaf, "it runs");
        assert_eq!(sample(&Looks::default(), i32::MAX as u32, "none"), Some(ProcessSample::default()));
    }
}
