//! When the processes of a session are looked at.

use super::weigh::Ground;
use super::{Settings, millis};
use crate::Steady;

/// When the processes are looked at: once in every silence, and again for as long as nothing but them tells.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Looks {
    /// The output, or the start, since which they were looked at.
    since: Option<Steady>,
    /// How often since then.
    count: u32,
    /// When to look again; not before the last look was reported.
    again: Option<Steady>,
}

impl Looks {
    /// Whether to look now. It counts as done.
    pub(super) fn is_due(&mut self, ground: Ground, written: Steady, now: Steady) -> bool {
        let due = match ground {
            Ground::Evidence => false,
            Ground::Nothing => self.since != Some(written),
            Ground::Processes => self.deadline(ground).is_some_and(|again| again <= now),
        };
        if due {
            let count = if self.since == Some(written) { self.count + 1 } else { 1 };
            *self = Self { since: Some(written), count, again: None };
        }
        due
    }

    /// What was seen is known: the next look has its moment.
    pub(super) fn reported(&mut self, settings: &Settings, now: Steady) {
        let doubled = settings.look_again_ms.saturating_mul(1 << self.count.saturating_sub(1).min(16));
        self.again = Some(now.plus(millis(doubled.clamp(1, settings.look_again_max_ms.max(1)))));
    }

    /// When the next look is due, if the verdict needs one.
    pub(super) fn deadline(&self, ground: Ground) -> Option<Steady> {
        self.again.filter(|_| ground == Ground::Processes)
    }
}
