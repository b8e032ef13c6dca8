//! Keys in, screens out: the agent under `ostler`, as a person would use it.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ostler_testkit::model_server::{Entry, Log};
use regex::Regex;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::truth::{Mark, What};

/// How often the screen is looked at.
const GLANCE: Duration = Duration::from_millis(120);
/// The session in which somebody looks at the agent.
const VIEWER: &str = "viewer";

/// Drives one session and keeps its log.
pub struct Driver {
    /// The session's name.
    name: String,
    ostler: PathBuf,
    out: PathBuf,
    /// The model server's log, whose clock is also the driver's.
    log: Log,
    marks: Vec<Mark>,
    events: Option<Child>,
}

impl Driver {
    /// Makes a driver that uses this binary and keeps its files in this directory.
    pub fn new(ostler: PathBuf, out: PathBuf, log: Log) -> Self {
        Self { name: "agent".into(), ostler, out, log, marks: Vec::new(), events: None }
    }

    /// Turns to the session of another name, which may not have begun.
    pub fn turn_to(&mut self, name: &str) {
        name.clone_into(&mut self.name);
    }

    /// The session's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The model server's log.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// What was done and seen so far.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// What the model server logged so far.
    pub fn exchanges(&self) -> Vec<Entry> {
        self.log.entries()
    }

    /// Notes something that happened between a moment and now.
    pub fn mark(&mut self, from: f64, what: What) {
        self.marks.push(Mark { from, to: self.log.now(), what });
    }

    /// The time.
    pub fn now(&self) -> f64 {
        self.log.now()
    }

    /// Starts the agent, recorded.
    pub fn start(
        &mut self,
        cwd: &str,
        env: &[(String, String)],
        agent: &str,
        program: &str,
        args: &[String],
        size: &str,
    ) -> Result<()> {
        // Scenes begin with the first thing it shows.
        self.start_with(cwd, env, agent, program, args, &["--no-wait", "--size", size])
    }

    /// Starts the agent, recorded, with more to say to `ostler start`.
    pub fn start_with(
        &mut self,
        cwd: &str,
        env: &[(String, String)],
        agent: &str,
        program: &str,
        args: &[String],
        more: &[&str],
    ) -> Result<()> {
        let from = self.now();
        let mut command = self.command(&["start", program, "--json", "--cwd", cwd, "--record", "64"]);
        command.args(["--name", &self.name]).args(more);
        if !more.contains(&"--size") {
            command.args(["--size", "120x40"]);
        }
        // Behind an interpreter nobody can tell which agent it is.
        if Path::new(program).file_name().is_none_or(|file| file != agent) {
            command.args(["--as", agent]);
        }
        for (name, value) in env {
            command.arg("--env").arg(format!("{name}={value}"));
        }
        output(command.arg("--").args(args))?;
        self.mark(from, What::Started);
        Ok(())
    }

    /// Keeps what ostler tells of its sessions.
    pub fn follow_events(&mut self) -> Result<()> {
        let live = File::options().create(true).append(true).open(self.out.join("live.jsonl"))?;
        self.events = Some(
            self.command(&["events", "--follow", "--json"])
                .stdin(Stdio::null())
                .stdout(live)
                .stderr(Stdio::null())
                .spawn()?,
        );
        Ok(())
    }

    /// Kills the daemon; the next command starts another one.
    pub fn kill_daemon(&mut self) -> Result<()> {
        let status: Value =
            serde_json::from_str(&output(&mut self.command(&["daemon", "status", "--json"]))?)?;
        let pid = status["pid"].as_i64().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        kill_process(pid.context("there is no daemon to kill")?, Signal::KILL)?;
        if let Some(mut events) = self.events.take() {
            let _ = events.kill();
            let _ = events.wait();
        }
        self.follow_events()
    }

    /// Changes the size of the agent's terminal, as somebody does who attaches with another one.
    pub fn resize(&self, size: &str) -> Result<()> {
        let home = format!("OSTLER_HOME={}", home().display());
        let ostler = self.ostler.to_string_lossy().into_owned();
        let viewer = ["start", &ostler, "--name", VIEWER, "--size", size, "--env", &home, "--no-wait", "--"];
        output(self.command(&viewer).args(["attach", &self.name])).map(drop)
    }

