//! The daemon's one place that reads clocks.

use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use ostler_core::{Now, Steady, Wall};

static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The present moment, for the record and for people. It jumps when somebody sets the clock.
pub(crate) fn now() -> Wall {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Wall(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The present moment on a clock that only goes forward, for deadlines. It says nothing outside this process.
pub(crate) fn steady() -> Steady {
    Steady(u64::try_from(STARTED.elapsed().as_millis()).unwrap_or(u64::MAX))
}

/// The present moment on both clocks.
pub(crate) fn both() -> Now {
    Now { wall: now(), steady: steady() }
}

/// A moment as the protocol shows it.
pub(crate) fn shown(at: Wall) -> jiff::Timestamp {
    i64::try_from(at.0).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok()).unwrap_or_default()
}

/// A moment of the steady clock as the runtime waits for it.
pub(crate) fn instant(at: Steady) -> tokio::time::Instant {
    tokio::time::Instant::now() + at.since(steady())
}
