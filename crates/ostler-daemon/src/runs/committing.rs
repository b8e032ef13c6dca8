//! The work in a run's work tree, on its branch.

use std::path::Path;
use std::time::Duration;

use ostler_core::run::Outcome;
use ostler_protocol::CommittedWork;

use super::record::RunRecord;
use crate::home::Home;
use crate::presets::exclude;

/// How long it may take.
const LIMIT: Duration = Duration::from_mins(2);
/// Characters of the first line of a message.
const SUBJECT: usize = 72;

/// Commits what a run has done, where it has a work tree and that is wanted.
pub(super) async fn commit(home: &Home, record: &RunRecord) -> Option<CommittedWork> {
    let tree = record.request.worktree.as_ref().filter(|tree| tree.commits)?;
    let message = message(record, record.run.outcome()?);
    let exclude = exclude(home, &record.cwd());
    let commit = ostler_work::worktree::commit(Path::new(&tree.path), &exclude, &message);
    Some(match tokio::time::timeout(LIMIT, commit).await {
        Ok(Ok(commit)) => CommittedWork { commit, problem: None },
        Ok(Err(error)) => CommittedWork { commit: None, problem: Some(error.to_string()) },
        Err(_) => CommittedWork { commit: None, problem: Some("git took too long".into()) },
    })
}

fn message(record: &RunRecord, outcome: &Outcome) -> String {
    let subject: String = format!("{}: {outcome}", record.request.task).chars().take(SUBJECT).collect();
    let mut providers: Vec<String> =
        record.run.executions().into_iter().map(|execution| execution.provider).collect();
    providers.dedup();
    format!("{subject}\n\nWork of {} in ostler run {}.\n", providers.join(", "), record.request.id)
}
