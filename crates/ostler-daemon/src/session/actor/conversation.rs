//! What the agent writes down of its conversation.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use ostler_agents::ConfigDir;
use ostler_agents::transcript::TranscriptSpec;
use ostler_core::State;
use ostler_core::delivery::Witness;
use ostler_core::detector::{Event, Reporter};
use ostler_core::{Fact, Usage};

use super::Actor;
use crate::clock;
use crate::continuity::Told;
use crate::transcript::{Batch, Place, TailState, Watcher, Written};

/// Follows the transcript of a session, where its agent has one.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    watcher: Option<Watcher>,
    /// How far it was read, and by an earlier daemon if there is no watcher yet.
    pub(super) read: Option<TailState>,
    /// What was spent so far.
    pub(super) usage: Usage,
    /// What was said of late.
    pub(super) told: Told,
    /// The transcript is read, and tells what the agent says.
    pub(super) tells_replies: bool,
    /// Why the transcript is not read.
    pub(super) problem: Option<String>,
}

impl Conversation {
    /// A conversation that an earlier daemon has read up to here.
    pub(super) fn resumed(read: Option<TailState>, told: Told, usage: Usage, tells_replies: bool) -> Self {
        Self { read, usage, told, tells_replies, ..Self::default() }
    }

    /// What is left of it at the end: what was said of late, and where there may be more.
    pub(super) fn ended(&mut self) -> (Told, Option<Watcher>) {
        (std::mem::take(&mut self.told), self.watcher.take())
    }

    /// Waits for news; for ever where there is no transcript.
    pub(super) async fn news(&mut self) -> Option<Batch> {
        Some(self.watcher.as_mut()?.next().await)
    }

    /// Tells whether the agent is at work: while it is not, nobody looks for files by the clock.
    pub(super) fn set_active(&mut self, state: State) {
        if let Some(watcher) = &mut self.watcher {
            watcher.set_active(!matches!(state, State::Idle | State::Watching | State::Unknown));
        }
    }
}

impl Actor {
    /// Begins to follow the transcript, once it is known what it looks like.
    pub(super) fn follow_conversation(&mut self) {
        let preset = &self.known.agent.preset;
        let (Some(spec), Some(pid)) = (&preset.transcript, self.record.pid) else { return };
        if self.conversation.watcher.is_some() {
            return;
        }
        let environment = Environment::of(pid);
        let home = environment.get("HOME").map(PathBuf::from).unwrap_or_default();
        let data = environment.get("XDG_DATA_HOME").map_or_else(|| home.join(".local/share"), PathBuf::from);
        let place = Place {
            root: spec.root(&config_dir(&preset.config, &environment, &home), &home, &data),
            cwd: self.record.start.cwd.clone().into(),
            session: None,
            path: None,
            started: self.record.start.created,
        };
        match self.shared.transcripts.watch(spec, place, self.conversation.read.clone()) {
            Ok(watcher) => self.conversation.watcher = Some(watcher),
            Err(error) => self.conversation.problem = Some(error.to_string()),
        }
        self.conversation.set_active(self.observer.detector().verdict().state);
    }

    /// A hook said where the transcript is, and what the agent calls the conversation.
    pub(super) fn name_conversation(&mut self, path: Option<String>, session: Option<String>) {
        if let Some(watcher) = &mut self.conversation.watcher {
            watcher.named(path.map(PathBuf::from), session);
        }
    }

    /// Learns what the transcript says.
    pub(super) async fn on_conversation(&mut self, batch: Batch) {
        self.conversation.read = Some(batch.state);
        if let Some(problem) = &batch.problem {
            tracing::warn!(session = %self.record.start.name, problem, "transcript");
        }
        self.conversation.tells_replies &= batch.problem.is_none();
        self.conversation.problem = batch.problem;
        for Written { fact, at } in batch.facts {
            if let Fact::Used(usage) = &fact {
                let total = &mut self.conversation.usage;
                total.input += usage.input;
                total.cached += usage.cached;
                total.output += usage.output;
                total.cost_micros += usage.cost_micros;
            }
            let (prompt, said) = match &fact {
                Fact::PromptSubmitted { text } => (Some(text.clone()), None),
                Fact::Said { text } => (None, Some(text.clone())),
                _ => (None, None),
            };
            // Where the prompt is, the reply will be.
            let spec = self.known.agent.preset.transcript.as_ref();
            let expects_reply = prompt.is_some() && spec.is_some_and(TranscriptSpec::tells_replies);
            self.conversation.tells_replies |= said.is_some() || expects_reply;
            self.conversation.told.hear(&fact);
            self.learn(match at {
                Some(at) => Event::Written { fact, at: clock::steady().minus(clock::now().since(at)) },
                None => Event::Reported(Reporter::Transcript, fact),
            })
            .await;
            if let Some(text) = prompt {
                self.on_prompt(Witness::Transcript, text.as_deref()).await;
            }
            if let Some(text) = said {
                self.hear(&text).await;
                // A message may have waited for a confirmation.
                self.deliver(None).await;
            }
        }
    }
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
