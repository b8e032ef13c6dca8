//! Where the agent writes down its conversation.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostler_agents::ConfigDir;
use ostler_session::{Event, TranscriptBatch};

use super::Actor;
use crate::session::provenance::Origin;
use crate::transcript::{Batch, Place, Source, TailState, Written};

impl Actor {
    /// Begins to follow the transcript, where there is one and it is known what it looks like.
    pub(super) fn follow_transcript(&mut self) -> Option<Event<'static>> {
        let preset = &self.session.profile().agent.preset;
        let (Some(spec), Some(pid)) = (&preset.transcript, self.session.pid()) else { return None };
        if self.watcher.is_some() {
            return None;
        }
        let environment = Environment::of(pid);
        let home = environment.get("HOME").map(PathBuf::from).unwrap_or_default();
        let data = environment.get("XDG_DATA_HOME").map_or_else(|| home.join(".local/share"), PathBuf::from);
        let place = Place {
            root: spec.root(&config_dir(&preset.config, &environment, &home), &home, &data),
            cwd: self.record.start.cwd.clone().into(),
            session: self.session.conversation_id().map(str::to_owned),
            path: None,
            started: self.record.began,
        };
        let read = self.session.transcript_read().cloned();
        let read = read.and_then(|read| serde_json::from_value::<TailState>(read).ok());
        let origin = Origin {
            store: self.services.store.clone(),
            runtime: tokio::runtime::Handle::current(),
            session: self.record.start.id.clone(),
            agent: self.record.start.agent.clone().unwrap_or_default(),
            cwd: place.cwd.clone(),
            began: self.record.began,
            pid,
        };
        match self.services.transcripts.watch(spec, place, Arc::new(origin), read) {
            Ok(watcher) => self.watcher = Some(watcher),
            Err(error) => return Some(Event::TranscriptProblem(error.to_string())),
        }
        None
    }

    /// The transcript, where one was found.
    pub(super) fn transcript(&self) -> Option<Source> {
        let spec = self.session.profile().agent.preset.transcript.as_ref()?;
        let state = self.watcher.as_ref()?.state();
        let conversation = self.session.conversation_id().map(str::to_owned);
        Source::found(spec, state, self.record.start.cwd.clone().into(), conversation)
    }
}

/// What a transcript says, for the session.
pub(super) fn event(batch: Batch) -> Event<'static> {
    Event::Transcript(TranscriptBatch {
        facts: batch.facts.into_iter().map(|Written { fact, at }| (fact, at)).collect(),
        state: serde_json::to_value(&batch.state).unwrap_or_default(),
        problem: batch.problem,
    })
}

/// The agent's directory for settings, as its own environment says.
fn config_dir(config: &ConfigDir, environment: &Environment, home: &Path) -> PathBuf {
    let moved = config.env.as_deref().and_then(|name| environment.get(name)).map(PathBuf::from);
    let usual = || match config.dir.as_deref() {
        Some(dir) => dir.strip_prefix("~/").map_or_else(|| PathBuf::from(dir), |rest| home.join(rest)),
        None => home.to_owned(),
    };
    moved.unwrap_or_else(usual)
}

/// The environment that a process was started with.
struct Environment(Vec<u8>);

impl Environment {
    fn of(pid: u32) -> Self {
        Self(std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default())
    }

    fn get(&self, name: &str) -> Option<OsString> {
        self.0.split(|byte| *byte == 0).find_map(|entry| {
            let value = entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
            (!value.is_empty()).then(|| OsString::from_vec(value.to_vec()))
        })
    }
}
