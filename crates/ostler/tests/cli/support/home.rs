//! A home for a test, and the commands run in it.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Instant;

use serde_json::Value;

use super::{PATIENCE, kill, ostler, until};

/// A home of its own, with room for programs, a project and a user's files beside it. When it is dropped its sessions and
/// its daemon are gone.
pub(crate) struct TestHome {
    dir: tempfile::TempDir,
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Done {
    pub(crate) fn from(output: &Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }

    /// Checks that the command failed this way and said all of this, and returns what it said.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, said: &[&str]) -> String {
        assert_eq!(self.code, code, "{self:?}");
        for text in said {
            assert!(self.err.contains(text), "{text:?} is not in {:?}", self.err);
        }
        self.err
    }
}

impl TestHome {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::Builder::new().prefix("ostler-test-").tempdir().unwrap() }
    }

    /// A directory for whatever a test needs, outside the home.
    pub(crate) fn scratch(&self) -> &Path {
        self.dir.path()
    }

    /// A file or directory in there.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.scratch().join(name)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.file("home")
    }

    /// Where the user has files of their own.
    pub(crate) fn user(&self) -> PathBuf {
        self.file("user")
    }

    /// A directory to work in. Once it is there, commands are run in it.
    pub(crate) fn project(&self) -> PathBuf {
        let project = self.file("project");
        std::fs::create_dir_all(&project).unwrap();
        project
    }

    /// A command of a user of whom nothing is known but this home. Nothing that the tests were started with counts.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(ostler());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("OSTLER_") || text.contains("PRE_CONTEXT") {
                command.env_remove(&name);
            }
        }
        let path = format!("{}:{}", self.file("bin").display(), std::env::var("PATH").unwrap());
        command.args(args).env("OSTLER_HOME", self.path()).env("NO_COLOR", "1").env("PATH", path);
        command.env("HOME", self.user()).env("USER", "tester").stdin(Stdio::null());
        let project = self.file("project");
        command.current_dir(if project.is_dir() { &project } else { self.scratch() });
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Done {
        Done::from(&self.command(args).output().unwrap())
    }

    #[track_caller]
    pub(crate) fn ok<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        self.run(args).ok()
    }

    #[track_caller]
    pub(crate) fn json<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Value {
        serde_json::from_str(&self.ok(args)).unwrap()
    }

    /// Starts a shell script as a session.
    #[track_caller]
    pub(crate) fn start_sh(&self, name: &str, script: &str) -> Value {
        self.json(["start", "sh", "--name", name, "--json", "--", "-c", script])
    }

    /// Starts the stand-in agent as a program of which nothing is known.
    #[track_caller]
    pub(crate) fn start_stand_in(&self, name: &str, flags: &[&str]) -> Value {
        let program = ostler().to_str().unwrap();
        let start = ["start", program, "--name", name, "--json", "--", "stand-in"];
        self.json([&start[..], flags].concat())
    }

    /// Runs a command of another home in a terminal of this one, as a person at a desk would.
    #[track_caller]
    pub(crate) fn at_desk(&self, name: &str, size: &str, other: &Self, args: &[&str]) -> Value {
        let at_home = format!("OSTLER_HOME={}", other.path().display());
        let path =
            format!("PATH={}:{}", other.file("bin").display(), std::env::var("PATH").unwrap_or_default());
        let start = ["start", ostler().to_str().unwrap(), "--name", name, "--size", size, "--json"];
        let env = ["--env", &at_home, "--env", &path, "--"];
        self.json([&start[..], &env[..], args].concat())
    }

    pub(crate) fn screen(&self, name: &str) -> String {
        self.ok(["screen", name])
    }

    /// Waits for a text on a screen, and looks whenever the program has written something.
    #[track_caller]
    pub(crate) fn await_screen(&self, name: &str, text: &str) {
        let shows = || self.screen(name).contains(text);
        if shows() {
            return;
        }
        let mut logs = self.command(["logs", name, "-f", "--raw"]);
        let mut follower = logs.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut output = follower.stdout.take().unwrap();
        let (written, news) = mpsc::channel();
        // Whoever follows and does not read holds the program up.
        let reader = std::thread::spawn(move || {
            while output.read(&mut [0; 4096]).is_ok_and(|count| count > 0 && written.send(()).is_ok()) {}
        });
        let deadline = Instant::now() + PATIENCE;
        let mut seen = shows();
        while !seen && news.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_ok() {
            while news.try_recv().is_ok() {}
            seen = shows();
        }
        let _ = follower.kill();
        follower.wait().unwrap();
        reader.join().unwrap();
        if !seen {
            // It follows no longer than its daemon and its session live.
            until(&format!("{text:?} is on the screen"), || shows().then_some(()));
        }
    }

    pub(crate) fn status(&self, name: &str) -> Value {
        self.json(["status", name, "--json"])
    }

    pub(crate) fn daemon_pid(&self) -> u32 {
        let pid = self.json(["daemon", "start", "--json"])["pid"].as_u64().unwrap();
        u32::try_from(pid).unwrap()
    }

    pub(crate) fn kill_daemon(&self) {
        kill(self.daemon_pid());
    }
}

impl Drop for TestHome {
    fn drop(&mut self) {
        if !self.path().exists() {
            return;
        }
        let ids = |args: &[&str]| -> Vec<String> {
            let listed = serde_json::from_str::<Vec<Value>>(&self.run(args).out).unwrap_or_default();
            listed.iter().filter_map(|entry| entry["id"].as_str().map(str::to_owned)).collect()
        };
        // A run whose agent is stopped starts the next one.
        for run in ids(&["runs", "list", "--json"]) {
            self.run(["runs", "cancel", &run]);
        }
        for session in ids(&["list", "--json"]) {
            self.run(["stop", &session, "--grace", "0"]);
        }
        self.run(["daemon", "stop"]);
    }
}
