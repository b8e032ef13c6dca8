//! Time as a value: the clock on the wall, the clock that only goes forward, and both at one moment.

use std::time::Duration;

use serde::{Deserialize, Serialize};

macro_rules! moment {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// The moment `duration` later.
            #[must_use]
            pub fn plus(self, duration: Duration) -> Self {
                Self(self.0.saturating_add(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
            }

            /// The moment `duration` earlier.
            #[must_use]
            pub fn minus(self, duration: Duration) -> Self {
                Self(self.0.saturating_sub(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
            }

            /// Time from `earlier` to this moment, zero if it is later.
            pub fn since(self, earlier: Self) -> Duration {
                Duration::from_millis(self.0.saturating_sub(earlier.0))
            }
        }
    };
}

moment! {
    /// A moment in milliseconds since 1970, for records and people. It jumps when the clock is set.
    Wall
}

moment! {
    /// A moment on a clock that only goes forward, in milliseconds, for deadlines. It means nothing in another process.
    Steady
}

/// One moment on both clocks: every event has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Now {
    /// For records and people.
    pub wall: Wall,
    /// For deadlines.
    pub steady: Steady,
}

impl Now {
    /// A past moment of the wall clock on the steady one.
    pub fn steady_at(self, past: Wall) -> Steady {
        self.steady.minus(self.wall.since(past))
    }

    /// A coming moment of the wall clock on the steady one.
    pub fn steady_until(self, coming: Wall) -> Steady {
        self.steady.plus(coming.since(self.wall))
    }

    /// A past moment of the steady clock on the wall clock.
    pub fn wall_at(self, past: Steady) -> Wall {
        self.wall.minus(self.steady.since(past))
    }
}
