//! A program that runs, and the end of it and of all that it started.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use ostler_hold::tree;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::{Instant, sleep};

/// Marks every process that descends from a program, whatever session or group it moves to.
const MARK: &str = "OSTLER_WORK_ID";
/// How often what forks while it is being killed is looked for again.
const ROUNDS: usize = 20;
/// How long a program may be in the middle of being replaced.
const BUSY: Duration = Duration::from_secs(1);

/// What sets a command apart from this process.
pub(super) type Detach = fn(&mut Command) -> &mut Command;

/// A program that has not been waited for. Dropped, it ends with all that it started.
pub(super) struct Running {
    child: Option<Child>,
    group: Pid,
    mark: Option<String>,
    handle: AsyncFd<OwnedFd>,
}

impl Running {
    pub(super) async fn start(
        mut command: Command,
        detach: Detach,
        mark: Option<String>,
    ) -> io::Result<Self> {
        if let Some(mark) = &mark {
            command.env(MARK, mark);
        }
        let child = spawn(detach(&mut command)).await?;
        let attach = |child: &Child| -> io::Result<(Pid, AsyncFd<OwnedFd>)> {
            let pid = pid_of(child.id()).ok_or_else(|| io::Error::other("no process"))?;
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
    pub(super) async fn ended(&self) -> io::Result<()> {
        self.handle.readable().await.map(drop)
    }

    /// Ends what is left of the group, and says how the program ended.
    pub(super) fn reap(&mut self) -> io::Result<ExitStatus> {
        let Some(child) = &mut self.child else { return Err(io::Error::other("waited for already")) };
        let _ = kill_process_group(self.group, Signal::KILL);
        let status = child.wait()?;
        self.child = None;
        Ok(status)
    }

    /// Ends the group, and what has left it.
    pub(super) fn kill(&self) {
        // Found before the group ends: afterwards they are nobody's children. Ended after it: the program must not
        // see them go and draw its own conclusions.
        let descendants = tree::descendants(self.group.as_raw_nonzero().get().unsigned_abs(), None);
        let _ = kill_process_group(self.group, Signal::KILL);
        for pid in descendants.into_iter().filter_map(pid_of) {
            let _ = kill_process(pid, Signal::KILL);
        }
        if let Some(mark) = &self.mark {
            end_marked(mark);
        }
    }
}

fn pid_of(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw)
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
    tree::process_ids().filter(has_mark).filter_map(pid_of).collect()
}

/// Starts a program; one that is just being written is given a moment.
async fn spawn(command: &mut Command) -> io::Result<Child> {
    let deadline = Instant::now() + BUSY;
    loop {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && Instant::now() < deadline => {
                sleep(BUSY / 100).await;
            }
            other => return other,
        }
    }
}
