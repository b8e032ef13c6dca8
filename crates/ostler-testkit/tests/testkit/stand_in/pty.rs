//! A pseudo-terminal with the stand-in on it. Every wait is for an event, with a deadline.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, open};
use rustix::process::Pid;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Far more than a loaded machine needs.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Pty {
    master: Option<OwnedFd>,
    child: Child,
    /// Output not yet looked for.
    output: Vec<u8>,
    total: usize,
}

impl Pty {
    pub(crate) fn spawn(args: &[&str], cwd: &Path) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = open(&name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        tcsetwinsize(&slave, Winsize { ws_row: 30, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        fcntl_setfl(&master, fcntl_getfl(&master).unwrap() | OFlags::NONBLOCK).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_ostler-stand-in"))
            .args(args)
            .current_dir(cwd)
            .stdin(slave.try_clone().unwrap())
            .stdout(slave.try_clone().unwrap())
            .stderr(slave)
            .spawn()
            .unwrap();
        Self { master: Some(master), child, output: Vec::new(), total: 0 }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Bytes of output so far.
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// Waits until `text` is written, and forgets the output up to its end.
    pub(crate) fn expect(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        let mut searched = 0;
        loop {
            let found = self.output[searched..].windows(text.len()).position(|part| part == text.as_bytes());
            if let Some(at) = found {
                self.output.drain(..searched + at + text.len());
                return;
            }
            searched = self.output.len().saturating_sub(text.len());
            assert!(
                self.pump(PollFlags::IN, deadline),
                "ended without {text:?}: {}",
                self.output.escape_ascii()
            );
        }
    }

    /// Sends all of `bytes`, reading what comes back meanwhile.
    pub(crate) fn send(&mut self, mut bytes: &[u8]) {
        let deadline = Instant::now() + PATIENCE;
        while !bytes.is_empty() {
            match rustix::io::write(self.master.as_ref().unwrap(), bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(rustix::io::Errno::AGAIN) => {
                    assert!(self.pump(PollFlags::IN | PollFlags::OUT, deadline), "ended while sending");
                }
                Err(error) => panic!("cannot send: {error}"),
            }
        }
    }

    /// Reads to the end of output and returns how the program ended.
    pub(crate) fn finish(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        while self.pump(PollFlags::IN, deadline) {}
        self.wait()
    }

    /// Takes the terminal away and returns how the program ended.
    pub(crate) fn hang_up(&mut self) -> ExitStatus {
        self.master = None;
        self.wait()
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Waits for `events` once and reads what is there; `false` at the end of output.
    fn pump(&mut self, events: PollFlags, deadline: Instant) -> bool {
        let master = self.master.as_ref().unwrap();
        let left = deadline.saturating_duration_since(Instant::now());
        let mut fds = [PollFd::new(master, events)];
        let ready = poll(&mut fds, Some(&Timespec::try_from(left).unwrap())).unwrap();
        assert!(ready > 0, "timed out; output since: {}", self.output.escape_ascii());
        let mut buffer = vec![0; 65_536];
        match rustix::io::read(master, &mut buffer[..]) {
            Ok(0) | Err(rustix::io::Errno::IO) => false,
            Ok(count) => {
                self.total += count;
                self.output.extend_from_slice(&buffer[..count]);
                true
            }
            Err(rustix::io::Errno::AGAIN) => true,
            Err(error) => panic!("cannot read: {error}"),
        }
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // Already gone in most tests.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
