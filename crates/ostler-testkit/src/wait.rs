//! Waiting in tests: for an event where the system tells of one, else by looking; always with a deadline.

#![allow(clippy::missing_panics_doc, reason = "what is waited for in vain fails its test")]

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// How long anything in a test may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// The longest pause between two looks.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Looks until there is something to see: for what the system sends no event of.
#[track_caller]
pub fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, look).unwrap_or_else(|| timed_out(what))
}

/// Looks until there is something to see, for so long at most.
///
/// The pauses between two looks grow with the time that was waited: most things are there at once, and a test that spins
/// takes the processor from the program that it waits for.
pub fn within<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        if let Some(seen) = look() {
            return Some(seen);
        }
        let waited = began.elapsed();
        if waited > limit {
            return None;
        }
        std::thread::sleep((waited / 4).clamp(Duration::from_millis(1), LONGEST_PAUSE));
    }
}

/// Looks whenever something changes in the directory of `file`, until there is something to see.
#[track_caller]
pub fn until_file<T>(file: &Path, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let changes = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)
        .unwrap_or_else(|error| panic!("no inotify: {error}"));
    let wanted = WatchFlags::CREATE
        | WatchFlags::MODIFY
        | WatchFlags::ATTRIB
        | WatchFlags::MOVED_TO
        | WatchFlags::MOVED_FROM
        | WatchFlags::DELETE;
    let dir = file.parent().unwrap_or(file);
    until("there is a directory to watch", || dir.is_dir().then_some(()));
    if let Err(error) = inotify::add_watch(&changes, dir, wanted) {
        panic!("{} cannot be watched: {error}", dir.display());
    }
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        if !until_readable(changes.as_fd(), deadline) {
            return look().unwrap_or_else(|| timed_out(what));
        }
        // That something changed is all there is to know.
        while rustix::io::read(&changes, &mut [0u8; 4096]).is_ok() {}
    }
}

/// Waits until a process has ended, whether or not anybody has waited for it.
#[track_caller]
pub fn until_gone(what: &str, pid: u32) {
    let pid =
        i32::try_from(pid).ok().and_then(Pid::from_raw).unwrap_or_else(|| panic!("{pid} is no process"));
    let process = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => process,
        Err(Errno::SRCH) => return,
        Err(error) => panic!("no handle of process {pid:?}: {error}"),
    };
    if !until_readable(process.as_fd(), Instant::now() + PATIENCE) {
        timed_out(what)
    }
}

/// Waits until something can be read, or nothing ever can any more; `false` if neither came in time.
fn until_readable(file: BorrowedFd<'_>, deadline: Instant) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let limit = Timespec::try_from(left).ok();
        match poll(&mut [PollFd::new(&file, PollFlags::IN)], limit.as_ref()) {
            Ok(ready) => return ready > 0,
            Err(Errno::INTR) => {}
            Err(error) => panic!("poll: {error}"),
        }
    }
}

#[track_caller]
fn timed_out(what: &str) -> ! {
    panic!("timed out waiting until {what}")
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_file_is_seen_when_it_is_moved_into_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        let mut child = Command::new("sh")
            .args(["-c", "read x; echo hello > new; mv new file"])
            .current_dir(dir.path())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdin.take());
        let text = until_file(&file, "it is there", || std::fs::read_to_string(&file).ok());
        assert_eq!(text, "hello\n");
        child.wait().unwrap();
    }

    #[test]
    fn a_process_is_gone_also_when_nobody_has_waited_for_it() {
        let mut child = Command::new("true").spawn().unwrap();
        until_gone("it has ended", child.id());
        child.wait().unwrap();
        until_gone("it has ended", child.id());
    }

    #[test]
    fn what_does_not_come_is_given_up() {
        assert_eq!(within(Duration::from_millis(20), || None::<()>), None);
        let mut looks = 0;
        let seen = within(PATIENCE, || {
            looks += 1;
            (looks == 3).then_some(looks)
        });
        assert_eq!(seen, Some(3));
    }
}
