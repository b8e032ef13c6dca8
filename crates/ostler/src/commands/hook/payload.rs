//! What the agent says, from standard input.

use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use ostler_protocol::MAX_HOOK_PAYLOAD;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// What is read, and thrown away behind the part that is kept. Whoever says more is cut off.
const MOST: usize = 1 << 30;
/// How long all of it may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the agent may be silent without having closed the pipe.
const SILENCE: Duration = Duration::from_secs(1);
/// The same, when what it said looks complete: some agents never close it.
const SILENCE_AT_THE_END: Duration = Duration::from_millis(50);

/// Reads the payload: its beginning is kept, the rest is taken from the agent and dropped.
pub(super) fn read() -> Vec<u8> {
    let stdin = io::stdin();
    // A person's keystrokes are no payload.
    if stdin.is_terminal() { Vec::new() } else { read_from(stdin.as_fd()) }
}

fn read_from(input: BorrowedFd<'_>) -> Vec<u8> {
    let deadline = Instant::now() + PATIENCE;
    let mut kept = Vec::new();
    let mut taken = 0;
    let mut buffer = vec![0; 64 << 10];
    while taken < MOST && is_ready(input, deadline, &kept) {
        let Ok(count) = rustix::io::read(input, &mut buffer) else { break };
        if count == 0 {
            break;
        }
        taken += count;
        let room = MAX_HOOK_PAYLOAD - kept.len();
        kept.extend_from_slice(&buffer[..count.min(room)]);
    }
    kept
}

/// Waits until there is something to read, or the end.
fn is_ready(input: BorrowedFd<'_>, deadline: Instant, kept: &[u8]) -> bool {
    let complete = kept.trim_ascii_end().ends_with(b"}");
    let silence = if complete { SILENCE_AT_THE_END } else { SILENCE };
    let wait = deadline.saturating_duration_since(Instant::now()).min(silence);
    let Ok(wait) = Timespec::try_from(wait) else { return false };
    let mut polled = [PollFd::new(&input, PollFlags::IN)];
    loop {
        match poll(&mut polled, Some(&wait)) {
            Ok(count) => return count > 0,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_huge_payload_is_taken_and_its_beginning_kept() {
        let (reader, mut writer) = io::pipe().unwrap();
        let writing = std::thread::spawn(move || {
            for _ in 0..100 {
                writer.write_all(&vec![b'x'; 1 << 20]).unwrap();
            }
        });
        assert_eq!(read_from(reader.as_fd()).len(), MAX_HOOK_PAYLOAD);
        writing.join().unwrap();
    }

    #[test]
    fn a_pipe_that_is_never_closed_does_not_hold_us_up() {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"{\"a\": 1}\n").unwrap();
        let started = Instant::now();
        assert_eq!(read_from(reader.as_fd()), b"{\"a\": 1}\n");
        assert!(started.elapsed() < SILENCE);
        drop(writer);
    }
}
