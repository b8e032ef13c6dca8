//! What clients ask about runs.

use ostler_protocol::{Problem, RunInfo, RunRequest};

use crate::runs::{Runs, no_such_run};

/// Begins a run, once: the same request again finds it.
pub(crate) async fn begin(runs: &Runs, request: RunRequest) -> Result<RunInfo, Problem> {
    runs.begin(request).await
}

/// Shows a run; if `after` is given, as soon as it is at another version, or has ended. Where a store that it shares with
/// others does not answer, it says so.
pub(crate) async fn status(runs: &Runs, id: &str, after: Option<u64>) -> Result<RunInfo, Problem> {
    runs.ready().await;
    let Some(mut handle) = runs.find(id) else {
        return runs.recorded(id).await?.ok_or_else(|| no_such_run(id));
    };
    if let Some(after) = after {
        let _ = handle.info.wait_for(|run| run.version != after || run.is_over()).await;
        let run = handle.info.borrow().clone();
        return Ok(run);
    }
    let mut run = handle.info.borrow().clone();
    run.trouble = run.trouble.or(runs.store_trouble(id).await);
    Ok(run)
}

/// Lists the runs of this home, oldest first; with `all`, those that have ended too.
pub(crate) async fn list(runs: &Runs, all: bool) -> Result<Vec<RunInfo>, Problem> {
    runs.list(all).await
}

/// Ends a run.
pub(crate) async fn cancel(runs: &Runs, id: &str) -> Result<RunInfo, Problem> {
    runs.cancel(id).await
}