    /// Writes bytes to the terminal, in one write.
    pub fn write(&self, bytes: &[u8]) -> Result<()> {
        let mut child = self
            .command(&["send", &self.name, "-", "--raw"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        child.stdin.take().context("no standard input")?.write_all(bytes)?;
        let status = child.wait()?;
        if !status.success() {
            bail!("ostler send failed: {status}");
        }
        Ok(())
    }

    /// Writes keys, each a write of its own with a pause before the next.
    pub fn press(&self, keys: &[String]) -> Result<()> {
        for (index, key) in keys.iter().enumerate() {
            if index > 0 {
                std::thread::sleep(Duration::from_millis(400));
            }
            self.write(bytes_of(key).as_bytes())?;
        }
        Ok(())
    }

    /// The screen as text.
    pub fn screen(&self) -> Result<String> {
        output(&mut self.command(&["screen", &self.name]))
    }

    /// Keeps the screen as a file, for people.
    pub fn snapshot(&self, name: &str) {
        if let Ok(screen) = self.screen() {
            let _ = std::fs::write(self.out.join(format!("screen-{name}.txt")), screen);
        }
    }

    /// Waits until the screen matches.
    pub fn await_screen(&self, what: &str, pattern: &str, timeout: f64) -> Result<()> {
        let pattern = Regex::new(pattern)?;
        self.until(what, timeout, || Ok(pattern.is_match(&self.screen()?).then_some(())))
    }

    /// Waits until the screen does not match any more.
    pub fn await_gone(&self, what: &str, pattern: &str, timeout: f64) -> Result<()> {
        let pattern = Regex::new(pattern)?;
        self.until(what, timeout, || Ok((!pattern.is_match(&self.screen()?)).then_some(())))
    }

    /// Waits until something is so, as long as the agent lives.
    pub fn until<T>(
        &self,
        what: &str,
        timeout: f64,
        mut test: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        let deadline = Instant::now() + Duration::from_secs_f64(timeout);
        loop {
            if let Some(value) = test()? {
                return Ok(value);
            }
            if Instant::now() > deadline {
                bail!("waited {timeout} s in vain: {what}");
            }
            std::thread::sleep(GLANCE);
        }
    }

    /// Looks on for a while.
    pub fn rest(&self, seconds: f64) {
        std::thread::sleep(Duration::from_secs_f64(seconds.max(0.0)));
    }

    /// Ends the session and the daemon, and returns where the recording is.
    pub fn stop(&mut self) -> Result<PathBuf> {
        let status: Value =
            serde_json::from_str(&output(&mut self.command(&["status", &self.name, "--json"]))?)?;
        if status["state"] == "exited" {
            bail!("the agent ended by itself:\n{}", self.screen()?.trim());
        }
        let stopped = self.stop_session();
        if let Some(mut events) = self.events.take() {
            let _ = events.kill();
            let _ = events.wait();
        }
        let _ = output(&mut self.command(&["daemon", "stop"]));
        stopped?;
        let id = status["id"].as_str().context("the session has no id")?;
        find_recording(&home(), id)
    }

    /// Ends the session.
    pub fn stop_session(&self) -> Result<()> {
        output(&mut self.command(&["stop", &self.name, "--grace", "1"])).map(drop)
    }

    /// An ostler command.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.ostler);
        command.args(args).env("OSTLER_HOME", home()).stdin(Stdio::null());
        command
    }
}

/// Where ostler keeps its state within the namespace.
pub fn home() -> PathBuf {
    PathBuf::from("/opt/ostler-home")
}

fn find_recording(home: &Path, id: &str) -> Result<PathBuf> {
    let mut dirs = vec![home.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir)?.filter_map(Result::ok) {
            let path = entry.path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|extension| extension == "cast") {
                return Ok(path);
            }
        }
    }
    bail!("session {id} left no recording")
}

/// Runs a command that must succeed, and returns what it printed.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("ostler {} failed: {}", command.get_args().next().unwrap_or_default().display(), said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The bytes of a key by its name; any other text is typed as it is.
fn bytes_of(key: &str) -> &str {
    match key {
        "Enter" => "\r",
        "Escape" => "\x1b",
        "Up" => "\x1b[A",
        "Down" => "\x1b[B",
        "Right" => "\x1b[C",
        "Left" => "\x1b[D",
        "Tab" => "\t",
        "Backspace" => "\x7f",
        "Ctrl-C" => "\x03",
        "Ctrl-U" => "\x15",
        text => text,
    }
}
