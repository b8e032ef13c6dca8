//! The tasks that a command line means.

use std::io::Write;
use std::path::{Path, PathBuf};

use ostler_core::run::Policy;
use ostler_tasks::{Check, PromptTemplate, Task, TaskId};

use crate::cli::Run;
use crate::client;
use crate::error::{CommandError, Kind};

#[expect(clippy::needless_pass_by_value, reason = "for errors on their way")]
fn usage(error: impl ToString) -> CommandError {
    CommandError::new(Kind::Usage, error.to_string())
}

/// The tasks of a file, or the one of the command line.
pub(super) fn read(args: &Run) -> Result<Vec<Task>, CommandError> {
    let mut tasks = if let Some(file) = &args.task {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file).map_err(|error| usage(format!("{name}: {error}")))?;
        ostler_tasks::parse(&name, &text).map_err(usage)?
    } else {
        let text = args.text.as_deref().unwrap_or_default();
        if text.trim().is_empty() {
            return Err(
                usage("there is nothing to do").hint("say what is to be done, or name a file with --task")
            );
        }
        vec![Task::new(id_of(text)?, text)]
    };
    let checks: Vec<Check> = args.check.iter().map(|line| Check::Shell(line.clone())).collect();
    for task in &mut tasks {
        task.checks.extend(checks.iter().cloned());
    }
    Ok(tasks)
}

/// A short name made of the first words.
fn id_of(text: &str) -> Result<TaskId, CommandError> {
    let words: Vec<String> = text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(4)
        .map(str::to_ascii_lowercase)
        .collect();
    let name: String = words.join("-").chars().take(32).collect();
    let name = name.trim_matches('-').to_owned();
    let name = if name.is_empty() { "task".to_owned() } else { name };
    TaskId::try_from(name).map_err(usage)
}

/// The template of the prompt: the user's, or ours.
pub(super) fn template(args: &Run) -> Result<PromptTemplate, CommandError> {
    let Some(file) = &args.template else { return Ok(PromptTemplate::default()) };
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| usage(format!("{name}: {error}")))?;
    PromptTemplate::parse(name, text).map_err(usage)
}

/// What runs may do, from settings, environment and command line.
pub(super) fn policy(args: &Run) -> Result<Policy, CommandError> {
    let mut policy = Policy::default();
    let settings = ostler_daemon::settings::load(&client::home()?, Path::new("/"));
    if let Some(problem) = settings.problems.first() {
        return Err(usage(problem).hint("nothing in that file counts until it is right"));
    }
    policy.pre_context =
        settings.pre_context.with_environment(|name| std::env::var(name).ok()).map_err(usage)?;
    if args.no_pre_context {
        policy.pre_context.enabled = false;
    }
    if let Some(time) = args.max_time {
        policy.time_secs = whole(time);
    }
    if let Some(tokens) = args.max_tokens {
        policy.tokens = tokens;
    }
    if let Some(blocked) = args.blocked {
        policy.blocked_secs = whole(blocked);
    }
    if let Some(retrying) = args.retrying {
        policy.retry_secs = whole(retrying);
    }
    Ok(policy)
}

fn whole(seconds: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked by the command line"
    )]
    let whole = seconds.ceil() as u64;
    whole
}

/// A work tree of its own for a task: the directory in it that the task is to be done in.
pub(super) fn worktree(cwd: &Path, task: &Task, id: &str) -> Result<PathBuf, CommandError> {
    let under = client::home()?.path().join("worktrees");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let skip = id.len().saturating_sub(6);
    let made = runtime.block_on(ostler_work::worktree::add(cwd, &under, task.id.as_str(), &id[skip..]));
    let tree = made.map_err(|error| CommandError::new(Kind::Failed, error.to_string()))?;
    let _ = writeln!(
        std::io::stderr(),
        "{}: branch {}, in {}",
        task.id.as_str(),
        tree.branch,
        tree.path.display()
    );
    Ok(tree.dir)
}
