//! The peer: a tmux server of the bench's own, without anybody's configuration.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::lab::output;
use crate::process::Process;

/// A tmux server whose socket lies in the bench's directory.
#[derive(Debug)]
pub(crate) struct Tmux {
    directory: PathBuf,
}

impl Tmux {
    /// Names the server that belongs to the bench's directory, running or not.
    pub(crate) fn in_root(root: &Path) -> Self {
        Self { directory: root.join("tmux") }
    }

    /// Starts the server with one idle session, which keeps it there between measurements.
    pub(crate) fn start(root: &Path) -> Result<Self> {
        let tmux = Self::in_root(root);
        fs::create_dir_all(&tmux.directory)?;
        tmux.run(&["new-session", "-d", "-s", "keep", "cat"])
            .context("tmux is the peer: is it installed?")?;
        Ok(tmux)
    }

    /// Runs a tmux command and returns what it printed.
    pub(crate) fn run(&self, args: &[&str]) -> Result<String> {
        let printed = output(&mut self.command(args))?;
        Ok(String::from_utf8_lossy(&printed).into_owned())
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-L", "bench", "-f", "/dev/null"]).args(args).stdin(Stdio::null());
        command.env("TMUX_TMPDIR", &self.directory).env_remove("TMUX");
        command
    }

    /// The server's process.
    pub(crate) fn server(&self) -> Result<Process> {
        let pid = self.run(&["display-message", "-p", "#{pid}"])?;
        Process::find(pid.trim().parse().context("tmux did not tell its process id")?)
    }

    /// Ends the server, if it runs.
    pub(crate) fn end(&self) {
        if !self.directory.exists() {
            return;
        }
        let server = self.server();
        let _ = self.run(&["kill-server"]);
        if let Ok(server) = server {
            server.kill();
        }
    }
}
