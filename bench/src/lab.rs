//! Places to measure in: a directory for the whole bench, an ostler home for each measurement.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use ostler_protocol::{DaemonInfo, SessionInfo};

use crate::client::Client;
use crate::janitor::{self, Janitor};
use crate::process::Process;

/// How many processes start sessions at the same time where their start is not what is measured.
const WORKERS: usize = 4;

/// What every measurement needs to know.
#[derive(Debug)]
pub(crate) struct Bench {
    /// Everything the bench writes lies below; it is removed at the end.
    pub(crate) root: PathBuf,
    /// The program to measure.
    pub(crate) ostler: PathBuf,
    pub(crate) quick: bool,
}

impl Bench {
    /// Makes the directory, and somebody who cleans it up whatever happens.
    pub(crate) fn new(ostler: PathBuf, quick: bool) -> Result<(Self, Janitor)> {
        let root = tempfile::Builder::new().prefix("ostler-bench-").tempdir()?.keep();
        let janitor = Janitor::hire(&root, &ostler)?;
        Ok((Self { root, ostler, quick }, janitor))
    }

    /// A number that is smaller where a look is enough.
    pub(crate) fn count(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }

    /// A fresh home whose daemon runs.
    pub(crate) fn lab(&self, name: &str) -> Result<Lab> {
        let lab = self.cold_lab(name);
        lab.run(["daemon", "start"])?;
        Ok(lab)
    }

    /// A fresh home without a daemon.
    pub(crate) fn cold_lab(&self, name: &str) -> Lab {
        Lab { ostler: self.ostler.clone(), home: janitor::home(&self.root, name) }
    }
}

/// An ostler home of a measurement's own.
#[derive(Debug)]
pub(crate) struct Lab {
    ostler: PathBuf,
    home: PathBuf,
}

impl Lab {
    /// `ostler` with the environment of whoever runs the bench, but for this home.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        ostler(&self.ostler, &self.home, args)
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// Runs an `ostler` command and returns what it printed.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<Vec<u8>> {
        output(&mut self.command(args))
    }

    /// Runs an `ostler` command whose output nobody reads, and returns how long its process took.
    pub(crate) fn timed<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<Duration> {
        let mut command = self.command(args);
        command.stdout(Stdio::null());
        let begin = Instant::now();
        let status = command.status()?;
        let taken = begin.elapsed();
        ensure!(status.success(), "{command:?} failed: {status}");
        Ok(taken)
    }

    /// The command that starts a shell script, with what follows as `$1` and on, as a session.
    pub(crate) fn start<'a>(name: &'a str, script: &'a str, args: &[&'a str]) -> Vec<&'a str> {
        let mut start = vec!["start", "--no-wait", "--name", name, "sh", "--", "-c", script, "sh"];
        start.extend(args);
        start
    }

    /// Starts `count` sessions of the same script and returns their names.
    pub(crate) fn start_many(&self, count: usize, script: &str, args: &[&str]) -> Result<Vec<String>> {
        let names: Vec<String> = (0..count).map(|index| format!("s{index}")).collect();
        std::thread::scope(|scope| {
            let workers: Vec<_> = names
                .chunks(count.div_ceil(WORKERS).max(1))
                .map(|names| {
                    scope.spawn(move || -> Result<()> {
                        names.iter().try_for_each(|name| self.run(Self::start(name, script, args)).map(drop))
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| match worker.join() {
                Ok(result) => result,
                Err(_) => bail!("a worker panicked"),
            })
        })?;
        Ok(names)
    }

    pub(crate) fn daemon(&self) -> Result<Process> {
        let info: DaemonInfo = serde_json::from_slice(&self.run(["daemon", "status", "--json"])?)?;
        Process::find(info.pid)
    }

    pub(crate) fn client(&self) -> Result<Client> {
        Client::connect(&self.home)
    }

    /// Ends the sessions and the daemon.
    pub(crate) fn close(self) -> Result<()> {
        janitor::end_home(&self.ostler, &self.home)
    }
}

/// `ostler` for a home.
pub(crate) fn ostler<S: AsRef<OsStr>>(
    ostler: &Path,
    home: &Path,
    args: impl IntoIterator<Item = S>,
) -> Command {
    let mut command = Command::new(ostler);
    command.args(args).env("OSTLER_HOME", home).env_remove("OSTLER_LOG").stdin(Stdio::null());
    command
}

/// Runs a command to its end and returns what it printed.
pub(crate) fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output.stdout)
}

/// The holder of a session.
pub(crate) fn holder_of(session: &SessionInfo) -> Result<Process> {
    Process::find(session.holder.with_context(|| format!("{} has no holder", session.name))?)
}
