//! Runs: tasks with all their attempts.
//!
//! Each run has an actor. It gives what happens to the run's machine, stores the run, and only then does what the
//! machine says; so after a crash the next daemon goes on where the record says the last one stopped. Agents are
//! sessions as any others, prompts are messages as any others: both bear names that follow from the run, so that
//! doing something again does it once.

mod actor;
mod batch;
mod breakers;
mod checks;
mod helper;
mod info;
mod minder;
mod owner;
mod record;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ostler_protocol::{ErrorKind, Problem, RunInfo, RunRequest};
use ostler_store::shared::{Kind, SharedError, SharedStore, Swap};
use tokio::sync::{mpsc, watch};

use self::actor::{Command, RunActor, Turn};
use self::batch::Turnstile;
pub(crate) use self::breakers::{providers, reset};
pub(crate) use self::owner::Owner;
use self::record::RunRecord;
use crate::registry::Shared;

/// How long somebody who asks for a run waits until those of an earlier daemon are taken up.
const TAKING_UP: Duration = Duration::from_secs(5);
/// Runs that have ended and can still be looked at.
const KEPT: usize = 200;
/// When to try again to read what the store did not give.
const STORE_RETRY: Duration = Duration::from_secs(1);

/// Runs of which more is known than the record says.
#[derive(Debug, Clone)]
pub(crate) struct Runs {
    known: Arc<Mutex<Known>>,
    /// Those of an earlier daemon are taken up.
    taken_up: watch::Sender<bool>,
}

impl Default for Runs {
    fn default() -> Self {
        Self { known: Arc::default(), taken_up: watch::Sender::new(false) }
    }
}

#[derive(Debug, Default)]
struct Known {
    handles: HashMap<String, Handle>,
    batches: HashMap<String, Turnstile>,
}

/// A ticket to a run's actor.
#[derive(Debug, Clone)]
pub(crate) struct Handle {
    commands: mpsc::Sender<Command>,
    pub(crate) info: watch::Receiver<RunInfo>,
}

