//! What is recorded of a run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ostler_core::pre_context::Kind;
use ostler_core::run::{Act, Context, Phase, Run};
use ostler_core::{Usage, Wall};
use ostler_hold::create_private;
use ostler_protocol::{CheckInfo, CommittedWork, OsText, PromptInfo, RunRequest};
use ostler_store::shared::{AnyShared, LARGEST};
use ostler_work::{Changes, Exclude, Limits, Observed, Snapshot};
use serde::{Deserialize, Serialize};

use super::Owner;
use super::helper::HelperPrompt;
use crate::clock;
use crate::home::Home;
use crate::home::put_private;
use crate::presets::exclude;

/// The record is not larger than this, in bytes of JSON: a store has its limits.
const MAX_SIZE: usize = LARGEST / 2;
/// The longest prompt: the record has it several times.
const MAX_PROMPT: usize = 64 << 10;

/// All that is recorded of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RunRecord {
    /// What was asked for. The environment is elsewhere: it has secrets, and this may be on a server.
    pub(super) request: RunRequest,
    /// Whose daemon looks after it.
    pub(super) owner: String,
    /// The accounts that it uses, by provider, where they are not the usual ones.
    #[serde(default)]
    pub(super) accounts: BTreeMap<String, String>,
    pub(super) run: Run,
    /// The act after which the tree was last looked at; what was seen is in a file, for it may be large.
    pub(super) tree: Option<u32>,
    pub(super) checks: Vec<CheckInfo>,
    pub(super) prompts: Vec<PromptInfo>,
    /// What each session has spent.
    pub(super) spent: BTreeMap<String, Usage>,
    /// The act of the last prompt that was recorded.
    pub(super) prompted: u32,
    /// When the prompt that the agent has was sent.
    pub(super) sent: Option<Wall>,
    pub(super) created: Wall,
    pub(super) ended: Option<Wall>,
    /// It has ended, and all that follows from that is done.
    pub(super) settled: bool,
    /// The earlier run of the same task that it continues.
    #[serde(default)]
    pub(super) continues: Option<String>,
    /// What became of the work in its work tree.
    #[serde(default)]
    pub(super) committed: Option<CommittedWork>,
}

impl RunRecord {
    /// A run that has not begun; its environment is put aside.
    pub(super) async fn new(mut request: RunRequest, home: &Home, owner: &Owner) -> Result<Self, String> {
        if request.prompt.len() > MAX_PROMPT {
            return Err(format!(
                "the task is {} bytes long, and {MAX_PROMPT} are allowed; put it into a file and name the file",
                request.prompt.len()
            ));
        }
        let cwd = PathBuf::from(OsString::from(request.cwd.clone()));
        if !cwd.is_dir() {
            return Err(format!("there is no directory {}", cwd.display()));
        }
        let env = std::mem::take(&mut request.env);
        let dir = home.runs().join(&request.id);
        let write = move || put_environment(&dir, &env);
        let written = tokio::task::spawn_blocking(write).await;
        written
            .map_err(|error| error.to_string())?
            .map_err(|error| format!("the run cannot be recorded: {error}"))?;
        Ok(Self {
            run: Run::new(request.prompt.clone(), request.policy.clone()),
            owner: owner.id().to_owned(),
            accounts: BTreeMap::new(),
            request,
            tree: None,
            checks: Vec::new(),
            prompts: Vec::new(),
            spent: BTreeMap::new(),
            prompted: 0,
            sent: None,
            created: clock::now(),
            ended: None,
            settled: false,
            continues: None,
            committed: None,
        })
    }

    /// Whether this daemon looks after it. In its own database there is nobody else's.
    pub(super) fn is_of(&self, owner: &Owner, shared_store: &AnyShared) -> bool {
        shared_store.is_own() || owner.is(&self.owner)
    }

    /// Whether it waits for its turn in a batch.
    pub(super) fn is_queued(&self) -> bool {
        *self.run.phase() == Phase::New
    }

    pub(super) fn is_over(&self) -> bool {
        self.run.outcome().is_some()
    }

    /// The tree was looked at again, if it could be; returns what was known of it before and is of no use any more.
    pub(super) fn take_tree(&mut self, tree: Option<u32>) -> Option<u32> {
        tree?;
        std::mem::replace(&mut self.tree, tree).filter(|before| Some(*before) != tree)
    }

    /// Records what helpers were told.
    pub(super) fn note_helper_prompts(&mut self, act: Act, prompts: Vec<HelperPrompt>) {
        self.prompts.extend(prompts.into_iter().map(|HelperPrompt { to, context, original }| PromptInfo {
            attempt: act.attempt,
            provider: to,
            context: Some(Kind::Helper.as_str().to_owned()),
            contextual: format!("{context}{original}"),
            original,
            proof: None,
        }));
    }

    /// Whether a request is for the same task in the same place.
    pub(super) fn is_same_task(&self, request: &RunRequest) -> bool {
        let known = &self.request;
        let same_text = known.prompt == request.prompt;
        known.task == request.task
            && known.cwd == request.cwd
            && ((known.named && request.named) || same_text)
    }

