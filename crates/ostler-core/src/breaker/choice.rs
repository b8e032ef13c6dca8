//! Choosing among providers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Admission, Breaker, ProbeId, Probes, Reason, Settings, Side};
use crate::Wall;

/// Who a breaker is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Key {
    /// The provider.
    pub provider: String,
    /// The account, where it is not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The machine, where the breaker is for what one machine has of the provider: its login, its program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl Key {
    /// A provider with its usual account.
    pub fn of(provider: impl Into<String>) -> Self {
        Self { provider: provider.into(), account: None, host: None }
    }

    /// The same with an account.
    #[must_use]
    pub fn with_account(self, account: Option<String>) -> Self {
        Self { account, ..self }
    }

    /// The breaker of one side: the provider's, or the one of what this machine has of it.
    #[must_use]
    pub fn on(&self, side: Side, host: &str) -> Self {
        Self { host: (side == Side::Host).then(|| host.to_owned()), ..self.clone() }
    }

    /// Provider and account, for people.
    pub fn label(&self) -> String {
        let account = self.account.iter().map(|account| format!("@{account}"));
        account.fold(self.provider.clone(), |label, account| label + &account)
    }

    /// What its breaker is called in a store: the provider's name where there is nothing else.
    pub fn name(&self) -> String {
        match &self.host {
            Some(host) => {
                format!("{}@{}+{host}", self.provider, self.account.as_deref().unwrap_or_default())
            }
            None => self.label(),
        }
    }
}

/// What the store said of a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// The breaker as it is stored.
    Found(Breaker),
    /// There is none.
    Absent,
    /// The store could not be asked, or what it has cannot be read.
    Unavailable,
}

/// The provider to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The breaker.
    pub key: Key,
    /// It is a probe: say what became of it.
    pub probe: Option<Probes>,
}

/// A provider that cannot be used now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnavailableProvider {
    /// The provider.
    pub provider: String,
    /// The reason, for people.
    pub reason: Reason,
    /// When it can be tried again.
    pub until: Wall,
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
    pub fn set(&mut self, key: Key, stored: Stored) {
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

    /// The first of the providers, the best first, that can be used from this machine and is not excluded; or why none
    /// can be used. The breakers of a probe are half open afterwards, and have to be stored.
    pub fn choose(
        &mut self,
        providers: &[Key],
        host: &str,
        excluding: &[String],
        now: Wall,
    ) -> Result<Choice, Vec<UnavailableProvider>> {
        let mut shut = Vec::new();
        for key in providers {
            let both = Side::BOTH.map(|side| key.on(side, host));
            if let Some((reason, until)) = self.refusal(&both, now) {
                shut.push(UnavailableProvider { provider: key.provider.clone(), reason, until });
            } else if !excluding.contains(&key.provider) {
                let [provider, host] = both.map(|key| self.admit(&key, now));
                return Ok(Choice { key: key.clone(), probe: Probes::new(provider, host) });
            }
        }
        Err(shut)
    }

    /// Why one of these breakers lets nobody through, and until when. What a person has to see to goes before what
    /// passes.
    fn refusal(&self, keys: &[Key], now: Wall) -> Option<(Reason, Wall)> {
        let refused = keys.iter().filter_map(|key| match self.get(key).would_admit(now) {
            Admission::Refused { until, reason } => Some((reason, until)),
            Admission::Free | Admission::Probe(_) => None,
        });
        refused.reduce(|one, other| {
            let until = one.1.max(other.1);
            (if one.0.passes() { other.0 } else { one.0 }, until)
        })
    }

    fn admit(&mut self, key: &Key, now: Wall) -> Option<ProbeId> {
        let mut probe = None;
        let _ = self.change(key, |breaker, settings| {
            if let Admission::Probe(id) = breaker.admit(settings, now) {
                probe = Some(id);
            }
        });
        probe
    }
}
