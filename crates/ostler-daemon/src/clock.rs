//! The daemon's one place that reads clocks: one for what is recorded, one for what is waited for.

use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use ostler_core::Timestamp;

static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The present moment, for the record and for people. It jumps when somebody sets the clock.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The present moment on a clock that only goes forward, for deadlines. It says nothing outside this process.
pub(crate) fn steady() -> Timestamp {
    Timestamp(u64::try_from(STARTED.elapsed().as_millis()).unwrap_or(u64::MAX))
}

/// A moment as the protocol shows it.
pub(crate) fn shown(at: Timestamp) -> jiff::Timestamp {
    i64::try_from(at.0).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok()).unwrap_or_default()
}

/// A moment of the steady clock as the runtime waits for it.
pub(crate) fn instant(at: Timestamp) -> tokio::time::Instant {
    tokio::time::Instant::now() + at.since(steady())
}
