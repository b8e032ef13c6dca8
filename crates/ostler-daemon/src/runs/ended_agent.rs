//! How an agent ended that is gone, from the records.

use ostler_core::stop::{Exit, Stop};
use ostler_store::{Session, StoreHandle};

/// How the agent of a session ended.
pub(super) async fn stop(store: &StoreHandle, session: &str) -> Stop {
    let Some(session) = recorded(store, session).await else { return Stop::Lost };
    let exit = session.ending.map(|ending| Exit { status: ending.status, signal: ending.signal });
    Stop::of_process(exit, session.stop_requested)
}

/// Whether a person or a program asked ostler to end the agent.
pub(super) async fn was_stopped(store: &StoreHandle, session: &str) -> bool {
    recorded(store, session).await.is_some_and(|session| session.stop_requested)
}

async fn recorded(store: &StoreHandle, session: &str) -> Option<Session> {
    let id = session.to_owned();
    store.run(move |store| store.session(&id)).await.ok().flatten()
}
