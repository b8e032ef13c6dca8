//! Where the demo is played: a home, a repository, two agents.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal};
use serde_json::Value;

use crate::client;
use crate::error::{CommandError, Kind};
use crate::output;

/// The agent that begins.
pub(super) const FIRST: &str = "ada";
/// The agent that takes over.
pub(super) const SECOND: &str = "ben";

const PRESET: &str = include_str!("agent.toml");
const CHECK: &str = include_str!("check.sh");
const SCRIPTS: [(&str, &str, &str); 2] =
    [(FIRST, include_str!("ada.json"), "--trust-dialog"), (SECOND, include_str!("ben.json"), "")];

/// A place for the demo, and the commands played in it.
pub(super) struct Stage {
    dir: PathBuf,
    executable: PathBuf,
}

impl Stage {
    pub(super) fn set() -> Result<Self, CommandError> {
        let dir = std::env::temp_dir().join(format!("ostler-demo-{}", std::process::id()));
        let stage = Self { dir, executable: client::executable()? };
        match stage.prepare() {
            Ok(()) => Ok(stage),
            Err(error) => {
                let _ = fs::remove_dir_all(&stage.dir);
                Err(error)
            }
        }
    }

    fn prepare(&self) -> Result<(), CommandError> {
        text(&self.dir)?;
        ostler_hold::create_private(&self.dir)?;
        for dir in ["home", "bin", "project"] {
            ostler_hold::create_private(&self.dir.join(dir))?;
        }
        let presets = self.dir.join("home/config/agents");
        fs::create_dir_all(&presets)?;
        for (name, script, flags) in SCRIPTS {
            fs::write(presets.join(format!("{name}.toml")), PRESET.replace("@NAME@", name))?;
            let play = self.dir.join(format!("{name}.json"));
            fs::write(&play, script)?;
            let program = self.dir.join("bin").join(name);
            let [ostler, play, log] = [&self.executable, &play, &self.log(name)].map(|path| quoted(path));
            let line = format!(
                "#!/bin/sh\nexec {} stand-in --name {name} {flags} --script {} --log {} \"$@\"\n",
                ostler?, play?, log?
            );
            fs::write(&program, line)?;
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
        }
        fs::write(self.dir.join("project/check.sh"), CHECK)?;
        self.git(&["init", "--quiet"])?;
        self.git(&["add", "check.sh"])?;
        self.git(&["commit", "--quiet", "--message", "A check"])
    }

    fn git(&self, args: &[&str]) -> Result<(), CommandError> {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false"])
            .args(args);
        git.current_dir(self.dir.join("project")).stdin(Stdio::null());
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            git.env_remove(name);
        }
        let output = git.output().map_err(|error| {
            CommandError::new(Kind::Failed, format!("the demo needs git, which cannot be run: {error}"))
                .hint("install git, then try again")
        })?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(CommandError::new(Kind::Failed, format!("git {} failed: {}", args.join(" "), said.trim())))
    }

    /// A command of this program, as a user of the demo's home gives it.
    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.executable);
        command.args(args).env("OSTLER_HOME", self.dir.join("home")).current_dir(self.dir.join("project"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = std::iter::once(self.dir.join("bin")).chain(std::env::split_paths(&path));
        if let Ok(path) = std::env::join_paths(own) {
            command.env("PATH", path);
        }
        // The demo shows what is so without settings.
        for name in [
            "ENABLE_PRE_CONTEXT_INJECTION",
            "PRE_CONTEXT_MAX_LINES",
            "PRE_CONTEXT_TYPES",
            "PRE_CONTEXT_MAX_FILES",
            "OSTLER_STORE",
        ] {
            command.env_remove(name);
        }
        command
    }

    fn quiet(&self, args: &[&str]) -> Result<String, CommandError> {
        let output = self.command(args).output()?;
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(out);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(CommandError::new(Kind::Failed, format!("`ostler {}` failed: {}", args.join(" "), said.trim())))
    }

    pub(super) fn show(&self, shown: &str, args: &[&str]) -> Result<(), CommandError> {
        output::print(&format!("$ {shown}\n"))?;
        output::print(&self.quiet(args)?)
    }

    fn json(&self, args: &[&str]) -> Result<Value, CommandError> {
        serde_json::from_str(&self.quiet(args)?)
            .map_err(|error| CommandError::new(Kind::Internal, error.to_string()))
    }

    /// Kills the demo's daemon, with no warning.
    pub(super) fn kill_daemon(&self) -> Result<i32, CommandError> {
        let number = super::number(&self.json(&["daemon", "status", "--json"])?["pid"]);
        let pid = number.and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| CommandError::new(Kind::Internal, "the daemon has no process id"))?;
        rustix::process::kill_process(pid, Signal::KILL).map_err(std::io::Error::from)?;
        Ok(pid.as_raw_nonzero().get())
    }

    fn log(&self, agent: &str) -> PathBuf {
        self.dir.join(format!("{agent}.log"))
    }

    /// A field of all events of one kind in an agent's log.
    pub(super) fn logged(&self, agent: &str, event: &str, field: &str) -> Result<Vec<String>, CommandError> {
        Ok(fs::read_to_string(self.log(agent))?
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|known| known["event"] == event)
            .filter_map(|known| known[field].as_str().map(str::to_owned))
            .collect())
    }

    /// Ends what the demo started, and removes its place.
    pub(super) fn clear(&self) {
        let sessions = self.json(&["list", "--json"]).unwrap_or_default();
        for session in sessions.as_array().into_iter().flatten().filter_map(|session| session["id"].as_str())
        {
            let _ = self.command(&["stop", session, "--grace", "1"]).output();
        }
        let _ = self.command(&["daemon", "stop"]).output();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn text(path: &Path) -> Result<&str, CommandError> {
    path.to_str()
        .ok_or_else(|| CommandError::new(Kind::Failed, "the temporary directory's name is not UTF-8"))
}

/// A path as one word of a shell.
fn quoted(path: &Path) -> Result<String, CommandError> {
    Ok(format!("'{}'", text(path)?.replace('\'', r"'\''")))
}
