//! Watches one agent of a run: the shell around the core's `StopWatch`.

use ostler_core::Steady;
use ostler_core::run::AgentId;
use ostler_core::stop_watch::{Event, PromptState, Report, StopWatch};
use ostler_store::StoreHandle;
use tokio::sync::{mpsc, watch};

use super::actor::TaskResult;
use super::ended_agent;
use crate::clock;
use crate::session::{Command, Gone, SessionHandle};

/// What was found of an agent.
#[derive(Debug)]
pub(super) struct AgentReport {
    pub(super) agent: AgentId,
    pub(super) report: Report,
}

/// Watches an agent until its process has ended, or the run does not want to know any more.
pub(super) async fn watch_agent(
    store: StoreHandle,
    agent: AgentId,
    handle: SessionHandle,
    mut prompt: watch::Receiver<PromptState>,
    mut stop_watch: StopWatch,
    results: mpsc::Sender<TaskResult>,
) {
    let mut state = handle.state.clone();
    loop {
        state.mark_unchanged();
        let given = *prompt.borrow_and_update();
        let status = match handle.ask(Command::AgentStatus).await {
            Ok(status) => Event::StatusChanged(status),
            Err(Gone) => Event::SessionGone {
                exit: handle.exit(),
                stop_requested: ended_agent::was_stopped(&store, &handle.id).await,
            },
        };
        let now = clock::both();
        let mut reports = stop_watch.handle(Event::PromptChanged(given), now);
        reports.extend(stop_watch.handle(status, now));
        for report in reports {
            if results.send(TaskResult::Reported(AgentReport { agent, report })).await.is_err() {
                return;
            }
        }
        if stop_watch.is_over() {
            return;
        }
        tokio::select! {
            // Where the session is gone, the next question says so.
            _ = state.changed() => {}
            changed = prompt.changed() => if changed.is_err() { return },
            () = until(stop_watch.deadline()) => {}
        }
    }
}

async fn until(deadline: Option<Steady>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(clock::instant(at)).await,
        None => std::future::pending().await,
    }
}
