//! Breakers in the shared store.
//!
//! Trouble with the store shuts nobody out: what was last known holds, and what was never known is closed.

use ostler_core::Timestamp;
use ostler_core::breaker::{Breaker, Breakers, Choice, Key, Settings, Shut, State, Stored};
use ostler_protocol::ProviderInfo;
use ostler_store::shared::{Kind, SharedError, SharedStore, Swap};

use crate::clock;
use crate::registry::Shared;

/// How often a change is tried that others are faster with.
const TRIES: u32 = 16;

/// Chooses a provider: the first that can be used.
pub(super) async fn choose(
    shared: &Shared,
    providers: &[String],
    excluding: &[String],
    now: Timestamp,
) -> Result<Choice, Vec<Shut>> {
    let keys: Vec<Key> = providers.iter().map(Key::of).collect();
    for _ in 0..TRIES {
        let mut breakers = shared.breakers.lock().await;
        let mut versions = Vec::new();
        for key in &keys {
            let version = learn(shared, &mut breakers, key).await;
            versions.push(version);
        }
        let choice = breakers.choose(&keys, excluding, now);
        let Ok(Choice { key, probe: Some(_) }) = &choice else { return choice };
        // A probe is one only if nobody else has it: the store decides.
        let index = keys.iter().position(|known| known == key).unwrap_or(0);
        match store(shared, key, &breakers.get(key), versions[index]).await {
            Ok(true) | Err(_) => return choice,
            Ok(false) => {}
        }
    }
    Err(Vec::new())
}

/// Changes a breaker, in the store and here.
pub(super) async fn change(shared: &Shared, provider: &str, change: impl Fn(&mut Breaker, &Settings)) {
    let key = Key::of(provider);
    let mut breakers = shared.breakers.lock().await;
    for _ in 0..TRIES {
        let version = learn(shared, &mut breakers, &key).await;
        let Some(changed) = breakers.change(&key, |breaker, settings| change(breaker, settings)) else {
            return;
        };
        match store(shared, &key, &changed, version).await {
            Ok(true) => {
                tracing::info!(provider, state = ?changed.state(), "breaker");
                return;
            }
            Ok(false) => {}
            Err(error) => return tracing::warn!(provider, %error, "the breaker is not stored"),
        }
    }
}

/// Takes in what the store has of a breaker; returns its version.
async fn learn(shared: &Shared, breakers: &mut Breakers, key: &Key) -> u64 {
    match shared.common.get(Kind::Breaker, &key.provider).await {
        Ok(None) => {
            breakers.learn(key.clone(), Stored::Absent);
            0
        }
        Ok(Some(cell)) => {
            let read = serde_json::from_value(cell.value);
            breakers.learn(key.clone(), read.map_or(Stored::Unavailable, Stored::Found));
            cell.version
        }
        Err(error) => {
            tracing::warn!(provider = key.provider, %error, "the breaker is not known; what was known holds");
            breakers.learn(key.clone(), Stored::Unavailable);
            0
        }
    }
}

async fn store(shared: &Shared, key: &Key, breaker: &Breaker, version: u64) -> Result<bool, SharedError> {
    let value = serde_json::to_value(breaker).unwrap_or_default();
    let swap = shared.common.swap(Kind::Breaker, &key.provider, version, &value).await?;
    Ok(matches!(swap, Swap::Done(_)))
}

/// All providers that something is known of.
pub(crate) async fn providers(shared: &Shared) -> Result<Vec<ProviderInfo>, SharedError> {
    let found = shared.common.list(Kind::Breaker).await?;
    let mut providers: Vec<ProviderInfo> = found
        .into_iter()
        .map(|(provider, cell)| shown(provider, serde_json::from_value(cell.value).unwrap_or_default()))
        .collect();
    providers.sort_by(|a, b| a.provider.cmp(&b.provider));
    Ok(providers)
}

fn shown(provider: String, breaker: Breaker) -> ProviderInfo {
    let (state, reason, until, rung) = match breaker.state() {
        State::Closed => ("closed", None, None, 0),
        State::Open { until, reason, rung, .. } => ("open", Some(reason), Some(until), rung),
        State::HalfOpen { expires, reason, rung, .. } => ("half-open", Some(reason), Some(expires), rung),
    };
    ProviderInfo {
        provider,
        breaker: state.into(),
        reason: reason.map(|reason| reason.as_str().to_owned()),
        until: until.map(clock::shown),
        rung,
    }
}

/// A person says that a provider can be used.
pub(crate) async fn reset(shared: &Shared, provider: Option<&str>) -> Result<(), SharedError> {
    let known = shared.common.list(Kind::Breaker).await?;
    for (name, _) in known.into_iter().filter(|(name, _)| provider.is_none_or(|wanted| wanted == name)) {
        change(shared, &name, |breaker, _| breaker.reset()).await;
    }
    Ok(())
}
