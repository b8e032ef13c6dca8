//! Choosing among providers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Admission, Breaker, ProbeId, Reason, Settings};
use crate::Timestamp;

/// Who a breaker is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Key {
    /// The provider.
    pub provider: String,
    /// The account, where one provider is used with several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
}

impl Key {
    /// A provider with its only account.
    pub fn of(provider: impl Into<String>) -> Self {
        Self { provider: provider.into(), account: None }
    }
}

/// What the store said of a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// This.
    Found(Breaker),
    /// There is none.
    Absent,
    /// The store could not be asked, or what it has cannot be read.
    Unavailable,
}

/// The provider to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Which.
    pub key: Key,
    /// It is a probe: say what became of it.
    pub probe: Option<ProbeId>,
}

/// A provider that cannot be used now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shut {
    /// Which.
    pub provider: String,
    /// Why.
    pub reason: Reason,
    /// When it can be tried again.
    pub until: Timestamp,
}

/// The breakers of all providers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Breakers {
    settings: Settings,
    known: BTreeMap<Key, Breaker>,
}

impl Breakers {
    /// Breakers of which nothing is known: all closed.
    pub fn new(settings: Settings) -> Self {
        Self { settings, known: BTreeMap::new() }
    }

    /// The settings of all breakers.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Takes in what the store said. A store in trouble changes nothing: it must not shut out every provider.
    pub fn learn(&mut self, key: Key, stored: Stored) {
        match stored {
            Stored::Found(breaker) => {
                self.known.insert(key, breaker);
            }
            Stored::Absent => {
                self.known.remove(&key);
            }
            Stored::Unavailable => {}
        }
    }

    /// One breaker; closed if nothing is known of it.
    pub fn get(&self, key: &Key) -> Breaker {
        self.known.get(key).copied().unwrap_or_default()
    }

    /// Every breaker that is known.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Breaker)> {
        self.known.iter()
    }

    /// Changes one breaker; the answer is how it is to be stored, if it is different now.
    #[must_use]
    pub fn change(&mut self, key: &Key, change: impl FnOnce(&mut Breaker, &Settings)) -> Option<Breaker> {
        let before = self.get(key);
        let mut breaker = before;
        change(&mut breaker, &self.settings);
        if breaker == before {
            return None;
        }
        self.known.insert(key.clone(), breaker);
        Some(breaker)
    }

    /// The first of the providers, the best first, that can be used and is not excluded; or why none can be used.
    /// The breaker of a probe is half open afterwards, and has to be stored.
    pub fn choose(
        &mut self,
        providers: &[Key],
        excluding: &[String],
        now: Timestamp,
    ) -> Result<Choice, Vec<Shut>> {
        let mut shut = Vec::new();
        for key in providers {
            let excluded = excluding.contains(&key.provider);
            let mut admission = self.get(key).would_admit(now);
            if !excluded {
                let _ = self.change(key, |breaker, settings| admission = breaker.admit(settings, now));
            }
            match admission {
                Admission::Free | Admission::Probe(_) if excluded => {}
                Admission::Free => return Ok(Choice { key: key.clone(), probe: None }),
                Admission::Probe(probe) => return Ok(Choice { key: key.clone(), probe: Some(probe) }),
                Admission::Refused { until, reason } => {
                    shut.push(Shut { provider: key.provider.clone(), reason, until });
                }
            }
        }
        Err(shut)
    }

    /// When the first breaker has something else to say.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.known.values().filter_map(Breaker::deadline).min()
    }
}
