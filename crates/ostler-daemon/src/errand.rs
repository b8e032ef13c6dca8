//! Running a program to hear what it says, under close watch.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use ostler_core::Timestamp;
use ostler_hold::tree;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::clock;

/// How much of its output is read.
const MAX_OUTPUT: usize = 64 << 10;
/// How long a program may be in the middle of being replaced.
const BUSY: Duration = Duration::from_secs(1);

/// What is to be run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Errand<'a> {
    /// The file.
    pub(crate) program: &'a Path,
    pub(crate) args: &'a [String],
    /// Its whole environment.
    pub(crate) env: &'a [(OsString, OsString)],
    pub(crate) cwd: &'a Path,
    /// What it can read; it has to fit into a pipe.
    pub(crate) input: Option<&'a str>,
    /// How long it may take.
    pub(crate) limit: Duration,
    /// Nobody waits for it any more once the other end of this pipe is closed.
    pub(crate) until_closed: Option<&'a io::PipeReader>,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// What the program wrote to its output.
    pub(crate) output: Vec<u8>,
    /// What it wrote to its error output.
    pub(crate) errors: Vec<u8>,
    /// What was not as it should be.
    pub(crate) trouble: Option<Trouble>,
}

impl Outcome {
    /// Both outputs in one: warnings come first in time, and last in importance.
    pub(crate) fn all(&self) -> Vec<u8> {
        let mut all = self.output.clone();
        if !all.is_empty() && !all.ends_with(b"\n") && !self.errors.is_empty() {
            all.push(b'\n');
        }
        all.extend_from_slice(&self.errors);
        all.truncate(MAX_OUTPUT);
        all
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
    /// Nobody waited for it any more.
    #[error("it was called off")]
    CalledOff,
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

/// A program in a session of its own, which ends with this value, and whatever it started with it.
struct Watched(Child);

impl Watched {
    /// The status of a program that has ended.
    fn end(&mut self) -> io::Result<ExitStatus> {
        // Its group has its id for as long as it was not waited for.
        self.kill_group();
        self.0.wait()
    }

    fn kill_group(&self) {
        if let Some(group) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            // Those in groups of their own first: once it is gone, they are nobody's children.
            tree::signal_descendants(self.0.id(), None, Signal::KILL);
            self.kill_group();
            let _ = self.0.wait();
        }
    }
}

/// Runs a program without a terminal, for a limited time, and reads a limited amount of what it says.
pub(crate) fn run(errand: &Errand<'_>) -> Outcome {
    watch(errand).unwrap_or_else(|error| Outcome {
        trouble: Some(Trouble::NotRun(error.to_string())),
        ..Outcome::default()
    })
}

fn watch(errand: &Errand<'_>) -> io::Result<Outcome> {
    let Errand { program, args, env, cwd, input, limit, until_closed } = *errand;
    let deadline = clock::steady().plus(limit);
    let (mut output, writer) = Stream::new()?;
    let (mut errors, error_writer) = Stream::new()?;
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(env.iter().cloned()).current_dir(cwd);
    command.stdin(input_of(input)?).stdout(writer).stderr(error_writer);
    let child = spawn(ostler_hold::detach_while_we_live(&mut command))?;
    // The command has the ends that the program writes to.
    drop(command);
    let mut watched = Watched(child);
    let handle = Pid::from_raw(i32::try_from(watched.0.id()).map_err(io::Error::other)?)
        .ok_or_else(|| io::Error::other("no process"))
        .and_then(|pid| Ok(pidfd_open(pid, PidfdFlags::empty())?))?;
    let trouble = loop {
        let woken = wait([&output, &errors], handle.as_fd(), until_closed, deadline)?;
        // What others that it started may yet say after its end is not waited for.
        output.drain()?;
        errors.drain()?;
        if output.bytes.len() >= MAX_OUTPUT || errors.bytes.len() >= MAX_OUTPUT {
            break Some(Trouble::Flooded);
        }
        if woken.ended {
            let status = watched.end()?;
            break (!status.success()).then_some(Trouble::Failed(status));
        }
        if woken.called_off {
            break Some(Trouble::CalledOff);
        }
        if clock::steady() >= deadline {
            break Some(Trouble::Hung(limit));
        }
    };
    Ok(Outcome { output: output.bytes, errors: errors.bytes, trouble })
}

/// What a program reads: all of it is in the pipe before it starts.
fn input_of(input: Option<&str>) -> io::Result<Stdio> {
    let Some(text) = input else { return Ok(Stdio::null()) };
    let (reader, mut writer) = io::pipe()?;
    rustix::io::ioctl_fionbio(&writer, true)?;
    writer.write_all(text.as_bytes())?;
    Ok(reader.into())
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

/// What ended a wait, beside output and time.
struct Woken {
    ended: bool,
    called_off: bool,
}

/// Waits for output, for the end, or for the word that nobody waits any more.
fn wait(
    streams: [&Stream; 2],
    handle: BorrowedFd<'_>,
    until_closed: Option<&io::PipeReader>,
    deadline: Timestamp,
) -> io::Result<Woken> {
    let left = Timespec::try_from(deadline.since(clock::steady())).map_err(io::Error::other)?;
    let mut fds = vec![PollFd::from_borrowed_fd(handle, PollFlags::IN)];
    // The end of a pipe that nobody writes to shows whatever is asked for.
    fds.extend(until_closed.map(|pipe| PollFd::new(pipe, PollFlags::empty())));
    let open = streams.iter().filter(|stream| !stream.closed);
    fds.extend(open.map(|stream| PollFd::new(&stream.reader, PollFlags::IN)));
    match poll(&mut fds, Some(&left)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(Woken {
            ended: !fds[0].revents().is_empty(),
            called_off: until_closed.is_some() && !fds[1].revents().is_empty(),
        }),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn errand(script: &str, input: Option<&str>, until_closed: Option<&io::PipeReader>) -> Outcome {
        run(&Errand {
            program: Path::new("/bin/sh"),
            args: &["-c".into(), script.into()],
            env: &[("PATH".into(), std::env::var_os("PATH").unwrap())],
            cwd: Path::new("/"),
            input,
            limit: Duration::from_secs(30),
            until_closed,
        })
    }

    #[test]
    fn both_outputs_are_heard_apart_and_together() {
        let outcome = errand("echo warning >&2; read line; printf \"$line\"", Some("hello\nworld"), None);
        assert!(outcome.trouble.is_none());
        assert_eq!((&*outcome.output, &*outcome.errors), (&b"hello"[..], &b"warning\n"[..]));
        assert_eq!(outcome.all(), b"hello\nwarning\n");
    }

    fn await_end(pid: &str) {
        let pid: u32 = pid.parse().unwrap();
        let deadline = clock::steady().plus(Duration::from_secs(30));
        while ostler_hold::Identity::of(pid).is_some() {
            assert!(clock::steady() < deadline, "{pid} is there");
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_is_called_off_is_gone_with_all_it_started() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("pids");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
        let script = format!("sleep 600 & a=$!; setsid sleep 600 & echo $$ $a $! > {}; wait", fifo.display());
        let (reader, writer) = io::pipe().unwrap();
        let thread = std::thread::spawn(move || errand(&script, None, Some(&reader)));
        let pids = std::fs::read_to_string(&fifo).unwrap();
        drop(writer);
        let outcome = thread.join().unwrap();
        assert!(matches!(outcome.trouble, Some(Trouble::CalledOff)));
        assert_eq!(pids.split_whitespace().inspect(|pid| await_end(pid)).count(), 3);
    }

    #[test]
    fn what_stays_behind_in_its_group_is_ended() {
        let outcome = errand("sleep 600 >/dev/null 2>&1 & echo $!", None, None);
        await_end(String::from_utf8(outcome.output).unwrap().trim());
    }
}
