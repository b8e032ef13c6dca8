//! What a decoder remembers from one record to the next.

use std::collections::VecDeque;
use std::hash::Hasher;

use ostler_core::{Timestamp, Usage};
use serde::{Deserialize, Serialize};

/// How many messages and calls are remembered. Agents repeat a record within moments.
const RECENT: usize = 128;

/// What a decoder remembers from one record to the next: small, and kept with the place in the file, so that a
/// new daemon counts nothing twice.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// Messages and calls that were told, newest last: a hash of kind and id, and what was counted.
    recent: VecDeque<(u64, Usage)>,
    /// Calls that are questions to a person and not answered yet.
    asked: VecDeque<u64>,
    /// The counters of the whole conversation, by the record that has them.
    totals: Vec<(u64, Usage)>,
    /// Time of the newest record.
    newest: Option<Timestamp>,
    /// Records up to this time are history: they were told before, or are not this session's.
    floor: Option<Timestamp>,
}

impl Memory {
    /// Whether this is the first time, and never again.
    pub(super) fn first(&mut self, kind: &str, id: &str) -> bool {
        let key = hash(kind, id);
        let new = !self.recent.iter().any(|(known, _)| *known == key);
        if new {
            self.remember(key, Usage::default());
        }
        new
    }

    /// What a message adds to what was counted of it before.
    pub(super) fn of_message(&mut self, id: &str, now: Usage) -> Usage {
        let key = hash("used", id);
        let Some((_, before)) = self.recent.iter_mut().find(|(known, _)| *known == key) else {
            self.remember(key, now);
            return now;
        };
        let added = less(now, *before);
        *before = most(now, *before);
        added
    }

    /// What a counter of the whole conversation adds. A counter that falls was started or counted anew: nobody
    /// can tell which, so nothing is added.
    pub(super) fn of_total(&mut self, counter: &str, now: Usage) -> Usage {
        let key = hash("total", counter);
        if let Some((_, before)) = self.totals.iter_mut().find(|(known, _)| *known == key) {
            let added = less(now, *before);
            *before = now;
            return added;
        }
        self.totals.push((key, now));
        now
    }

    pub(super) fn asked(&mut self, id: &str) {
        self.asked.push_back(hash("asked", id));
        if self.asked.len() > 16 {
            self.asked.pop_front();
        }
    }

    /// Whether the call was a question; it is not any more.
    pub(super) fn answered(&mut self, id: &str) -> bool {
        let key = hash("asked", id);
        let before = self.asked.len();
        self.asked.retain(|known| *known != key);
        self.asked.len() < before
    }

    /// Makes everything up to a moment history.
    pub(super) fn forget_until(&mut self, moment: Timestamp) {
        self.floor = self.floor.max(Some(moment));
    }

    /// Makes everything that was seen history.
    pub(super) fn forget_seen(&mut self) {
        self.floor = self.floor.max(self.newest);
        self.newest = None;
    }

    /// Whether a record with this time is history. One without a time is as old as the one before it.
    pub(super) fn is_history(&mut self, time: Option<Timestamp>) -> bool {
        if let Some(time) = time {
            // A clock that was set back does not make history of what comes.
            if self.newest.is_none_or(|newest| newest < time) {
                self.newest = Some(time);
            }
            return self.floor.is_some_and(|floor| time <= floor);
        }
        self.floor.is_some_and(|floor| self.newest.is_none_or(|newest| newest <= floor))
    }

    fn remember(&mut self, key: u64, usage: Usage) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((key, usage));
    }
}

fn hash(kind: &str, id: &str) -> u64 {
    // FNV-1a: the same in every version, unlike the hash of the standard library.
    struct Fnv(u64);
    impl Hasher for Fnv {
        fn finish(&self) -> u64 {
            self.0
        }
        fn write(&mut self, bytes: &[u8]) {
            for byte in bytes {
                self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
    hasher.write(kind.as_bytes());
    hasher.write(&[0]);
    hasher.write(id.as_bytes());
    hasher.finish()
}

fn less(now: Usage, before: Usage) -> Usage {
    both(now, before, u64::saturating_sub)
}

fn most(now: Usage, before: Usage) -> Usage {
    both(now, before, u64::max)
}

fn both(a: Usage, b: Usage, join: fn(u64, u64) -> u64) -> Usage {
    Usage {
        input: join(a.input, b.input),
        cached: join(a.cached, b.cached),
        output: join(a.output, b.output),
        cost_micros: join(a.cost_micros, b.cost_micros),
    }
}
