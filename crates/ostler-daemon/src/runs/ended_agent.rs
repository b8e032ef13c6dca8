//! How an agent ended that is gone, from the records.

use ostler_core::stop::{Exit, Stop};
use ostler_store::StoreHandle;

/// How the agent of a session ended.
pub(super) async fn stop(store: &StoreHandle, session: &str) -> Stop {
    let id = session.to_owned();
    let recorded = store.run(move |store| store.session(&id)).await;
    let Some(session) = recorded.ok().flatten() else { return Stop::Lost };
    let exit = session.ending.map(|ending| Exit { status: ending.status, signal: ending.signal });
    Stop::of_process(exit, session.stop_requested)
}
