//! What is recorded of a run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ostler_core::run::{Act, Run};
use ostler_core::{Timestamp, Usage};
use ostler_hold::create_private;
use ostler_protocol::{CheckInfo, OsText, PromptInfo, RunRequest};
use ostler_work::{Exclude, Limits, Snapshot};
use serde::{Deserialize, Serialize};

use crate::registry::Shared;
use crate::{clock, presets};

/// All that is recorded of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RunRecord {
    /// What was asked for. The environment is elsewhere: it has secrets, and this may be on a server.
    pub(super) request: RunRequest,
    /// Whose daemon looks after it.
    pub(super) owner: String,
    pub(super) run: Run,
    /// The tree when it was last looked at.
    pub(super) snapshot: Option<Snapshot>,
    pub(super) checks: Vec<CheckInfo>,
    pub(super) prompts: Vec<PromptInfo>,
    /// What each session has spent.
    pub(super) spent: BTreeMap<String, Usage>,
    pub(super) created: Timestamp,
    pub(super) ended: Option<Timestamp>,
}

impl RunRecord {
    /// A run that has not begun; its environment is put aside.
    pub(super) async fn new(mut request: RunRequest, shared: &Shared) -> Result<Self, String> {
        let env = std::mem::take(&mut request.env);
        let dir = shared.home.runs().join(&request.id);
        let write = move || put_environment(&dir, &env);
        let written = tokio::task::spawn_blocking(write).await;
        written
            .map_err(|error| error.to_string())?
            .map_err(|error| format!("the run cannot be recorded: {error}"))?;
        let cwd = PathBuf::from(OsString::from(request.cwd.clone()));
        if !cwd.is_dir() {
            return Err(format!("there is no directory {}", cwd.display()));
        }
        let snapshot = ostler_work::snapshot(&cwd, &exclude(shared, &cwd), Limits::default()).await;
        let snapshot = snapshot.inspect_err(|error| tracing::warn!(%error, "the tree is not observed")).ok();
        Ok(Self {
            run: Run::new(request.prompt.clone(), request.policy.clone()),
            owner: owner(shared),
            request,
            snapshot,
            checks: Vec::new(),
            prompts: Vec::new(),
            spent: BTreeMap::new(),
            created: clock::now(),
            ended: None,
        })
    }

    /// Whether this daemon looks after it.
    pub(super) fn is_of(&self, shared: &Shared) -> bool {
        self.owner == owner(shared)
    }

    pub(super) fn is_over(&self) -> bool {
        self.run.outcome().is_some()
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
        self.spent.values().fold(Usage::default(), |sum, spent| Usage {
            input: sum.input + spent.input,
            cached: sum.cached + spent.cached,
            output: sum.output + spent.output,
            cost_micros: sum.cost_micros + spent.cost_micros,
        })
    }
}

/// The end of an id, enough for people.
pub(super) fn short(id: &str) -> &str {
    id.get(id.len().saturating_sub(6)..).unwrap_or(id)
}

/// What agents leave in a tree that is no work of theirs.
pub(super) fn exclude(shared: &Shared, cwd: &Path) -> Exclude {
    let registry = presets::load(&shared.home, cwd).registry;
    let scratch = registry.agents().flat_map(|agent| agent.preset.run.scratch.clone());
    Exclude::new(scratch.chain([".ostler".to_owned()]))
}

/// Names the daemon of one home on one machine.
fn owner(shared: &Shared) -> String {
    let host = rustix::system::uname();
    format!("{}:{}", host.nodename().to_string_lossy(), shared.home.path().display())
}

fn put_environment(dir: &Path, env: &[(OsText, OsText)]) -> std::io::Result<()> {
    create_private(dir)?;
    let file = dir.join("environment.json");
    let mut open =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file)?;
    open.write_all(&serde_json::to_vec(env)?)?;
    open.sync_all()
}

/// The environment that a run was asked for in.
pub(super) fn environment(shared: &Shared, id: &str) -> Vec<(OsText, OsText)> {
    let file = shared.home.runs().join(id).join("environment.json");
    std::fs::read(file).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

/// Forgets the environment of a run that has ended.
pub(super) fn forget_environment(shared: &Shared, id: &str) {
    let _ = std::fs::remove_dir_all(shared.home.runs().join(id));
}
