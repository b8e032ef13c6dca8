//! Breakers in the shared store.
//!
//! A run stands before two breakers of a provider: the one of provider and account, which all machines share, and the one
//! of what this machine has of them. Trouble with the store shuts nobody out: what was last known holds, and what was never
//! known is closed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ostler_agents::Launch;
use ostler_core::Wall;
use ostler_core::breaker::{
    AgentReport, Breaker, Breakers, Choice, Key, Probes, Settings, Side, State, Stored, UnavailableProvider,
};
use ostler_protocol::ProviderInfo;
use ostler_store::shared::{AnyShared, Guarantee, Kind, SharedError, SharedStore, Swap, Versioned};
use serde_json::Value;
use tokio::sync::{Mutex, watch};

use super::Owner;
use super::record::{RunRecord, environment};
use crate::home::Home;
use crate::{clock, presets};

/// How often a change is tried that others are faster with.
const TRIES: u32 = 16;
/// Where the value of a breaker says who it is for.
const KEY: &str = "key";
/// A machine's breakers are forgotten when nothing was heard of them for so long: it may not be there any more.
const FORGOTTEN: Duration = Duration::from_hours(30 * 24);

/// The breakers of all providers that runs have used.
#[derive(Debug, Clone)]
pub(crate) struct ProviderBreakers {
    home: Arc<Home>,
    owner: Owner,
    shared_store: AnyShared,
    /// The breakers as they were last known.
    known: Arc<Mutex<Breakers>>,
    /// Counts how often this daemon closed a breaker.
    closed: watch::Sender<u64>,
}

impl ProviderBreakers {
    /// The name of this home, which tells its own breakers from those of other machines.
    pub(super) fn owner_id(&self) -> &str {
        self.owner.id()
    }

    pub(super) fn new(home: Arc<Home>, owner: Owner, shared_store: AnyShared) -> Self {
        Self { home, owner, shared_store, known: Arc::default(), closed: watch::Sender::new(0) }
    }

    /// Changes whenever this daemon closes a breaker: a provider can be used again.
    pub(super) fn closed(&self) -> watch::Receiver<u64> {
        self.closed.subscribe()
    }

    /// Chooses a provider for a run: the first that can be used. The run remembers the accounts.
    pub(super) async fn choose(
        &self,
        record: &mut RunRecord,
        excluding: &[String],
        now: Wall,
    ) -> Result<Choice, Vec<UnavailableProvider>> {
        record.accounts = self.accounts(record).await;
        let keys: Vec<Key> = record.request.agents.iter().map(|provider| key(record, provider)).collect();
        self.choose_of(&keys, excluding, now).await
    }

    /// Chooses among providers with their accounts: the first that can be used.
    pub(super) async fn choose_of(
        &self,
        keys: &[Key],
        excluding: &[String],
        now: Wall,
    ) -> Result<Choice, Vec<UnavailableProvider>> {
        let host = self.owner.id();
        for _ in 0..TRIES {
            let mut breakers = self.known.lock().await;
            let mut versions = BTreeMap::new();
            for key in keys.iter().flat_map(|key| Side::BOTH.map(|side| key.on(side, host))) {
                let version = self.refresh(&mut breakers, &key).await;
                versions.insert(key, version);
            }
            let choice = breakers.choose(keys, host, excluding, now);
            let Ok(Choice { key, probe: Some(probes) }) = &choice else { return choice };
            if self.take(&mut breakers, key, *probes, &versions, now).await {
                return choice;
            }
        }
        Err(Vec::new())
    }

    /// Whether a run that waits could choose a provider now: another machine may have closed a breaker.
    pub(super) async fn can_choose(&self, record: &RunRecord, now: Wall) -> bool {
        let keys: Vec<Key> = record.request.agents.iter().map(|provider| key(record, provider)).collect();
        let host = self.owner.id();
        let mut breakers = self.known.lock().await;
        for key in keys.iter().flat_map(|key| Side::BOTH.map(|side| key.on(side, host))) {
            self.refresh(&mut breakers, &key).await;
        }
        // Only tried: whoever really chooses takes the probe.
        breakers.clone().choose(&keys, host, &[], now).is_ok()
    }

