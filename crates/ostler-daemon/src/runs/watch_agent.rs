//! Brings a run what its agent's session finds of stops.

use ostler_core::run::AgentId;
use ostler_core::stop_watch::Findings;
use tokio::sync::mpsc;

use super::actor::TaskResult;
use crate::session::SessionHandle;

/// Brings what is found of an agent, and every change of it, until its session is gone or the run does not want to know any
/// more.
pub(super) async fn watch_agent(
    agent: AgentId,
    mut handle: SessionHandle,
    results: mpsc::Sender<TaskResult>,
) {
    loop {
        let found: Option<Findings> = *handle.stops.borrow_and_update();
        if let Some(found) = found
            && results.send(TaskResult::Found { agent, found }).await.is_err()
        {
            return;
        }
        if handle.stops.changed().await.is_err() {
            let _ = results.send(TaskResult::Gone { agent }).await;
            return;
        }
    }
}
