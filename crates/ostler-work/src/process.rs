//! Running a program apart from everything else: no terminal, no inherited handles, a group of its own that ends
//! with it, bounded output, a deadline.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};
use serde::{Deserialize, Serialize};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep_until};

use crate::kept::{Keep, Kept};

/// Marks every process that descends from a run, whatever session or group it moves to.
const MARK: &str = "OSTLER_WORK_ID";
/// How often what forks while it is being killed is looked for again.
const ROUNDS: usize = 20;
/// How much may come after the end, from processes that left the group and still have the pipe.
const AFTERTHOUGHTS: usize = 1 << 20;

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// By itself, with this status.
    Exited(i32),
    /// By a signal that ostler did not send.
    Signalled(i32),
    /// It was killed because its time was over.
    TimedOut,
}

impl End {
    /// Whether the program says that all is well.
    pub fn is_success(self) -> bool {
        self == Self::Exited(0)
    }
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exited(status) => write!(f, "ended with status {status}"),
            Self::Signalled(signal) => write!(f, "was ended by signal {signal}"),
            Self::TimedOut => f.write_str("took too long and was ended"),
        }
    }
}

impl From<ExitStatus> for End {
    fn from(status: ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt;
        status.code().map_or_else(|| Self::Signalled(status.signal().unwrap_or(0)), Self::Exited)
    }
}

/// What came of a program.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) end: End,
    pub(crate) stdout: Kept,
    pub(crate) stderr: Kept,
    pub(crate) took: Duration,
}

/// A program that has not been waited for. Dropped, it ends with all that it started.
struct Running {
    child: Option<Child>,
    group: Pid,
    mark: String,
    handle: AsyncFd<OwnedFd>,
}

impl Running {
    fn start(command: &mut Command, mark: Option<String>) -> io::Result<Self> {
        let mark = mark.unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
        let child = ostler_hold::detach(command.env(MARK, &mark)).spawn()?;
        let attach = |child: &Child| -> io::Result<(Pid, AsyncFd<OwnedFd>)> {
            let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            let pid = pid.ok_or_else(|| io::Error::other("no process"))?;
            let handle = pidfd_open(pid, PidfdFlags::empty())?;
            // What replaces it is unsafe, for types that could change their handle: this one cannot.
            #[expect(deprecated, reason = "the safe way to register a handle that is owned")]
            let handle = AsyncFd::with_interest(handle, Interest::READABLE)?;
            Ok((pid, handle))
        };
        match attach(&child) {
            Ok((group, handle)) => Ok(Self { child: Some(child), group, mark, handle }),
            Err(error) => {
                let mut child = child;
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// Waits for the end, without reaping: until then the group's number is nobody else's.
    async fn ended(&self) -> io::Result<()> {
        self.handle.readable().await.map(drop)
    }

    /// Ends what is left of the group, and says how the program ended.
    fn reap(&mut self) -> io::Result<ExitStatus> {
        let Some(child) = &mut self.child else { return Err(io::Error::other("waited for already")) };
        let _ = kill_process_group(self.group, Signal::KILL);
        let status = child.wait()?;
        self.child = None;
        Ok(status)
    }

    /// Ends the group, and what has left it.
    fn kill(&self) {
        let _ = kill_process_group(self.group, Signal::KILL);
        end_marked(&self.mark);
    }
}

/// Ends every process that descends from work with this mark, whoever began it.
pub fn end_marked(mark: &str) {
    let mark = format!("{MARK}={mark}");
    for _ in 0..ROUNDS {
        let marked = marked(mark.as_bytes());
        if marked.is_empty() {
            return;
        }
        for pid in marked {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        self.kill();
        // A process in the middle of a system call that cannot be interrupted ends later.
        let _ = std::thread::Builder::new().name("reap".into()).spawn(move || child.wait());
    }
}

/// Living processes with that entry in the environment they were started with.
fn marked(mark: &[u8]) -> Vec<Pid> {
    let has_mark = |pid: &u32| {
        fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|entry| entry == mark))
    };
    let pids = ostler_hold::tree::process_ids().filter(has_mark);
    pids.filter_map(|pid| i32::try_from(pid).ok().and_then(Pid::from_raw)).collect()
}

/// Runs a program to its end, or to the end of its time. Its standard input is as the caller set it.
///
/// When it has ended, what is left of its group is ended too; a process that made itself a session of its own is
/// let be, unless the time was over or the caller stopped waiting.
pub(crate) async fn run(
    mut command: Command,
    limit: Duration,
    keep: Keep,
    mark: Option<String>,
) -> io::Result<Finished> {
    let started = Instant::now();
    let (output, writer) = io::pipe()?;
    let (errors, error_writer) = io::pipe()?;
    command.stdout(writer).stderr(error_writer);
    let mut running = Running::start(&mut command, mark)?;
    // It has the ends that the program writes to.
    drop(command);
    let mut output = Stream::new(output, keep)?;
    let mut errors = Stream::new(errors, keep)?;
    let deadline = started.checked_add(limit);
    let timed_out = loop {
        let late = async {
            match deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        // In this order: a flood of output must not outlast the deadline.
        tokio::select! {
            biased;
            () = late => break true,
            ended = running.ended() => {
                ended?;
                break false;
            }
            read = output.read(), if !output.closed => read?,
            read = errors.read(), if !errors.closed => read?,
        }
    };
    if timed_out {
        running.kill();
    }
    let status = running.reap()?;
    output.finish()?;
    errors.finish()?;
    let end = if timed_out { End::TimedOut } else { status.into() };
    Ok(Finished { end, stdout: output.kept, stderr: errors.kept, took: started.elapsed() })
}

/// One of the outputs of a program.
struct Stream {
    reader: pipe::Receiver,
    buffer: Box<[u8]>,
    kept: Kept,
    keep: Keep,
    closed: bool,
}

impl Stream {
    fn new(reader: io::PipeReader, keep: Keep) -> io::Result<Self> {
        let reader = pipe::Receiver::from_owned_fd(reader.into())?;
        Ok(Self { reader, buffer: vec![0; 64 << 10].into(), kept: Kept::default(), keep, closed: false })
    }

    /// Waits for output and takes it.
    async fn read(&mut self) -> io::Result<()> {
        self.reader.readable().await?;
        match self.reader.try_read(&mut self.buffer) {
            Ok(0) => self.closed = true,
            Ok(count) => self.kept.push(&self.buffer[..count], self.keep),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Takes what is left. The end of the stream is not waited for: others may hold it open for ever.
    fn finish(&mut self) -> io::Result<()> {
        let mut left = AFTERTHOUGHTS;
        while !self.closed && left > 0 {
            // Past the runtime, which may not have heard of the last bytes yet.
            match rustix::io::read(&self.reader, &mut self.buffer[..]) {
                Ok(0) => self.closed = true,
                Ok(count) => {
                    self.kept.push(&self.buffer[..count], self.keep);
                    left = left.saturating_sub(count);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
