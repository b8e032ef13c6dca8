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
    /// When they were looked at, until that is reported.
    asked: Option<Steady>,
    /// When to look again; not before the last look was reported.
    again: Option<Steady>,
}

impl Looks {
    /// Whether to look now. It counts as done.
    pub(super) fn is_due(&mut self, ground: Ground, moved: Steady, settings: &Settings, now: Steady) -> bool {
        let due = match ground {
            Ground::Evidence => false,
            Ground::Nothing => self.since != Some(moved),
            Ground::Signs | Ground::Processes => {
                self.deadline(ground, moved, settings).is_some_and(|due| due <= now)
            }
        };
        if due {
            let count = if self.since == Some(moved) { self.count + 1 } else { 1 };
            *self = Self { since: Some(moved), count, asked: Some(now), again: None };
        }
        due
    }

    /// What was seen is known: the next look has its moment.
    pub(super) fn reported(&mut self, settings: &Settings, now: Steady) {
        let doubled = settings.look_again_ms.saturating_mul(1 << self.count.saturating_sub(1).min(16));
        self.again = Some(now.plus(millis(doubled.clamp(1, settings.look_again_max_ms.max(1)))));
        self.asked = None;
    }

    /// Until when the look of this silence is waited for: one that is under way, or has yet to begin.
    pub(super) fn awaited(&self, moved: Steady, settings: &Settings, now: Steady) -> Option<Steady> {
        let asked = if self.since == Some(moved) { self.asked } else { Some(now) };
        Some(asked?.plus(millis(settings.look_wait_ms)))
    }

    /// When the next look is due, if the verdict needs one.
    pub(super) fn deadline(&self, ground: Ground, moved: Steady, settings: &Settings) -> Option<Steady> {
        match ground {
            Ground::Signs if self.since != Some(moved) => Some(moved.plus(millis(settings.look_ms))),
            Ground::Processes => self.again,
            _ => None,
        }
    }
}
