//! Running a program apart from everything else: no terminal, no inherited handles, a group of its own that ends
//! with it, bounded output, a deadline.

mod running;
mod stream;

use std::future::pending;
use std::io;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep_until};

use crate::kept::{Keep, Kept};
use running::{Detach, Running};
use stream::Stream;

pub use running::end_marked;

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

/// What bounds a program.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// How long it may take.
    pub limit: Duration,
    /// How much of each of its outputs is kept.
    pub keep: Keep,
    /// What becomes of a program that writes more.
    pub excess: Excess,
    /// What marks its processes, so that [`end_marked`] finds them wherever they moved to. When a program without a
    /// mark is killed, so are its group and its descendants, but not those who made themselves nobody's children.
    pub mark: Option<String>,
}

impl Bounds {
    /// Bounds for work of which nothing may be left: more output than is kept is left out, and the mark is known to
    /// nobody.
    pub(crate) fn of_work(limit: Duration, keep: Keep) -> Self {
        Self { limit, keep, excess: Excess::LeaveOut, mark: Some(uuid::Uuid::now_v7().to_string()) }
    }
}

/// What becomes of a program that writes more than is kept of one of its outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// It runs on, and the excess is left out.
    LeaveOut,
    /// It is killed.
    Kill,
}

/// Why a program was killed before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// Its time was over.
    TimedOut,
    /// It wrote more than [`Excess::Kill`] allows.
    Flooded,
    /// Nobody waited for it any more.
    CalledOff,
}

/// What came of a program.
#[derive(Debug)]
pub struct Finished {
    /// The status it ended with, killed or not.
    pub status: ExitStatus,
    /// Why it was killed, if it was.
    pub stopped: Option<Stopped>,
    /// What it wrote to its output.
    pub stdout: Kept,
    /// What it wrote to its error output.
    pub stderr: Kept,
    /// How long it took.
    pub took: Duration,
}

impl Finished {
    /// How the program ended.
    pub fn end(&self) -> End {
        match self.stopped {
            Some(Stopped::TimedOut) => End::TimedOut,
            Some(Stopped::Flooded | Stopped::CalledOff) | None => self.status.into(),
        }
    }
}

/// Runs a program to its end, or to one of its bounds. Its standard input is as the caller set it. Dropped, it ends
/// with all that it started.
///
/// When it has ended, what is left of its group is ended too; a process that made itself a session of its own is
/// let be, unless the program was killed or the caller stopped waiting.
pub(crate) async fn run(command: Command, bounds: Bounds) -> io::Result<Finished> {
    watch(command, bounds, ostler_hold::detach, pending()).await
}

/// Runs a program like a check, but on this thread, with which it ends: a process that is killed leaves behind no
/// program that nobody waits for. Once the other end of `until_closed` is closed, the program is killed with all that
/// it started.
///
/// This blocks, so it must not be called from a task.
pub fn run_here(
    command: Command,
    bounds: Bounds,
    until_closed: Option<&io::PipeReader>,
) -> io::Result<Finished> {
    // Of its own: that of the caller may end while the program is being waited for.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let pipe = until_closed.map(io::PipeReader::try_clone).transpose()?;
        let called_off = closed(pipe.map(|pipe| pipe::Receiver::from_owned_fd(pipe.into())).transpose()?);
        watch(command, bounds, ostler_hold::detach_while_we_live, called_off).await
    })
}

/// Waits until the other end of a pipe is closed; for ever without one.
async fn closed(pipe: Option<pipe::Receiver>) {
    let Some(pipe) = pipe else { return pending().await };
    loop {
        let ready = pipe.readable().await;
        match ready.and_then(|()| pipe.try_read(&mut [0])) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            _ => return,
        }
    }
}

async fn watch(
    mut command: Command,
    Bounds { limit, keep, excess, mark }: Bounds,
    detach: Detach,
    called_off: impl Future<Output = ()>,
) -> io::Result<Finished> {
    let started = Instant::now();
    let (output, writer) = io::pipe()?;
    let (errors, error_writer) = io::pipe()?;
    // The command has the ends that the program writes to: it is gone once the program runs.
    command.stdout(writer).stderr(error_writer);
    let mut running = Running::start(command, detach, mark).await?;
    let mut output = Stream::new(output, keep)?;
    let mut errors = Stream::new(errors, keep)?;
    let is_flooded = |output: &Stream, errors: &Stream| {
        excess == Excess::Kill && (output.kept.left_out() > 0 || errors.kept.left_out() > 0)
    };
    let late = async {
        match started.checked_add(limit) {
            Some(deadline) => sleep_until(deadline).await,
            None => pending().await,
        }
    };
    tokio::pin!(late, called_off);
    let mut stopped = loop {
        // In this order: a flood of output must not outlast the deadline.
        tokio::select! {
            biased;
            () = &mut late => break Some(Stopped::TimedOut),
            ended = running.ended() => {
                ended?;
                break None;
            }
            () = &mut called_off => break Some(Stopped::CalledOff),
            read = output.read(), if !output.closed => read?,
            read = errors.read(), if !errors.closed => read?,
        }
        if is_flooded(&output, &errors) {
            break Some(Stopped::Flooded);
        }
    };
    if stopped.is_some() {
        running.kill();
    }
    let status = running.reap()?;
    output.finish()?;
    errors.finish()?;
    if is_flooded(&output, &errors) {
        stopped = Some(Stopped::Flooded);
    }
    Ok(Finished { status, stopped, stdout: output.kept, stderr: errors.kept, took: started.elapsed() })
}
