//! A breaker as it is stored.

use serde::{Deserialize, Serialize};

use super::{Breaker, ProbeId, Reason, State};
use crate::Wall;

/// Grows with every change that an older version would misread.
const VERSION: u32 = 1;

/// What is written. What a newer version wrote is read as far as it is understood; a state that is not known
/// counts as closed, for a breaker that cannot be read must not stop anybody's work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    #[serde(default)]
    version: u32,
    /// The number of the last probe.
    #[serde(default)]
    probes: u64,
    #[serde(flatten)]
    state: Stored,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
enum Stored {
    Closed,
    Open {
        since: Wall,
        until: Wall,
        reason: String,
        #[serde(default)]
        rung: u32,
    },
    HalfOpen {
        probe: ProbeId,
        since: Wall,
        expires: Wall,
        #[serde(default)]
        opened: Wall,
        reason: String,
        #[serde(default)]
        rung: u32,
    },
    #[serde(other)]
    Unknown,
}

/// A reason that is not known is that the provider cannot be used.
fn reason(name: &str) -> Reason {
    Reason::ALL.into_iter().find(|reason| reason.as_str() == name).unwrap_or(Reason::Unavailable)
}

impl From<Record> for Breaker {
    fn from(record: Record) -> Self {
        let state = match record.state {
            Stored::Closed | Stored::Unknown => State::Closed,
            Stored::Open { since, until, reason: name, rung } => {
                State::Open { since, until, reason: reason(&name), rung }
            }
            Stored::HalfOpen { probe, since, expires, opened, reason: name, rung } => {
                State::HalfOpen { probe, since, expires, opened, reason: reason(&name), rung }
            }
        };
        Self { state, probes: record.probes }
    }
}

impl From<Breaker> for Record {
    fn from(breaker: Breaker) -> Self {
        let state = match breaker.state {
            State::Closed => Stored::Closed,
            State::Open { since, until, reason, rung } => {
                Stored::Open { since, until, reason: reason.as_str().to_owned(), rung }
            }
            State::HalfOpen { probe, since, expires, opened, reason, rung } => {
                Stored::HalfOpen { probe, since, expires, opened, reason: reason.as_str().to_owned(), rung }
            }
        };
        Self { version: VERSION, probes: breaker.probes, state }
    }
}
