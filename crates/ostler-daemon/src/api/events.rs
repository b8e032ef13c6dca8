//! What clients ask about the event log.

use ostler_protocol::{EventInfo, Problem};
use ostler_store::StoreHandle;

use crate::clock;
use crate::session::store_problem;
use crate::sessions::Sessions;

/// Most events in one answer.
const MAX_EVENTS: u32 = 1_000;

/// Lists events behind the number `after`, of one session or of all, oldest first.
pub(crate) async fn list(
    sessions: &Sessions,
    store: &StoreHandle,
    name: Option<&str>,
    after: i64,
) -> Result<Vec<EventInfo>, Problem> {
    let session = id_of(sessions, name).await?;
    read(store, session, after).await
}

/// Lists events as [`list`] does, as soon as there is one.
pub(crate) async fn follow(
    sessions: &Sessions,
    store: &StoreHandle,
    name: Option<&str>,
    after: i64,
) -> Result<Vec<EventInfo>, Problem> {
    let session = id_of(sessions, name).await?;
    let mut changes = store.changes();
    loop {
        // Before the look: what is recorded after it wakes us.
        changes.mark_unchanged();
        let events = read(store, session.clone(), after).await?;
        if !events.is_empty() {
            return Ok(events);
        }
        let _ = changes.changed().await;
    }
}

async fn id_of(sessions: &Sessions, name: Option<&str>) -> Result<Option<String>, Problem> {
    match name {
        Some(name) => Ok(Some(sessions.find(name).await?.into_id())),
        None => Ok(None),
    }
}

async fn read(store: &StoreHandle, session: Option<String>, after: i64) -> Result<Vec<EventInfo>, Problem> {
    let found = store.run(move |store| store.events(session.as_deref(), after, MAX_EVENTS)).await;
    Ok(found.map_err(|error| store_problem(&error))?.into_iter().map(shown).collect())
}

fn shown(event: ostler_store::Event) -> EventInfo {
    EventInfo {
        seq: event.seq,
        at: clock::shown(event.at),
        session: event.session,
        event: event.event,
        details: event.details,
    }
}
