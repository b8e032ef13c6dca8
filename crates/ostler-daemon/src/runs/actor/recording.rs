//! What a run's actor records, and what those who watch the run are told.

use std::time::Duration;

use ostler_core::run::Outcome;
use ostler_store::NewEvent;
use ostler_store::shared::{Kind, SharedStore, Swap};
use serde_json::json;

use super::super::info;
use super::RunActor;
use crate::clock;

/// When to try again to record what the store refused.
const STORE_RETRY: Duration = Duration::from_secs(1);

impl RunActor {
    /// Stores the run; nothing is done before that.
    pub(super) async fn store(&mut self) {
        let id = self.record.request.id.clone();
        let value = self.record.value();
        loop {
            let swap = self.runs.shared_store.swap(Kind::Run, &id, self.version, &value).await;
            match swap {
                Ok(Swap::Done(version)) => {
                    self.version = version;
                    break;
                }
                // Nobody else writes it: an answer of ours was lost.
                Ok(Swap::Conflict(Some(found))) => self.version = found.version,
                // It was cleared: what has ended is not written back.
                Ok(Swap::Conflict(None)) if self.version > 0 && self.record.run.is_final() => break,
                Ok(Swap::Conflict(None)) => self.version = 0,
                Err(error) => {
                    tracing::error!(run = id, %error, "the run waits for its store");
                    self.on_trouble(Some(error.to_string()));
                    tokio::time::sleep(STORE_RETRY).await;
                }
            }
        }
        self.trouble = None;
        self.publish();
    }

    pub(super) fn publish(&self) {
        let mut info = info::info(&self.record, self.version.wrapping_add(self.troubles));
        info.trouble.clone_from(&self.trouble);
        self.info.send_replace(info);
    }

    /// The shared store does not answer, or does again: whoever watches is told.
    pub(super) fn on_trouble(&mut self, trouble: Option<String>) {
        if self.trouble.is_some() != trouble.is_some() {
            self.trouble = trouble;
            self.troubles += 1;
            self.publish();
        }
    }

    pub(super) async fn report(&mut self, outcome: &Outcome) {
        let id = &self.record.request.id;
        tracing::info!(run = id, outcome = outcome.as_str(), "run ended");
        let mut details = json!({ "outcome": outcome.as_str(), "summary": outcome.to_string() });
        if let (Some(committed), Some(details)) = (&self.record.committed, details.as_object_mut()) {
            details.insert("committed".into(), json!(committed));
        }
        self.record_event("run.ended", details).await;
        self.count(format!("run.{}", outcome.as_str())).await;
    }

    pub(super) async fn count(&self, name: String) {
        if let Err(error) = self.runs.store.run(move |store| store.count(&name)).await {
            tracing::warn!(%error, "not counted");
        }
    }

    pub(super) async fn record_event(&self, event: &'static str, mut details: serde_json::Value) {
        if let Some(details) = details.as_object_mut() {
            details.insert("run".into(), json!(self.record.request.id));
        }
        let event = NewEvent { at: clock::now(), session: None, event, details };
        if let Err(error) = self.runs.store.run(move |store| store.record(&event)).await {
            tracing::error!(%error, "not recorded");
        }
    }
}
