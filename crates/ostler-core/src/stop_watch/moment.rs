//! Moments before the steady clock began.

use std::time::Duration;

use crate::{Now, Steady, Wall};

/// A moment on the steady clock, which may lie before that clock's beginning: what happened before a restart keeps its
/// order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(i64);

impl Moment {
    pub(super) fn of(at: Steady) -> Self {
        Self(signed(at.0))
    }

    /// A past moment of the wall clock. One that is still to come by that clock, because it was set back, is now.
    pub(super) fn of_wall(past: Wall, now: Now) -> Self {
        let ago = signed(now.wall.0.saturating_sub(past.0));
        Self(signed(now.steady.0).saturating_sub(ago))
    }

    pub(super) fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Time from `earlier` to this moment, zero if it is later.
    pub(super) fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// The same on the clock itself, or its beginning.
    pub(super) fn steady(self) -> Steady {
        Steady(u64::try_from(self.0).unwrap_or(0))
    }
}

fn signed(millis: u64) -> i64 {
    i64::try_from(millis).unwrap_or(i64::MAX)
}
