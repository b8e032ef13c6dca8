//! Runs: tasks with all their attempts, as clients see them.

use jiff::Timestamp;
use ostler_core::Usage;
use ostler_core::run::{Attempt, Changes, Execution, HelperRecord, Outcome, Policy};
use serde::{Deserialize, Serialize};

use crate::os_text::OsText;

/// A task to be done.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunRequest {
    /// Makes a repeated request the same one.
    pub id: String,
    /// The task's id.
    pub task: String,
    /// What the agent is told to do.
    pub prompt: String,
    /// Who may work at it, the best first.
    pub agents: Vec<String>,
    /// Who is asked for ways to verify what checks cannot, if anybody.
    pub helper: Option<String>,
    /// Commands that all succeed in the end.
    pub checks: Vec<RunCheck>,
    /// What must be true in the end, in words.
    pub criteria: Vec<String>,
    /// Where the work is done; an absolute path.
    pub cwd: OsText,
    /// The caller's environment.
    pub env: Vec<(OsText, OsText)>,
    /// What it may do, and for how long.
    pub policy: Policy,
    /// The agents work without a person who approves.
    pub unattended: bool,
    /// The folder is trusted.
    pub trust: bool,
    /// Runs of one batch, of which only so many go on at a time.
    pub batch: Option<(String, u32)>,
    /// The task has a name of its own; else its text tells it from others.
    #[serde(default)]
    pub named: bool,
    /// Nothing is told of earlier runs of the task.
    #[serde(default)]
    pub fresh: bool,
    /// Another run may work in the same directory.
    #[serde(default)]
    pub shares_directory: bool,
    /// The work tree that was made for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<RunWorkTree>,
}

/// A git work tree that was made for a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunWorkTree {
    /// What `ostler worktrees` calls it.
    pub name: String,
    /// Where the repository is that it belongs to.
    pub repository: String,
    /// Where it begins.
    pub path: String,
    /// Its branch.
    pub branch: String,
    /// Files of the repository that were not committed, and so are not in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// The work is committed on the branch when the run ends.
    pub commits: bool,
}

/// What became of the work in a run's work tree.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CommittedWork {
    /// The commit that ostler made, if there was anything to commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Why the work is not committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A command that succeeds if the work is right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunCheck {
    /// A program and its arguments.
    Argv(Vec<String>),
    /// A line for the shell.
    Shell(String),
}

impl RunCheck {
    /// The command for people.
    pub fn shown(&self) -> String {
        match self {
            Self::Argv(words) => words.join(" "),
            Self::Shell(line) => line.clone(),
        }
    }
}

/// What came of a check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckInfo {
    /// The attempt it is of.
    pub attempt: u32,
    /// The command.
    pub command: String,
    /// It succeeded.
    pub passed: bool,
    /// The line that says best what is wrong.
    pub error: Option<String>,
    /// It cannot be run, whatever the work is like.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_runnable: bool,
    /// The end of what it wrote.
    pub output: String,
    /// How long it took.
    pub seconds: f64,
}

/// What an agent was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptInfo {
    /// The attempt it is of.
    pub attempt: u32,
    /// Whom.
    pub provider: String,
    /// What kind of context stands before the prompt: `provider_switch`, `retry`, `helper`.
    pub context: Option<String>,
    /// The task alone.
    pub original: String,
    /// The task with what stands before it.
    pub contextual: String,
    /// How it is known that it arrived.
    pub proof: Option<String>,
}

/// A run as users see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Unique id.
    pub id: String,
    /// The task's id.
    pub task: String,
    /// Where it stands: `queued`, `choosing`, `waiting`, `starting`, `delivering`, `working`, `blocked`, `observing`,
    /// `checking`, `helper`, or how it ended.
    pub state: String,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// The state in words.
    pub summary: String,
    /// Who may work at it.
    pub agents: Vec<String>,
    /// Who works at it now.
    pub provider: Option<String>,
    /// In which session.
    pub session: Option<String>,
    /// The directory of the work.
    pub cwd: String,
    /// Its attempts, the oldest first.
    pub attempts: Vec<Attempt>,
    /// One record for every agent that worked at it, each fallback included.
    #[serde(default)]
    pub executions: Vec<Execution>,
    /// The earlier run of the same task whose agents its own are told of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<String>,
    /// The work tree that was made for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<RunWorkTree>,
    /// What became of the work there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committed: Option<CommittedWork>,
    /// Why nothing can be recorded: the shared store does not answer. The run goes on when it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// What the checks said, the oldest first.
    pub checks: Vec<CheckInfo>,
    /// What agents were told, the oldest first.
    pub prompts: Vec<PromptInfo>,
    /// What a helper found of attempts that failed in the same way, if one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub helper: Option<HelperRecord>,
    /// What came of the criteria of the last attempt, if the task has any and the attempt got so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criteria: Option<HelperRecord>,
    /// What all attempts changed together.
    pub files: Changes,
    /// Changes of provider.
    pub switches: u32,
    /// What was spent, as far as agents say.
    pub usage: Usage,
    /// When it began.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// How long it took, or has taken, in seconds.
    pub seconds: f64,
    /// Counts changes.
    pub version: u64,
}

impl RunInfo {
    /// Nothing more is done.
    pub fn is_over(&self) -> bool {
        self.outcome.is_some()
    }
}

/// A provider as users see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProviderInfo {
    /// Its name.
    pub provider: String,
    /// The account, where it is not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The machine, where it is that machine's trouble and not the provider's: `this`, or what tells it from others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// `closed`, `open` or `half-open`.
    pub breaker: String,
    /// Why it is not closed.
    pub reason: Option<String>,
    /// Until when.
    pub until: Option<Timestamp>,
    /// How often it was opened without a success between.
    pub rung: u32,
}
