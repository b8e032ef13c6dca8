//! The task that a run gave an agent.

use ostler_protocol::{Problem, RunInfo, TaskInfo};

use crate::runs::Runs;

/// Most checks and complaints that an agent is told.
const LINES: usize = 10;

/// The task of a session, if it is of a run that goes on.
pub(super) async fn of_session(runs: &Runs, session: &str) -> Result<Option<TaskInfo>, Problem> {
    let found = runs.list(false).await?;
    Ok(found.into_iter().find(|run| run.session.as_deref() == Some(session)).map(told))
}

fn told(run: RunInfo) -> TaskInfo {
    let errors = run.attempts.iter().rev().map(|attempt| &attempt.errors).find(|errors| !errors.is_empty());
    let mut checks: Vec<String> = run.checks.iter().map(|check| check.command.clone()).collect();
    checks.sort();
    checks.dedup();
    TaskInfo {
        attempt: run.attempts.len(),
        errors: errors.into_iter().flatten().take(LINES).cloned().collect(),
        checks: checks.into_iter().take(LINES).collect(),
        goal: run.prompts.last().map(|prompt| prompt.original.clone()),
        run: run.id,
        task: run.task,
        state: run.summary,
    }
}