    /// Records what an agent is told, once for each act.
    pub(super) fn note_prompt(&mut self, act: Act, context: Option<&Context>, prompt: &str) {
        if self.prompted >= act.step {
            return;
        }
        self.prompted = act.step;
        let provider = self.run.agent().map_or_else(String::new, |(_, provider)| provider.to_owned());
        let before = context.map_or("", |context| context.text.as_str());
        self.prompts.push(PromptInfo {
            attempt: act.attempt,
            provider,
            context: context.map(|context| context.kind.as_str().to_owned()),
            original: prompt.to_owned(),
            contextual: format!("{before}{prompt}"),
            proof: None,
        });
    }

    /// The record for the store. Where it is too large, it has less of what was long ago.
    pub(super) fn value(&mut self) -> serde_json::Value {
        loop {
            let size = serde_json::to_vec(self).map_or(0, |bytes| bytes.len());
            let checks = self.checks.len().saturating_sub(1);
            let prompts = self.prompts.len().saturating_sub(1);
            let old_check = self.checks[..checks].iter_mut().find(|check| !check.output.is_empty());
            let old_prompt = self.prompts[..prompts].iter_mut().find(|prompt| !prompt.original.is_empty());
            match (old_check, old_prompt) {
                _ if size <= MAX_SIZE => break,
                (Some(check), _) => check.output.clear(),
                (None, Some(prompt)) => {
                    prompt.original.clear();
                    prompt.contextual.clear();
                }
                (None, None) => break,
            }
        }
        serde_json::to_value(&*self).unwrap_or_default()
    }

    pub(super) fn cwd(&self) -> PathBuf {
        PathBuf::from(OsString::from(self.request.cwd.clone()))
    }

    /// The id of the session of an agent.
    pub(super) fn session_id(&self, agent: Act) -> String {
        format!("{}-{}", self.request.id, agent.step)
    }

    /// The id of the message of a delivery.
    pub(super) fn message_id(&self, act: Act) -> String {
        format!("run-{}-{}", short(&self.request.id), act.step)
    }

    pub(super) fn usage(&self) -> Usage {
        self.spent.values().copied().fold(Usage::default(), Usage::plus)
    }
}

/// The end of an id, enough for people.
pub(super) fn short(id: &str) -> &str {
    id.get(id.len().saturating_sub(6)..).unwrap_or(id)
}

fn put_environment(dir: &Path, env: &[(OsText, OsText)]) -> std::io::Result<()> {
    create_private(dir)?;
    put_private(&dir.join("environment.json"), &serde_json::to_vec(env)?)
}

/// Looks at the tree, and keeps what was seen under this number.
pub(super) async fn look(home: &Home, id: &str, cwd: &Path, exclude: &Exclude, number: u32) -> Option<u32> {
    let snapshot = ostler_work::snapshot(cwd, exclude, Limits::default()).await;
    let snapshot =
        snapshot.inspect_err(|error| tracing::warn!(run = id, %error, "the tree is not observed")).ok()?;
    keep(home, id, snapshot, number).await
}

/// Looks at the tree again, and keeps what was seen under this number: what has changed since, if that can be told.
pub(super) async fn look_again(
    home: &Home,
    id: &str,
    cwd: &Path,
    before: Option<u32>,
    number: u32,
) -> (Option<Changes>, Option<u32>) {
    let exclude = exclude(home, cwd);
    let Some(before) = before.and_then(|number| seen(home, id, number)) else {
        return (None, look(home, id, cwd, &exclude, number).await);
    };
    match ostler_work::changes(cwd, &before, &exclude, Limits::default()).await {
        Ok(Observed { changes, now }) => (Some(changes), keep(home, id, now, number).await),
        Err(error) => {
            tracing::warn!(run = id, %error, "what has changed is not known");
            (None, look(home, id, cwd, &exclude, number).await)
        }
    }
}

async fn keep(home: &Home, id: &str, snapshot: Snapshot, number: u32) -> Option<u32> {
    let file = home.runs().join(id).join(format!("tree-{number}.json"));
    let write = move || put_private(&file, &serde_json::to_vec(&snapshot)?);
    let written = tokio::task::spawn_blocking(write).await.map_err(std::io::Error::other).flatten();
    match written {
        Ok(()) => Some(number),
        Err(error) => {
            tracing::warn!(run = id, %error, "what was seen of the tree is not kept");
            None
        }
    }
}

/// What was seen of the tree.
fn seen(home: &Home, id: &str, number: u32) -> Option<Snapshot> {
    let file = home.runs().join(id).join(format!("tree-{number}.json"));
    std::fs::read(file).ok().and_then(|text| serde_json::from_slice(&text).ok())
}

/// Forgets what was seen before.
pub(super) fn forget_seen(home: &Home, id: &str, number: u32) {
    let _ = std::fs::remove_file(home.runs().join(id).join(format!("tree-{number}.json")));
}

/// The environment that a run was asked for in.
pub(super) fn environment(home: &Home, id: &str) -> Vec<(OsText, OsText)> {
    let file = home.runs().join(id).join("environment.json");
    std::fs::read(file).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

/// Forgets the environment of a run that has ended.
pub(super) fn forget_environment(home: &Home, id: &str) {
    let _ = std::fs::remove_dir_all(home.runs().join(id));
}
