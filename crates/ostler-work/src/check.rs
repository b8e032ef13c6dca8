//! Checks of a task: commands that run outside the agent and say whether its work is right.

mod first_error;
mod shell_line;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::kept::{Keep, Kept};
use crate::process::{self, Bounds, End};

pub use first_error::first_error;

/// Variables that tie a process to ostler, beyond those that no program under care inherits.
const OWN: &str = "OSTLER_";
/// The one of them that only says where things are.
const HOME: &str = "OSTLER_HOME";

/// What a shell understands by itself at the beginning of a line.
const BUILT_IN: [&str; 41] = [
    "[", "alias", "bg", "break", "case", "cd", "command", "continue", "echo", "eval", "exec", "exit",
    "export", "false", "fg", "for", "getopts", "hash", "if", "jobs", "kill", "local", "printf", "pwd",
    "read", "readonly", "return", "set", "shift", "test", "times", "trap", "true", "type", "ulimit", "umask",
    "unalias", "unset", "until", "wait", "while",
];

/// Characters of a command that are shown in a complaint.
const SHOWN: usize = 80;

/// What is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckCommand {
    /// A program and its arguments.
    Argv(Vec<OsString>),
    /// A line for `sh -c`, as a user gave it.
    Shell(String),
}

/// A command with everything around it.
#[derive(Debug, Clone)]
pub struct Check {
    /// What is run.
    pub command: CheckCommand,
    /// The directory the command runs in.
    pub cwd: PathBuf,
    /// The whole environment, as the user has it. What ties to a session of ostler, to another terminal or to
    /// another agent is taken out.
    pub env: Vec<(OsString, OsString)>,
    /// How long it may take.
    pub limit: Duration,
    /// How much of each of its outputs is kept.
    pub keep: Keep,
    /// What marks its processes for [`crate::end_marked`]; without it, something that nobody knows.
    pub mark: Option<String>,
}

impl Check {
    /// The programs that the command names, are sought on the PATH and are not there. Nothing is said of programs that are
    /// given by their path, and of lines that only a shell understands.
    pub fn missing_programs(&self) -> Vec<Missing> {
        let Some((_, path)) = self.env.iter().rev().find(|(name, _)| name == "PATH") else {
            return Vec::new();
        };
        let (named, shell) = match &self.command {
            CheckCommand::Argv(words) => {
                let program = words.first().and_then(|word| word.to_str());
                (program.map(|program| (program.to_owned(), false)).into_iter().collect(), false)
            }
            CheckCommand::Shell(line) => (shell_line::programs(line), true),
        };
        let is_missing = |program: &str| {
            is_plain(program)
                && !(shell && BUILT_IN.contains(&program))
                && !std::env::split_paths(path).any(|dir: PathBuf| dir.join(program).exists())
        };
        let missing = named.into_iter().filter(|(program, _)| is_missing(program));
        missing.map(|(program, negated)| Missing { program, negated }).collect()
    }
}

/// A program that a check names and that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Its name.
    pub program: String,
    /// It stands behind a `!`: that it is missing counts as success.
    pub negated: bool,
}

/// Whether a word can be the name of a program on the PATH.
fn is_plain(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    !word.is_empty() && word.chars().all(plain) && !word.starts_with('.')
}

/// What came of a check.
#[derive(Debug)]
pub struct CheckResult {
    /// How it ended.
    pub end: End,
    /// How long it took.
    pub took: Duration,
    /// What it wrote to its output.
    pub stdout: Kept,
    /// What it wrote to its error output.
    pub stderr: Kept,
}

impl CheckResult {
    /// Whether the work is right, says this check.
    pub fn passed(&self) -> bool {
        self.end.is_success()
    }

    /// The one line that says best what is wrong with this command's outcome; none if all is well.
    pub fn first_error(&self, command: &str) -> Option<String> {
        if self.passed() {
            return None;
        }
        let said = first_error(&self.stdout.text(), &self.stderr.text());
        Some(match (self.end, said) {
            (End::Exited(_), Some(line)) => line,
            (end, Some(line)) => format!("`{}` {end}; last: {line}", shortened(command)),
            (end, None) => format!("`{}` {end} and printed nothing", shortened(command)),
        })
    }
}

/// A command in one short line.
fn shortened(command: &str) -> String {
    let words = command.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}

/// Why a check could not be run. This says nothing about the work.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// There is nothing to run.
    #[error("the check is empty")]
    Empty,
    /// The program cannot be started.
    #[error("the check cannot be run in {}: {program}: {source}", cwd.display())]
    NotRun {
        /// Which program.
        program: String,
        /// The directory the command was to run in.
        cwd: PathBuf,
        /// The reason, for people.
        source: io::Error,
    },
}

/// Runs a check to its end. It has no terminal and no input, and ends with its process group; when its time is
/// over, or the caller stops waiting, so does everything that it started.
pub async fn run(check: &Check) -> Result<CheckResult, CheckError> {
    let mut command = match &check.command {
        CheckCommand::Argv(words) => {
            let (program, args) = words.split_first().ok_or(CheckError::Empty)?;
            if program.is_empty() {
                return Err(CheckError::Empty);
            }
            let mut command = Command::new(program);
            command.args(args);
            command
        }
        CheckCommand::Shell(line) if line.trim().is_empty() => return Err(CheckError::Empty),
        CheckCommand::Shell(line) => {
            let mut command = Command::new("/bin/sh");
            command.arg("-c").arg(line);
            command
        }
    };
    let env = check.env.iter().filter(|(name, value)| !is_dropped(name, value));
    command.env_clear().envs(env.map(|(name, value)| (name, value)));
    command.current_dir(&check.cwd).stdin(Stdio::null());
    let program = command.get_program().to_string_lossy().into_owned();
    let mut bounds = Bounds::of_work(check.limit, check.keep);
    if let Some(mark) = &check.mark {
        bounds.mark = Some(mark.clone());
    }
    let done = process::run(command, bounds).await.map_err(|source| CheckError::NotRun {
        program,
        cwd: check.cwd.clone(),
        source,
    })?;
    Ok(CheckResult { end: done.end(), took: done.took, stdout: done.stdout, stderr: done.stderr })
}

/// Whether a variable is kept from checks.
fn is_dropped(name: &OsStr, value: &OsStr) -> bool {
    let (name, value) = (name.as_encoded_bytes(), value.as_encoded_bytes());
    (name.starts_with(OWN.as_bytes()) && name != HOME.as_bytes())
        || ostler_core::environment::is_dropped(name, value)
}
