//! A home for a test, and the commands run in it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::Value;

/// How long anything in a test may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A home of its own. When it is dropped its sessions and its daemon are gone.
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

pub(crate) fn ostler() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_ostler"))
}

impl TestHome {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::Builder::new().prefix("ostler-test-").tempdir().unwrap() }
    }

    /// A directory for whatever a test needs, outside the home.
    pub(crate) fn scratch(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(ostler());
        command.args(args).env("OSTLER_HOME", self.path()).env("NO_COLOR", "1").stdin(Stdio::null());
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

    /// Starts the stand-in agent as a session.
    #[track_caller]
    pub(crate) fn start_stand_in(&self, name: &str, flags: &[&str]) -> Value {
        let program = ostler().to_str().unwrap();
        let start = ["start", program, "--name", name, "--json", "--", "stand-in"];
        self.json([&start[..], flags].concat())
    }

    pub(crate) fn screen(&self, name: &str) -> String {
        self.ok(["screen", name])
    }

    #[track_caller]
    pub(crate) fn await_screen(&self, name: &str, text: &str) {
        until(&format!("{text:?} is on the screen"), || self.screen(name).contains(text).then_some(()));
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

/// Kills one process of ours, by its id.
pub(crate) fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
}

pub(crate) fn pid(value: &Value) -> u32 {
    u32::try_from(value.as_u64().unwrap()).unwrap()
}

pub(crate) fn is_running(pid: u32) -> bool {
    ostler_hold::Identity::of(pid).is_some()
}

/// Waits for something in the outside world that sends no event.
#[track_caller]
pub(crate) fn until<T>(what: &str, condition: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, condition).unwrap_or_else(|| panic!("timed out waiting until {what}"))
}

/// Looks until there is something to see, for so long at most.
///
/// The pauses between two looks grow: most things are there at once, and a test that spins takes the processor from the
/// program that it waits for.
pub(crate) fn within<T>(limit: Duration, mut condition: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + limit;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(value) = condition() {
            return Some(value);
        }
        if Instant::now() > deadline {
            return None;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// What a preset says of an agent that writes down who said what, and where.
pub(crate) const TRANSCRIPT: &str = r#"
[transcript]
place = "chats/*.jsonl"
cwd = "/cwd"
[[transcript.records]]
fact = "prompt_submitted"
when = { "/type" = "user" }
text = ["/text"]
[[transcript.records]]
fact = "said"
when = { "/type" = "assistant" }
text = ["/text"]
"#;

/// A small generator, so that a run can be repeated from its seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Whether something happens that happens so many times in a hundred.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn one_of<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.below(from.len() as u64)).unwrap()]
    }
}

/// A number that is a setting of a long run.
pub(crate) fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

/// The seed of a run: always the same one, unless `OSTLER_SEED` asks for another.
pub(crate) fn seed() -> u64 {
    setting("OSTLER_SEED", 2_654_435_761)
}
