//! Ending what the bench started, even if the bench is killed.
//!
//! The janitor is a process that waits for its standard input to close. The bench has the other end and never
//! writes: it closes when the bench is done, and the kernel closes it when the bench dies. The janitor is in a
//! process group of its own, so a Ctrl-C meant for the bench does not reach it.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context, Result, ensure};
use ostler_protocol::SessionInfo;

use crate::lab::{ostler, output};
use crate::process::Process;
use crate::tmux::Tmux;

/// A janitor at work; dropped, it begins to clean up.
#[derive(Debug)]
pub(crate) struct Janitor {
    child: Child,
    /// Closing it is the sign to begin.
    begin: ChildStdin,
}

impl Janitor {
    /// Starts a janitor for the directory `root`.
    pub(crate) fn hire(root: &Path, ostler: &Path) -> Result<Self> {
        // Not the path of this program: a build may have replaced the file meanwhile.
        let mut command = Command::new("/proc/self/exe");
        command.arg("--clean-up").arg(root).arg("--ostler").arg(ostler);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
        let mut child = command.spawn().context("cannot start the janitor")?;
        let begin = child.stdin.take().context("the janitor has no standard input")?;
        Ok(Self { child, begin })
    }

    /// Lets it clean up and waits until it has.
    pub(crate) fn finish(self) -> Result<()> {
        let Self { mut child, begin } = self;
        drop(begin);
        ensure!(child.wait()?.success(), "the janitor failed");
        Ok(())
    }
}

/// Where a measurement's home lies below the bench's directory.
pub(crate) fn home(root: &Path, name: &str) -> PathBuf {
    root.join("homes").join(name)
}

/// The janitor's work.
pub(crate) fn run(root: &Path, ostler: &Path) {
    // Nothing is ever written; this returns when the bench has closed its end.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    for home in fs::read_dir(root.join("homes")).into_iter().flatten().flatten() {
        // One home that makes trouble must not keep the others from being cleaned.
        let _ = end_home(ostler, &home.path());
    }
    Tmux::in_root(root).end();
    let _ = fs::remove_dir_all(root);
}

/// Ends the sessions of a home and its daemon, and removes it. Does nothing if that was done before.
pub(crate) fn end_home(program: &Path, home: &Path) -> Result<()> {
    if !home.exists() {
        return Ok(());
    }
    let listed = output(&mut ostler(program, home, ["list", "--json"]))?;
    let sessions: Vec<SessionInfo> = serde_json::from_slice(&listed)?;
    let ids = sessions.iter().flat_map(|session| [session.pid, session.holder]).flatten();
    let processes: Vec<Process> = ids.filter_map(|id| Process::find(id).ok()).collect();
    if !sessions.is_empty() {
        let names = sessions.iter().map(|session| session.name.as_str());
        let _ = output(&mut ostler(program, home, ["stop", "--grace", "1"].into_iter().chain(names)));
    }
    let stopped = output(&mut ostler(program, home, ["daemon", "stop"]));
    for process in processes {
        process.kill();
    }
    fs::remove_dir_all(home)?;
    stopped.map(drop)
}
