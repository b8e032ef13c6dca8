//! Running a program that is not trusted yet, to hear what it says.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use ostler_core::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::clock;

/// How much of its output is read.
const MAX_OUTPUT: usize = 64 << 10;
/// How long a program may be in the middle of being replaced.
const BUSY: Duration = Duration::from_secs(1);

/// What came of it.
pub(crate) struct Outcome {
    /// What the program wrote to its output, and behind that what it wrote to its error output.
    pub(crate) output: Vec<u8>,
    /// How much of that it wrote to its output.
    pub(crate) plain: usize,
    /// What was not as it should be.
    pub(crate) trouble: Option<Trouble>,
}

impl Outcome {
    pub(crate) fn not_run(error: &io::Error) -> Self {
        Self { output: Vec::new(), plain: 0, trouble: Some(Trouble::NotRun(error.to_string())) }
    }
}

/// What was not as it should be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// It could not be run.
    #[error("it cannot be run: {0}")]
    NotRun(String),
    /// It ended as programs end that failed.
    #[error("it ended with {0}")]
    Failed(ExitStatus),
    /// It did not end.
    #[error("it did not end within {} s", .0.as_secs())]
    Hung(Duration),
    /// It did not stop talking.
    #[error("it said more than {} KiB", MAX_OUTPUT >> 10)]
    Flooded,
}

impl Trouble {
    /// Whether it may do better another time.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::NotRun(_) | Self::Hung(_))
    }

    /// Whether what was said is worth nothing. A program that says who it is and then stays is believed.
    pub(crate) fn is_failure(&self) -> bool {
        matches!(self, Self::NotRun(_) | Self::Failed(_))
    }
}

/// A program in a session of its own, which ends with this value.
struct Watched {
    child: Child,
    ended: bool,
}

impl Watched {
    fn end(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait()?;
        self.ended = true;
        Ok(status)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        // Its group has its id for as long as it was not waited for.
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// Runs a program without a terminal or input, for a limited time, and reads a limited amount of what it says.
pub(crate) fn probe(
    program: &Path,
    args: &[String],
    env: &[(OsString, OsString)],
    cwd: &Path,
    limit: Duration,
) -> io::Result<Outcome> {
    let deadline = clock::steady().plus(limit);
    let (mut output, writer) = Stream::new()?;
    let (mut errors, error_writer) = Stream::new()?;
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(env.iter().cloned()).current_dir(cwd);
    command.stdin(Stdio::null()).stdout(writer).stderr(error_writer);
    let child = spawn(ostler_hold::detach(&mut command))?;
    // The command has the ends that the program writes to.
    drop(command);
    let mut watched = Watched { child, ended: false };
    let handle = Pid::from_raw(i32::try_from(watched.child.id()).map_err(io::Error::other)?)
        .ok_or_else(|| io::Error::other("no process"))
        .and_then(|pid| Ok(pidfd_open(pid, PidfdFlags::empty())?))?;
    let trouble = loop {
        let has_ended = wait([&output, &errors], handle.as_fd(), deadline)?;
        // What others that it started may yet say after its end is not waited for.
        output.drain()?;
        errors.drain()?;
        if output.bytes.len() >= MAX_OUTPUT || errors.bytes.len() >= MAX_OUTPUT {
            break Some(Trouble::Flooded);
        }
        if has_ended {
            let status = watched.end()?;
            break (!status.success()).then_some(Trouble::Failed(status));
        }
        if clock::steady() >= deadline {
            break Some(Trouble::Hung(limit));
        }
    };
    // Warnings come first in time, and last in importance.
    let mut said = output.bytes;
    let plain = said.len();
    if !said.is_empty() && !said.ends_with(b"\n") && !errors.bytes.is_empty() {
        said.push(b'\n');
    }
    said.append(&mut errors.bytes);
    said.truncate(MAX_OUTPUT);
    Ok(Outcome { output: said, plain, trouble })
}

/// Starts the program; one that is just being written is given a moment.
fn spawn(command: &mut Command) -> io::Result<Child> {
    let deadline = clock::steady().plus(BUSY);
    loop {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && clock::steady() < deadline => {
                std::thread::sleep(BUSY / 100);
            }
            other => return other,
        }
    }
}

/// Waits for output or the end, and tells whether it is the end.
fn wait(streams: [&Stream; 2], handle: BorrowedFd<'_>, deadline: Timestamp) -> io::Result<bool> {
    let left = Timespec::try_from(deadline.since(clock::steady())).map_err(io::Error::other)?;
    let mut fds = vec![PollFd::from_borrowed_fd(handle, PollFlags::IN)];
    let open = streams.iter().filter(|stream| !stream.closed);
    fds.extend(open.map(|stream| PollFd::new(&stream.reader, PollFlags::IN)));
    match poll(&mut fds, Some(&left)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(!fds[0].revents().is_empty()),
        Err(error) => Err(error.into()),
    }
}

/// What a program writes to one of its outputs.
struct Stream {
    reader: io::PipeReader,
    bytes: Vec<u8>,
    closed: bool,
}

impl Stream {
    fn new() -> io::Result<(Self, io::PipeWriter)> {
        let (reader, writer) = io::pipe()?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        Ok((Self { reader, bytes: Vec::new(), closed: false }, writer))
    }

    /// Reads what is there.
    fn drain(&mut self) -> io::Result<()> {
        let mut buffer = [0; 4096];
        while !self.closed && self.bytes.len() < MAX_OUTPUT {
            match self.reader.read(&mut buffer) {
                Ok(0) => self.closed = true,
                Ok(count) => {
                    self.bytes.extend_from_slice(&buffer[..count.min(MAX_OUTPUT - self.bytes.len())]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