    /// Stores that somebody is a probe. It is one only if nobody else is: the store decides. Where somebody was faster with one
    /// of the breakers, the other one is given back.
    async fn take(
        &self,
        breakers: &mut Breakers,
        key: &Key,
        probes: Probes,
        versions: &BTreeMap<Key, u64>,
        now: Wall,
    ) -> bool {
        let mut taken = Vec::new();
        for side in Side::BOTH {
            let Some(probe) = probes.of(side) else { continue };
            let key = key.on(side, self.owner.id());
            let version = versions.get(&key).copied().unwrap_or(0);
            if let Ok(false) = self.store(&key, &breakers.get(&key), version).await {
                for (key, probe) in taken {
                    self.apply(breakers, &key, |breaker, _| breaker.release(probe, now)).await;
                }
                return false;
            }
            taken.push((key, probe));
        }
        true
    }

    /// Tells both breakers of a provider what became of a run's agent.
    pub(super) async fn report(
        &self,
        record: &RunRecord,
        provider: &str,
        news: AgentReport,
        probes: Option<Probes>,
    ) {
        self.report_of(&key(record, provider), news, probes).await;
    }

    /// Tells both breakers of a provider and an account what became of an agent.
    pub(super) async fn report_of(&self, key: &Key, news: AgentReport, probes: Option<Probes>) {
        let now = clock::now();
        for side in Side::BOTH {
            self.change(&key.on(side, self.owner.id()), |breaker, settings| {
                breaker.on_report(side, news, probes, settings, now);
            })
            .await;
        }
    }

    /// The accounts that a run's agents would use, where they are not the usual ones.
    async fn accounts(&self, record: &RunRecord) -> BTreeMap<String, String> {
        let (home, owner) = (self.home.clone(), self.owner.clone());
        let (id, cwd) = (record.request.id.clone(), record.cwd());
        let providers = record.request.agents.clone();
        let look = move || {
            let inherited: Vec<(OsString, OsString)> = environment(&home, &id)
                .into_iter()
                .map(|(name, value)| (OsString::from(name), OsString::from(value)))
                .collect();
            let registry = presets::load(&home, &cwd).registry;
            let account = |provider: &String| {
                let command = Path::new(provider).file_name()?.to_str()?;
                let agent = registry.get(provider).or_else(|| registry.by_command(command))?;
                let env = Launch::new(&agent.preset, false, None).environment(&inherited);
                agent.preset.account(&env, owner.id())
            };
            providers.iter().filter_map(|provider| Some((provider.clone(), account(provider)?))).collect()
        };
        tokio::task::spawn_blocking(look).await.unwrap_or_default()
    }

    /// Changes a breaker, in the store and here.
    async fn change(&self, key: &Key, change: impl Fn(&mut Breaker, &Settings)) {
        let mut breakers = self.known.lock().await;
        self.apply(&mut breakers, key, change).await;
    }

    async fn apply(&self, breakers: &mut Breakers, key: &Key, change: impl Fn(&mut Breaker, &Settings)) {
        let name = key.name();
        for _ in 0..TRIES {
            let version = self.refresh(breakers, key).await;
            let Some(changed) = breakers.change(key, |breaker, settings| change(breaker, settings)) else {
                return;
            };
            match self.store(key, &changed, version).await {
                Ok(true) => {
                    tracing::info!(breaker = name, state = ?changed.state(), "breaker");
                    if changed.state() == State::Closed {
                        self.closed.send_modify(|count| *count += 1);
                    }
                    return;
                }
                Ok(false) => {}
                Err(error) => return tracing::warn!(breaker = name, %error, "the breaker is not stored"),
            }
        }
    }

    /// Takes in what the store has of a breaker; returns its version.
    async fn refresh(&self, breakers: &mut Breakers, key: &Key) -> u64 {
        let name = key.name();
        match self.shared_store.get(Kind::Breaker, &name).await {
            Ok(None) => {
                breakers.set(key.clone(), Stored::Absent);
                0
            }
            Ok(Some(cell)) => {
                let read = serde_json::from_value(cell.value);
                breakers.set(key.clone(), read.map_or(Stored::Unavailable, Stored::Found));
                cell.version
            }
            Err(error) => {
                tracing::warn!(breaker = name, %error, "the breaker is not known; what was known holds");
                breakers.set(key.clone(), Stored::Unavailable);
                0
            }
        }
    }

