//! What a decoder remembers from one record to the next.

use std::collections::VecDeque;

use ostler_core::{Usage, Wall};
use serde::{Deserialize, Serialize};

/// How many messages and calls are remembered. Agents repeat a record within moments.
const RECENT: usize = 128;
/// How many records of one moment are told apart.
const SAME_TIME: usize = 16;
/// Bytes of a record that tell it from others.
const HASHED: usize = 4 << 10;

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
    newest: Option<Wall>,
    /// Hashes of the records of that time.
    at_newest: VecDeque<u64>,
    /// Records before this time are history: they were told before, or are not this session's.
    floor: Option<Wall>,
    /// Hashes of records of that very time that are history as well.
    at_floor: VecDeque<u64>,
    /// Whether the last record that had a time was history.
    history: bool,
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

    /// Makes everything before a moment history.
    pub(super) fn forget_until(&mut self, moment: Wall) {
        if self.floor.is_none_or(|floor| floor < moment) {
            self.floor = Some(moment);
            self.at_floor.clear();
            self.history = true;
        }
    }

    /// Makes everything that was seen history.
    pub(super) fn forget_seen(&mut self) {
        let Some(newest) = self.newest.take() else { return };
        self.forget_until(newest);
        if self.floor == Some(newest) {
            self.at_floor.append(&mut self.at_newest);
        }
        self.at_newest.clear();
        self.history = true;
    }

    /// Whether a record is history. One without a time is if the one before it is.
    pub(super) fn is_history(&mut self, time: Option<Wall>, line: &[u8]) -> bool {
        let Some(time) = time else { return self.history };
        let start = &line[..line.len().min(HASHED)];
        let key = fnv(&[start, &line.len().to_le_bytes()]);
        // A clock that was set back does not make history of what comes.
        if self.newest.is_none_or(|newest| newest < time) {
            self.newest = Some(time);
            self.at_newest.clear();
        }
        if self.newest == Some(time) && self.at_newest.len() < SAME_TIME {
            self.at_newest.push_back(key);
        }
        self.history =
            self.floor.is_some_and(|floor| time < floor || time == floor && self.at_floor.contains(&key));
        self.history
    }

    fn remember(&mut self, key: u64, usage: Usage) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((key, usage));
    }
}

fn hash(kind: &str, id: &str) -> u64 {
    fnv(&[kind.as_bytes(), &[0], id.as_bytes()])
}

/// FNV-1a: the same in every version, unlike the hash of the standard library.
fn fnv(parts: &[&[u8]]) -> u64 {
    parts
        .iter()
        .copied()
        .flatten()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
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
