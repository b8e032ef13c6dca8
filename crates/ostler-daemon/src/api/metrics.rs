//! Counts, for dashboards.

use std::collections::BTreeMap;

use ostler_protocol::{Metrics, Problem};
use ostler_store::{DeliveryCounts, StoreHandle};
use serde_json::{Map, Value};

use crate::session::store_problem;
use crate::sessions::Sessions;

/// Counts messages and runs by what became of them, and sessions by their state.
pub(crate) async fn read(sessions: &Sessions, store: &StoreHandle) -> Result<Metrics, Problem> {
    let (counts, injections, runs) = store
        .run(|store| {
            Ok((store.delivery_counts(None)?, store.counts("context_injection.")?, store.counts("run.")?))
        })
        .await
        .map_err(|error| store_problem(&error))?;
    let (context_injections, runs) = (injections.into_iter().collect(), runs.into_iter().collect());
    let mut by_state = BTreeMap::new();
    for handle in sessions.all() {
        *by_state.entry(handle.state.borrow().as_str().to_owned()).or_insert(0) += 1;
    }
    let deliveries = as_map(counts).unwrap_or_default();
    Ok(Metrics { deliveries, sessions: by_state, context_injections, runs })
}

/// What became of the prompts of a session, if there were any.
pub(super) async fn deliveries_of(store: &StoreHandle, session: &str) -> Option<Map<String, Value>> {
    let session = session.to_owned();
    let counts = store.run(move |store| store.delivery_counts(Some(&session))).await.ok()?;
    as_map(counts).filter(|_| counts.sent > 0)
}

fn as_map(counts: DeliveryCounts) -> Option<Map<String, Value>> {
    match serde_json::to_value(counts) {
        Ok(Value::Object(counts)) => Some(counts),
        _ => None,
    }
}
