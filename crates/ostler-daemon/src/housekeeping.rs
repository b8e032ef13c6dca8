//! Forgetting what is old, while sessions live on.

use std::time::Duration;

use ostler_store::{Keep, StoreHandle};

use crate::starter::{Starter, oldest};

/// How often.
const EVERY: Duration = Duration::from_hours(1);
/// Rows that are forgotten at once: others wait for the store meanwhile.
const AT_ONCE: u32 = 2_000;
/// Messages of each session that are kept when they are done with.
const MESSAGES: u32 = 10_000;
/// Events that are kept.
const EVENTS: u32 = 200_000;

/// Forgets, now and from time to time.
pub(crate) async fn run(store: StoreHandle, starter: Starter) {
    let mut times = tokio::time::interval(EVERY);
    loop {
        times.tick().await;
        starter.forget_old().await;
        let keep = Keep { messages: MESSAGES, events: EVENTS, since: oldest() };
        loop {
            match store.run(move |store| store.prune(&keep, AT_ONCE)).await {
                Ok(true) => tokio::task::yield_now().await,
                Ok(false) => break,
                Err(error) => {
                    tracing::warn!(%error, "what is old is not forgotten yet");
                    break;
                }
            }
        }
    }
}