    async fn store(&self, key: &Key, breaker: &Breaker, version: u64) -> Result<bool, SharedError> {
        let swap = self.shared_store.swap(Kind::Breaker, &key.name(), version, &value(key, breaker)).await?;
        Ok(matches!(swap, Swap::Done(_)))
    }

    /// All breakers that the store has.
    async fn all(&self) -> Result<Vec<(Key, Versioned)>, SharedError> {
        let found = self.shared_store.list(Kind::Breaker).await?;
        Ok(found.into_iter().map(|(name, cell)| (key_of(&name, &cell.value), cell)).collect())
    }

    /// All providers that something is known of.
    pub(crate) async fn providers(&self) -> Result<Vec<ProviderInfo>, SharedError> {
        let mut found = self.all().await?;
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        let read = |cell: Versioned| serde_json::from_value(cell.value).unwrap_or_default();
        Ok(found.into_iter().map(|(key, cell)| shown(key, read(cell), self.owner.id())).collect())
    }

    /// What the store that they are kept in guarantees.
    pub(crate) async fn guarantee(&self) -> Result<Guarantee, SharedError> {
        self.shared_store.guarantee().await
    }

    /// A person says that a provider can be used: with every account, or with the one that is named. Returns how many
    /// breakers there are of it.
    pub(crate) async fn reset(&self, wanted: Option<&str>) -> Result<usize, SharedError> {
        let is_wanted = |key: &Key| {
            wanted.is_none_or(|wanted| [key.provider.clone(), key.label()].contains(&wanted.to_owned()))
        };
        let mut found = self.all().await?;
        found.retain(|(key, _)| is_wanted(key));
        for (key, _) in &found {
            self.change(key, |breaker, _| breaker.reset()).await;
        }
        Ok(found.len())
    }

    /// Forgets what other machines had that are not heard of any more, or that have nothing to say.
    pub(super) async fn forget_old(&self) -> Result<(), SharedError> {
        for (key, cell) in self.all().await? {
            let breaker: Breaker = serde_json::from_value(cell.value).unwrap_or_default();
            let last = breaker.deadline().map(|deadline| deadline.plus(FORGOTTEN));
            let elsewhere = key.host.as_deref().is_some_and(|host| host != self.owner.id());
            if elsewhere && last.is_none_or(|last| last < clock::now()) {
                self.shared_store.remove(Kind::Breaker, &key.name(), cell.version).await?;
            }
        }
        Ok(())
    }
}

/// A provider with the account that a run uses.
fn key(record: &RunRecord, provider: &str) -> Key {
    Key::of(provider).with_account(record.accounts.get(provider).cloned())
}

/// A breaker for the store, with who it is for.
fn value(key: &Key, breaker: &Breaker) -> Value {
    let mut value = serde_json::to_value(breaker).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.insert(KEY.into(), serde_json::to_value(key).unwrap_or_default());
    }
    value
}

/// Who a breaker in the store is for. One that does not say so, or says what its name does not, is for the provider of that
/// name.
fn key_of(name: &str, value: &Value) -> Key {
    let said = value.get(KEY).and_then(|key| serde_json::from_value::<Key>(key.clone()).ok());
    said.filter(|key| key.name() == name).unwrap_or_else(|| Key::of(name))
}

fn shown(key: Key, breaker: Breaker, here: &str) -> ProviderInfo {
    let (state, reason, until, rung) = match breaker.state() {
        State::Closed => ("closed", None, None, 0),
        State::Open { until, reason, rung, .. } => ("open", Some(reason), Some(until), rung),
        State::HalfOpen { expires, reason, rung, .. } => ("half-open", Some(reason), Some(expires), rung),
    };
    ProviderInfo {
        provider: key.provider,
        account: key.account,
        machine: key.host.map(|host| if host == here { "this".into() } else { host }),
        breaker: state.into(),
        reason: reason.map(|reason| reason.as_str().to_owned()),
        until: until.map(clock::shown),
        rung,
    }
}
