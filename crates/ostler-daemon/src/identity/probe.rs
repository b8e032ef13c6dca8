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

/// What came of it.
pub(super) struct Outcome {
    /// What the program wrote to its output and its error output.
    pub(super) output: Vec<u8>,
    /// What was not as it should be.
    pub(super) trouble: Option<Trouble>,
}

/// What was not as it should be.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
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
    /// Whether what was said is worth nothing. A program that says who it is and then stays is believed.
    pub(super) fn is_failure(&self) -> bool {
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
pub(super) fn probe(
    program: &Path,
    args: &[String],
    env: &[(OsString, OsString)],
    cwd: &Path,
    limit: Duration,
) -> io::Result<Outcome> {
    let deadline = clock::steady().plus(limit);
    let (mut reader, writer) = io::pipe()?;
    rustix::io::ioctl_fionbio(&reader, true)?;
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(env.iter().cloned()).current_dir(cwd);
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let child = ostler_hold::detach(&mut command).spawn()?;
    // The command has the ends that the program writes to.
    drop(command);
    let mut watched = Watched { child, ended: false };
    let handle = Pid::from_raw(i32::try_from(watched.child.id()).map_err(io::Error::other)?)
        .ok_or_else(|| io::Error::other("no process"))
        .and_then(|pid| Ok(pidfd_open(pid, PidfdFlags::empty())?))?;
    let mut output = Vec::new();
    let mut silent = false;
    loop {
        let pipe = (!silent).then(|| reader.as_fd());
        let (has_output, has_ended) = wait(pipe, handle.as_fd(), deadline)?;
        if has_output {
            silent = drain(&mut reader, &mut output)?;
        }
        if output.len() >= MAX_OUTPUT {
            return Ok(Outcome { output, trouble: Some(Trouble::Flooded) });
        }
        if has_ended {
            // What others that it started may yet say is not waited for.
            drain(&mut reader, &mut output)?;
            let status = watched.end()?;
            let trouble = (!status.success()).then_some(Trouble::Failed(status));
            return Ok(Outcome { output, trouble });
        }
        if !has_output && clock::steady() >= deadline {
            return Ok(Outcome { output, trouble: Some(Trouble::Hung(limit)) });
        }
    }
}

/// Waits for output or the end, and tells which came.
fn wait(
    pipe: Option<BorrowedFd<'_>>,
    handle: BorrowedFd<'_>,
    deadline: Timestamp,
) -> io::Result<(bool, bool)> {
    let left = deadline.since(clock::steady());
    let left = Timespec::try_from(left).map_err(io::Error::other)?;
    let mut fds = vec![PollFd::from_borrowed_fd(handle, PollFlags::IN)];
    fds.extend(pipe.map(|pipe| PollFd::from_borrowed_fd(pipe, PollFlags::IN)));
    match poll(&mut fds, Some(&left)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let came = |fd: Option<&PollFd<'_>>| fd.is_some_and(|fd| !fd.revents().is_empty());
    Ok((came(fds.get(1)), came(fds.first())))
}

/// Reads what is there, and tells whether more can come.
fn drain(reader: &mut io::PipeReader, output: &mut Vec<u8>) -> io::Result<bool> {
    let mut buffer = [0; 4096];
    while output.len() < MAX_OUTPUT {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(true),
            Ok(count) => output.extend_from_slice(&buffer[..count.min(MAX_OUTPUT - output.len())]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}