impl Runs {
    fn with<T>(&self, look: impl FnOnce(&mut Known) -> T) -> T {
        // The maps are whole between any two statements.
        look(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn remove(&self, id: &str) {
        self.with(|known| {
            known.handles.remove(id);
            known.batches.retain(|_, turnstile| !turnstile.is_idle());
        });
    }

    /// Waits until the runs of an earlier daemon are taken up.
    pub(crate) async fn ready(&self) {
        let mut taken_up = self.taken_up.subscribe();
        let _ = tokio::time::timeout(TAKING_UP, taken_up.wait_for(|done| *done)).await;
    }

    /// The turnstile of a batch.
    fn batch(&self, name: &str, parallel: u32) -> Turnstile {
        let width = usize::try_from(parallel).unwrap_or(usize::MAX);
        self.with(|known| {
            known.batches.entry(name.to_owned()).or_insert_with(|| Turnstile::new(width)).clone()
        })
    }

    /// The run that an id, or the beginning of one, means.
    pub(crate) fn find(&self, id: &str) -> Option<Handle> {
        self.with(|known| {
            let mut meant = known.handles.iter().filter(|(known, _)| known.starts_with(id));
            let only = meant.next().filter(|_| meant.next().is_none()).map(|(_, handle)| handle);
            known.handles.get(id).or(only).cloned()
        })
    }

    fn all(&self) -> Vec<Handle> {
        self.with(|known| known.handles.values().cloned().collect())
    }
}

/// Begins a run, once: the same request again finds it.
pub(crate) async fn begin(shared: &Shared, request: RunRequest) -> Result<RunInfo, Problem> {
    shared.runs.ready().await;
    if let Some(handle) = shared.runs.find(&request.id) {
        return Ok(handle.info.borrow().clone());
    }
    if let Some(known) = recorded(shared, &request.id).await? {
        return Ok(known);
    }
    if !is_plain(&request.id) {
        return Err(Problem::new(ErrorKind::Usage, "a run's id has letters, digits and hyphens only"));
    }
    if request.agents.is_empty() {
        return Err(Problem::new(ErrorKind::Usage, "nobody is named who could do it")
            .hint("name agents with --agent; ostler agents list shows those that are known"));
    }
    let mut record =
        RunRecord::new(request, shared).await.map_err(|error| Problem::new(ErrorKind::Failed, error))?;
    // Whoever has the answer can rely on it: the run is recorded before it begins.
    let (id, value) = (record.request.id.clone(), record.value());
    let version = match shared.common.swap(Kind::Run, &id, 0, &value).await {
        Ok(Swap::Done(version)) => version,
        Ok(Swap::Conflict(_)) => return recorded(shared, &id).await?.ok_or_else(|| unknown(&id)),
        Err(error) => return Err(trouble(&error)),
    };
    let handle = look_after(shared, record, version);
    let info = handle.info.borrow().clone();
    Ok(info)
}

/// Goes on with the runs that an earlier daemon of this home had.
pub(crate) async fn resume(shared: Shared) {
    let found = loop {
        match shared.common.list(Kind::Run).await {
            Ok(found) => break found,
            Err(error) => {
                tracing::error!(%error, "runs cannot be taken up yet");
                tokio::time::sleep(STORE_RETRY).await;
            }
        }
    };
    let mut records = Vec::new();
    for (id, cell) in found {
        match serde_json::from_value::<RunRecord>(cell.value) {
            // Others write to a shared store too, and the id names files here.
            Ok(record) if !is_plain(&record.request.id) => {
                tracing::error!(run = id, "a run has no proper id");
            }
            Ok(record) if record.is_of(&shared) && !record.settled => records.push((record, cell.version)),
            Ok(_) => {}
            Err(error) => tracing::error!(run = id, %error, "a run cannot be read"),
        }
    }
    // Those under way keep their places in their batches; the others wait as before, the oldest first.
    records.sort_by_key(|(record, _)| (record.is_queued(), record.created, record.request.id.clone()));
    for (record, version) in records {
        if let Some((record, version)) = claim(&shared, record, version).await {
            look_after(&shared, record, version);
        }
    }
    shared.runs.taken_up.send_replace(true);
}

/// Takes up a run, unless it is looked after already. The record says so before anything is done: nobody else can then take
/// it up by the name that this home had before, and what was read is still so.
async fn claim(shared: &Shared, mut record: RunRecord, mut version: u64) -> Option<(RunRecord, u64)> {
    let id = record.request.id.clone();
    loop {
        if shared.runs.with(|known| known.handles.contains_key(&id)) {
            return None;
        }
        record.owner = shared.owner.id().to_owned();
        match shared.common.swap(Kind::Run, &id, version, &record.value()).await {
            Ok(Swap::Done(version)) => return Some((record, version)),
            // A last word of the daemon before this one, an answer that was lost, or somebody else.
            Ok(Swap::Conflict(found)) => {
                let found = found?;
                version = found.version;
                record = serde_json::from_value(found.value).ok()?;
                if !record.is_of(shared) || record.settled || record.request.id != id {
                    return None;
                }
            }
            Err(error) => {
                tracing::error!(run = id, %error, "the run cannot be taken up yet");
                tokio::time::sleep(STORE_RETRY).await;
            }
        }
    }
}

/// Gives a run to an actor; one that has an actor keeps it.
fn look_after(shared: &Shared, record: RunRecord, version: u64) -> Handle {
    let id = record.request.id.clone();
    let turn = turn(shared, &record);
    let (actor, handle) = RunActor::new(shared.clone(), record, version, turn);
    let known = shared.runs.with(|known| match known.handles.entry(id) {
        Entry::Occupied(known) => Some(known.get().clone()),
        Entry::Vacant(free) => {
            free.insert(handle.clone());
            None
        }
    });
    known.unwrap_or_else(|| {
        tokio::spawn(actor.run());
        handle
    })
}

fn is_plain(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// When it is a run's turn: one that is under way has its place already.
fn turn(shared: &Shared, record: &RunRecord) -> Turn {
    let Some((name, parallel)) = &record.request.batch else { return Turn::Free };
    let turnstile = shared.runs.batch(name, *parallel);
    match record.is_queued() {
        true => Turn::Asked(turnstile.ask()),
        false if record.is_over() => Turn::Free,
        false => Turn::Place(turnstile.keep()),
    }
}

/// A run from the record alone.
pub(crate) async fn recorded(shared: &Shared, id: &str) -> Result<Option<RunInfo>, Problem> {
    let mut found = list(shared, true).await?;
    found.retain(|run| run.id.starts_with(id));
    Ok(if found.len() == 1 { found.pop() } else { found.into_iter().find(|run| run.id == id) })
}

/// All runs of this home, oldest first.
pub(crate) async fn list(shared: &Shared, all: bool) -> Result<Vec<RunInfo>, Problem> {
    shared.runs.ready().await;
    let mut runs: Vec<RunInfo> =
        shared.runs.all().iter().map(|handle| handle.info.borrow().clone()).collect();
    if all {
        let cells = shared.common.list(Kind::Run).await.map_err(|error| trouble(&error))?;
        for (id, cell) in cells {
            if runs.iter().any(|run| run.id == id) {
                continue;
            }
            if let Ok(record) = serde_json::from_value::<RunRecord>(cell.value)
                && record.is_of(shared)
            {
                runs.push(info::info(&record, cell.version));
            }
        }
    }
    runs.sort_by(|a, b| a.started.cmp(&b.started).then_with(|| a.id.cmp(&b.id)));
    Ok(runs)
}

/// Forgets the oldest of the runs of this home that have ended, beyond those that are kept, and breakers of nobody.
async fn forget_old(shared: &Shared) -> Result<(), SharedError> {
    let mut ended = Vec::new();
    for (id, cell) in shared.common.list(Kind::Run).await? {
        if let Ok(record) = serde_json::from_value::<RunRecord>(cell.value)
            && record.is_of(shared)
            && record.settled
        {
            ended.push((record.ended, id, cell.version));
        }
    }
    ended.sort_unstable();
    let excess = ended.len().saturating_sub(KEPT);
    for (_, id, version) in ended.drain(..excess) {
        shared.common.remove(Kind::Run, &id, version).await?;
    }
    breakers::forget_old(shared).await
}

/// Ends a run.
pub(crate) async fn cancel(shared: &Shared, id: &str) -> Result<RunInfo, Problem> {
    shared.runs.ready().await;
    let Some(mut handle) = shared.runs.find(id) else {
        return match recorded(shared, id).await? {
            Some(run) => Ok(run),
            None => Err(unknown(id)),
        };
    };
    let _ = handle.commands.send(Command::Cancel).await;
    let _ = handle.info.wait_for(RunInfo::is_over).await;
    let info = handle.info.borrow().clone();
    Ok(info)
}

/// No run is called so.
pub(crate) fn unknown(id: &str) -> Problem {
    Problem::new(ErrorKind::NotFound, format!("there is no run {id:?}, or several begin so"))
        .hint("ostler runs list --all shows them")
}

/// Trouble with the shared store, as the client sees it.
pub(crate) fn trouble(error: &SharedError) -> Problem {
    Problem::new(ErrorKind::Storage, format!("the shared store: {error}"))
        .hint("runs go on with what is known; check the server, or --store")
}

#[cfg(test)]
#[path = "runs_tests.rs"]
mod tests;
