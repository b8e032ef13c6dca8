//! The tasks that a command line means.

use std::io::Write;
use std::path::{Path, PathBuf};

use ostler_core::run::Policy;
use ostler_protocol::RunWorkTree;
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
    let checks: Vec<Check> =
        args.check.iter().map(|line| Check::shell(line)).collect::<Result<_, _>>().map_err(usage)?;
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
    policy.check_secs = settings.runs.check_seconds.get();
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

/// What the command line says of all tasks, whatever their file says.
pub(super) fn insist(args: &Run, policy: &mut Policy) {
    if let Some(attempts) = args.max_attempts {
        policy.max_attempts = attempts;
    }
    if let Some(time) = args.check_time {
        policy.check_secs = whole(time);
    }
    if args.no_pre_context {
        policy.pre_context.enabled = false;
    }
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

/// Whether the work in a work tree is committed.
pub(super) fn commits(args: &Run) -> Result<bool, CommandError> {
    Ok(!args.no_commit && ostler_daemon::settings::load(&client::home()?, Path::new("/")).runs.commit)
}

/// Files that are named of those that are left out.
const MOST_LEFT_OUT: usize = 5;

/// A work tree of its own for a task, and the directory in it that the task is to be done in.
pub(super) fn worktree(
    cwd: &Path,
    task: &Task,
    id: &str,
    commits: bool,
) -> Result<(PathBuf, RunWorkTree), CommandError> {
    let under = client::home()?.worktrees();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let skip = id.len().saturating_sub(6);
    let made = runtime.block_on(ostler_work::worktree::add(cwd, &under, task.id.as_str(), &id[skip..]));
    let tree = made.map_err(|error| CommandError::new(Kind::Failed, error.to_string()))?;
    let name = tree.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let known = RunWorkTree {
        name,
        repository: tree.repository.display().to_string(),
        path: tree.path.display().to_string(),
        branch: tree.branch,
        left_out: tree.left_out,
        commits,
    };
    let _ = writeln!(
        std::io::stderr(),
        "{}: branch {}, in {}{}",
        task.id.as_str(),
        known.branch,
        known.path,
        left_out(&known.left_out).map(|left| format!("; {left}")).unwrap_or_default()
    );
    Ok((tree.dir, known))
}

/// What is not in a work tree because it was not committed.
pub(super) fn left_out(files: &[String]) -> Option<String> {
    let named = files.iter().take(MOST_LEFT_OUT).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = files.len().saturating_sub(MOST_LEFT_OUT);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!files.is_empty()).then(|| format!("not committed, so left out: {named}{more}"))
}
