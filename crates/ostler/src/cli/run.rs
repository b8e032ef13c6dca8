//! The commands about runs.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::seconds;

/// What an interrupt does to a run that is being watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnInterrupt {
    /// The run goes on; only the watching ends
    Detach,
    /// The run ends
    Stop,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// What is to be done
    #[arg(required_unless_present = "task", conflicts_with = "task")]
    pub(crate) text: Option<String>,
    /// Who may do it, the best first, separated by commas [default: the installed agents, by priority]
    #[arg(long, value_delimiter = ',', value_name = "AGENT")]
    pub(crate) agent: Vec<String>,
    /// A command that succeeds if the work is right; may be given more than once
    #[arg(long, value_name = "CMD")]
    pub(crate) check: Vec<String>,
    /// A file of tasks, TOML or JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) task: Option<PathBuf>,
    /// How often it is tried; what a helper finds of a failure that repeats earns one attempt more [default: 3]
    #[arg(long, value_name = "N")]
    pub(crate) max_attempts: Option<u32>,
    /// Give up after this many seconds; checks that are running then are ended
    #[arg(long, value_name = "SECS", value_parser = seconds)]
    pub(crate) max_time: Option<f64>,
    /// How long the checks of an attempt may take together, in seconds; `budget.checks` in a task file and
    /// `runs.check_seconds` in config.toml say it as well [default: 3600]
    #[arg(long, value_name = "SECS", value_parser = seconds)]
    pub(crate) check_time: Option<f64>,
    /// Give up after this many tokens
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// Where the work is done [default: here]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Do each task in a git work tree of its own, on a branch of its own; `ostler worktrees` lists and removes them
    #[arg(long)]
    pub(crate) worktree: bool,
    /// Leave the work in the work tree as it is: do not commit it on its branch when the run ends
    #[arg(long)]
    pub(crate) no_commit: bool,
    /// Let this run work where another one works: what changes there counts as the work of both
    #[arg(long)]
    pub(crate) share_directory: bool,
    /// Begin afresh: tell agents nothing of earlier runs of the task that did not get it done
    #[arg(long)]
    pub(crate) fresh: bool,
    /// How many tasks go on at a time
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) parallel: u32,
    /// Do not wait for the end
    #[arg(long)]
    pub(crate) detach: bool,
    /// What Ctrl-C does while the run is watched
    #[arg(long, value_enum, value_name = "WHAT", default_value = "detach")]
    pub(crate) on_interrupt: OnInterrupt,
    /// Let agents work without asking for permission, where they have a way to
    #[arg(long)]
    pub(crate) unattended: bool,
    /// Trust this folder, now and later: dialogs that ask for it are answered so
    #[arg(long)]
    pub(crate) trust: bool,
    /// The agent that is asked for commands that verify the criteria of a task, or what fails again and again; they run
    /// in a sandbox [default: the first of the agents that can be asked without a terminal]
    #[arg(long, value_name = "AGENT")]
    pub(crate) helper: Option<String>,
    /// The template of the prompt (minijinja)
    #[arg(long, value_name = "FILE")]
    pub(crate) template: Option<PathBuf>,
    /// Tell agents nothing of those who tried before them, whatever the task file says
    #[arg(long)]
    pub(crate) no_pre_context: bool,
    /// How long an agent may wait for a person before the run is reported as blocked, in seconds; a later
    /// answer still lets it go on
    #[arg(long, value_name = "SECS", value_parser = seconds)]
    pub(crate) blocked: Option<f64>,
    /// How long an agent may go on trying again while its provider fails, in seconds; 0 leaves it to the agent
    /// [default: 30]
    #[arg(long, value_name = "SECS", value_parser = seconds)]
    pub(crate) retrying: Option<f64>,
    /// Where runs and breakers are kept: a server that speaks the Redis protocol, for several machines, or `local` for
    /// ostler's own database. The daemon remembers it; `store.url` in config.toml says it as well
    #[arg(long, value_name = "URL", env = "OSTLER_STORE", hide_env_values = true)]
    pub(crate) store: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Runs {
    /// List those that go on
    List {
        /// Ended ones too
        #[arg(long, short)]
        all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a run: attempts, files, checks, prompts
    Show(OneRun),
    /// Wait until a run has ended, and report
    Wait(OneRun),
    /// End a run and its agent
    Cancel(OneRun),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Worktrees {
    /// List them: branch, commits, what is not committed
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove work trees; a branch with commits on it stays
    Remove {
        /// Which, by name, branch or path
        #[arg(required = true)]
        names: Vec<String>,
        /// Remove what is not committed, too: it is lost
        #[arg(long)]
        force: bool,
    },
    /// Remove those whose work is committed and merged, and forget those that are gone
    Prune,
}

#[derive(Debug, Args)]
pub(crate) struct OneRun {
    /// The run's id, or the beginning of it
    pub(crate) id: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Providers {
    #[command(subcommand)]
    pub(crate) command: Option<ProvidersCommand>,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProvidersCommand {
    /// Say that a provider can be used again
    Reset {
        /// Which, with all its accounts, or NAME@ACCOUNT [default: all]
        provider: Option<String>,
    },
}
