//! `ostler demo`
//!
//! Drives this very program as a user would, in a home of its own: a stand-in agent is started and talked to,
//! the daemon is killed, and nothing is lost or typed twice.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::Value;

use crate::client;
use crate::error::{CommandError, Kind};
use crate::output;

/// How long any one thing in the demo may take.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);

pub(crate) fn run() -> Result<ExitCode, CommandError> {
    let stage = Stage::set()?;
    let outcome = stage.play();
    stage.clear();
    outcome.map(|()| ExitCode::SUCCESS)
}

/// A home for the demo, and the commands played in it.
struct Stage {
    home: PathBuf,
    executable: PathBuf,
}

impl Stage {
    fn set() -> Result<Self, CommandError> {
        let home = std::env::temp_dir().join(format!("ostler-demo-{}", std::process::id()));
        ostler_hold::create_private(&home)?;
        Ok(Self { home, executable: client::executable()? })
    }

    fn play(&self) -> Result<(), CommandError> {
        let log = self.home.join("received");
        say("A stand-in agent is started under care.")?;
        let stand_in = ["--", "stand-in", "--status", "--log"];
        let start =
            [&["start", text(&self.executable)?, "--name", "demo"], &stand_in[..], &[text(&log)?]].concat();
        self.show("ostler start AGENT --name demo", &start)?;
        let agent = self.status()?["pid"].clone();
        self.await_screen("Type a message")?;

        say(
            "A message: its text, then Enter. Each is recorded, typed once, and proven by the terminal's owner.",
        )?;
        let first = "Saddle the horses. !work 1s";
        self.show(
            &format!("ostler send demo --raw '{first}'"),
            &["send", "demo", "--raw", first, "--id", "first"],
        )?;
        self.await_screen("Saddle")?;
        self.show("ostler send demo --raw ENTER", &["send", "demo", "--raw", "\r", "--id", "first-enter"])?;
        self.await_screen("ok: Saddle")?;

        say("Now the daemon is killed, with no warning.")?;
        let daemon = self.json(&["daemon", "status", "--json"])?["pid"].clone();
        kill(&daemon)?;
        output::print(&format!("$ kill -9 {daemon}\n"))?;

        say("The next command starts a new one. The agent never noticed: same process, same screen.")?;
        self.show("ostler list", &["list"])?;
        expect(self.status()?["pid"] == agent, "the agent is the same process")?;
        self.await_screen("ok: Saddle")?;

        say("The first message again, as after a crash: it is known, and not typed again. Then a new one.")?;
        self.show("ostler send demo --raw … --id first", &["send", "demo", "--raw", first, "--id", "first"])?;
        self.quiet(&["send", "demo", "--raw", "Ready to ride?", "--id", "second"])?;
        self.await_screen("> Ready to ride?")?;
        self.quiet(&["send", "demo", "--raw", "\r", "--id", "second-enter"])?;
        self.await_screen("ok: Ready")?;
        self.show("ostler screen demo", &["screen", "demo"])?;

        say("What the agent says it received:")?;
        let received = received(&log)?;
        for prompt in &received {
            output::print(&format!("  {prompt:?}\n"))?;
        }
        expect(received == [first, "Ready to ride?"], "each message arrived exactly once")?;

        say("The session is ended, with every process it started.")?;
        self.show("ostler stop demo", &["stop", "demo"])?;
        say("Done. `ostler start PROGRAM` does the same with yours; `ostler --help` has the rest.")
    }

    fn command(&self, args: &[&str]) -> Result<Output, CommandError> {
        Ok(Command::new(&self.executable).args(args).env("OSTLER_HOME", &self.home).output()?)
    }

    fn quiet(&self, args: &[&str]) -> Result<String, CommandError> {
        let output = self.command(args)?;
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(out);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(CommandError::new(Kind::Failed, format!("`ostler {}` failed: {}", args.join(" "), said.trim())))
    }

    fn show(&self, shown: &str, args: &[&str]) -> Result<(), CommandError> {
        output::print(&format!("$ {shown}\n"))?;
        output::print(&self.quiet(args)?)
    }

    fn json(&self, args: &[&str]) -> Result<Value, CommandError> {
        serde_json::from_str(&self.quiet(args)?)
            .map_err(|error| CommandError::new(Kind::Internal, error.to_string()))
    }

    fn status(&self) -> Result<Value, CommandError> {
        self.json(&["status", "demo", "--json"])
    }

    fn await_screen(&self, text: &str) -> Result<(), CommandError> {
        let deadline = Instant::now() + PATIENCE;
        while !self.quiet(&["screen", "demo"])?.contains(text) {
            expect(Instant::now() < deadline, &format!("{text:?} appears on the screen"))?;
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Ends what the demo started, and removes its home.
    fn clear(&self) {
        let _ = self.command(&["stop", "demo", "--grace", "1"]);
        let _ = self.command(&["daemon", "stop"]);
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

fn say(text: &str) -> Result<(), CommandError> {
    output::print(&format!("\n== {text}\n"))
}

fn expect(holds: bool, what: &str) -> Result<(), CommandError> {
    if holds {
        Ok(())
    } else {
        Err(CommandError::new(Kind::Failed, format!("the demo failed: not so: {what}")))
    }
}

fn text(path: &Path) -> Result<&str, CommandError> {
    path.to_str()
        .ok_or_else(|| CommandError::new(Kind::Failed, "the temporary directory's name is not UTF-8"))
}

fn kill(pid: &Value) -> Result<(), CommandError> {
    let pid = pid.as_i64().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| CommandError::new(Kind::Internal, "the daemon has no process id"))?;
    rustix::process::kill_process(pid, Signal::KILL).map_err(std::io::Error::from)?;
    Ok(())
}

/// The prompts in the stand-in's log.
fn received(log: &Path) -> Result<Vec<String>, CommandError> {
    Ok(std::fs::read_to_string(log)?
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|event| event["event"] == "submitted")
        .filter_map(|event| event["text"].as_str().map(str::to_owned))
        .collect())
}
