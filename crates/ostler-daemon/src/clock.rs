//! The daemon's one place that reads the clock.

use std::time::{SystemTime, UNIX_EPOCH};

use ostler_core::Timestamp;

/// The present moment.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// A moment as the protocol shows it.
pub(crate) fn shown(at: Timestamp) -> jiff::Timestamp {
    i64::try_from(at.0).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok()).unwrap_or_default()
}

/// The moment as the runtime waits for it.
pub(crate) fn instant(at: Timestamp) -> tokio::time::Instant {
    tokio::time::Instant::now() + at.since(now())
}
