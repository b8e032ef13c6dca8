//! Runs: tasks with all their attempts.
//!
//! Each run has an actor. It gives what happens to the run's machine, stores the run, and only then does what the
//! machine says; so after a crash the next daemon goes on where the record says the last one stopped. Agents are
//! sessions as any others, prompts are messages as any others: both bear names that follow from the run, so that
//! doing something again does it once.

mod actor;
mod batch;
mod breakers;
mod committing;
mod ended_agent;
mod helper;
mod info;
mod last_words;
mod neighbours;
mod owner;
mod record;
mod watch_agent;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ostler_core::run::{Earlier, Outcome};
use ostler_protocol::{Code, ErrorKind, Problem, RunInfo, RunRequest};
use ostler_store::StoreHandle;
use ostler_store::shared::{AnyShared, Kind, SharedError, SharedStore, Swap};
use tokio::sync::{mpsc, watch};

use self::actor::{Command, RunActor, Turn};
use self::batch::Turnstile;
pub(crate) use self::breakers::ProviderBreakers;
use self::helper::Helpers;
use self::neighbours::Neighbour;
pub(crate) use self::owner::Owner;
use self::record::RunRecord;
use crate::home::Home;
use crate::sessions::Sessions;
use crate::starter::Starter;

/// How long somebody who asks for a run waits until those of an earlier daemon are taken up.
const TAKING_UP: Duration = Duration::from_secs(5);
/// Runs that have ended and can still be looked at.
const KEPT: usize = 200;
/// How long a store that is shared with others may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// When to try again to read what the store did not give.
const STORE_RETRY: Duration = Duration::from_secs(1);

/// All runs of this home.
#[derive(Debug, Clone)]
pub(crate) struct Runs {
    home: Arc<Home>,
    /// The name of the home in what is shared.
    owner: Owner,
    store: StoreHandle,
    /// Where runs and breakers are, perhaps with those of other machines.
    shared_store: AnyShared,
    sessions: Sessions,
    starter: Starter,
    breakers: ProviderBreakers,
    helpers: Helpers,
    known: Arc<Mutex<RunTable>>,
    /// Those of an earlier daemon are taken up.
    taken_up: watch::Sender<bool>,
}

/// Runs of which more is known than the record says.
#[derive(Debug, Default)]
struct RunTable {
    handles: HashMap<String, Handle>,
    batches: HashMap<String, Turnstile>,
}

/// A ticket to a run's actor.
#[derive(Debug, Clone)]
pub(crate) struct Handle {
    commands: mpsc::Sender<Command>,
    pub(crate) info: watch::Receiver<RunInfo>,
    /// Where it works, and when.
    place: Arc<Neighbour>,
}

impl Runs {
    pub(crate) fn new(owner: Owner, shared_store: AnyShared, starter: Starter) -> Self {
        let Starter { home, store, sessions, executable, .. } = starter.clone();
        let breakers = ProviderBreakers::new(home.clone(), owner.clone(), shared_store.clone());
        let helpers = Helpers { home: home.clone(), executable, breakers: breakers.clone() };
        Self {
            home,
            owner,
            store,
            shared_store,
            sessions,
            starter,
            breakers,
            helpers,
            known: Arc::default(),
            taken_up: watch::Sender::new(false),
        }
    }

    /// The breakers of the providers that runs use.
    pub(crate) fn breakers(&self) -> &ProviderBreakers {
        &self.breakers
    }

    fn with<T>(&self, look: impl FnOnce(&mut RunTable) -> T) -> T {
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

    /// Begins a run, once: the same request again finds it.
    pub(crate) async fn begin(&self, request: RunRequest) -> Result<RunInfo, Problem> {
        self.ready().await;
        if let Some(handle) = self.find(&request.id) {
            return Ok(handle.info.borrow().clone());
        }
        if let Some(known) = self.recorded(&request.id).await? {
            return Ok(known);
        }
        if !is_plain(&request.id) {
            return Err(Problem::new(ErrorKind::Usage, "a run's id has letters, digits and hyphens only"));
        }
        if request.agents.is_empty() {
            return Err(Problem::new(ErrorKind::Usage, "no agent was given").code(Code::NoAgentGiven));
        }
        self.refuse_neighbours(&request)?;
        let earlier = if request.fresh { None } else { self.earlier(&request).await? };
        let mut record = RunRecord::new(request, &self.home, &self.owner)
            .await
            .map_err(|error| Problem::new(ErrorKind::Failed, error))?;
        if let Some((run, earlier)) = earlier {
            record.continues = Some(run);
            record.run = record.run.continuing(earlier);
        }
        // Whoever has the answer can rely on it: the run is recorded before it begins.
        let (id, value) = (record.request.id.clone(), record.value());
        let version = match self.shared_store.swap(Kind::Run, &id, 0, &value).await {
            Ok(Swap::Done(version)) => version,
            Ok(Swap::Conflict(_)) => return self.recorded(&id).await?.ok_or_else(|| no_such_run(&id)),
            Err(error) => return Err(shared_store_problem(&error)),
        };
        let handle = self.spawn_actor(record, version);
        let info = handle.info.borrow().clone();
        Ok(info)
    }

    /// Goes on with the runs that an earlier daemon of this home had.
    pub(crate) async fn resume(self) {
        let found = loop {
            match self.shared_store.list(Kind::Run).await {
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
                Ok(record) if record.is_of(&self.owner, &self.shared_store) && !record.settled => {
                    records.push((record, cell.version));
                }
                Ok(_) => {}
                Err(error) => tracing::error!(run = id, %error, "a run cannot be read"),
            }
        }
        // Those under way keep their places in their batches; the others wait as before, the oldest first.
        records.sort_by_key(|(record, _)| (record.is_queued(), record.created, record.request.id.clone()));
        for (record, version) in records {
            if let Some((record, version)) = self.claim(record, version).await {
                self.spawn_actor(record, version);
            }
        }
        self.taken_up.send_replace(true);
    }

    /// Takes up a run, unless it is looked after already. The record says so before anything is done: nobody else can then take
    /// it up by the name that this home had before, and what was read is still so.
    async fn claim(&self, mut record: RunRecord, mut version: u64) -> Option<(RunRecord, u64)> {
        let id = record.request.id.clone();
        loop {
            if self.with(|known| known.handles.contains_key(&id)) {
                return None;
            }
            record.owner = self.owner.id().to_owned();
            match self.shared_store.swap(Kind::Run, &id, version, &record.value()).await {
                Ok(Swap::Done(version)) => return Some((record, version)),
                // A last word of the daemon before this one, an answer that was lost, or somebody else.
                Ok(Swap::Conflict(found)) => {
                    let found = found?;
                    version = found.version;
                    record = serde_json::from_value(found.value).ok()?;
                    if !record.is_of(&self.owner, &self.shared_store)
                        || record.settled
                        || record.request.id != id
                    {
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
    fn spawn_actor(&self, record: RunRecord, version: u64) -> Handle {
        let id = record.request.id.clone();
        let turn = self.turn(&record);
        let (actor, handle) = RunActor::new(self.clone(), record, version, turn);
        let known = self.with(|known| match known.handles.entry(id) {
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

    /// When it is a run's turn: one that is under way has its place already.
    fn turn(&self, record: &RunRecord) -> Turn {
        let Some((name, parallel)) = &record.request.batch else { return Turn::Free };
        let turnstile = self.batch(name, *parallel);
        match record.is_queued() {
            true => Turn::Asked(turnstile.ask()),
            false if record.is_over() => Turn::Free,
            false => Turn::Place(turnstile.keep()),
        }
    }

    /// A run from the record alone.
    pub(crate) async fn recorded(&self, id: &str) -> Result<Option<RunInfo>, Problem> {
        let mut found = self.list(true).await?;
        found.retain(|run| run.id.starts_with(id));
        Ok(if found.len() == 1 { found.pop() } else { found.into_iter().find(|run| run.id == id) })
    }

    /// Why a store that is shared with others does not answer, if it does not.
    pub(crate) async fn store_trouble(&self, id: &str) -> Option<String> {
        if self.shared_store.is_own() {
            return None;
        }
        match tokio::time::timeout(PATIENCE, self.shared_store.get(Kind::Run, id)).await {
            Ok(found) => found.err().map(|error| error.to_string()),
            Err(_) => Some("it does not answer".into()),
        }
    }

    /// All runs of this home, oldest first.
    pub(crate) async fn list(&self, all: bool) -> Result<Vec<RunInfo>, Problem> {
        self.ready().await;
        let live = self.all();
        let live = live.iter().map(|handle| handle.info.borrow().clone());
        // One that has ended may still have something to clear away; one that waits for a person goes on.
        let goes_on = |run: &RunInfo| matches!(run.outcome, None | Some(Outcome::Blocked { .. }));
        let mut runs: Vec<RunInfo> = live.filter(|run| all || goes_on(run)).collect();
        if all {
            let cells =
                self.shared_store.list(Kind::Run).await.map_err(|error| shared_store_problem(&error))?;
            for (id, cell) in cells {
                if runs.iter().any(|run| run.id == id) {
                    continue;
                }
                if let Ok(record) = serde_json::from_value::<RunRecord>(cell.value)
                    && record.is_of(&self.owner, &self.shared_store)
                {
                    runs.push(info::info(&record, cell.version));
                }
            }
        }
        runs.sort_by(|a, b| a.started.cmp(&b.started).then_with(|| a.id.cmp(&b.id)));
        Ok(runs)
    }

    /// What the last run of the same task in the same place left, if that one did not get it done.
    async fn earlier(&self, request: &RunRequest) -> Result<Option<(String, Earlier)>, Problem> {
        let cells = self.shared_store.list(Kind::Run).await.map_err(|error| shared_store_problem(&error))?;
        let records = cells.into_iter().filter_map(|(_, cell)| serde_json::from_value(cell.value).ok());
        let last = records
            .filter(|record: &RunRecord| record.is_of(&self.owner, &self.shared_store))
            .filter(|record| record.is_same_task(request))
            .max_by_key(|record| record.created);
        Ok(last.and_then(|record| Some((record.request.id.clone(), Earlier::of(&record.run)?))))
    }

    /// Refuses a run in a directory where another one works, unless the user insists: what changes there would be taken for
    /// the work of both.
    fn refuse_neighbours(&self, request: &RunRequest) -> Result<(), Problem> {
        let wanted = Neighbour::of(request);
        let others = self.all().into_iter().filter(|other| !other.info.borrow().is_over());
        let Some(other) = others.into_iter().find(|other| wanted.is_in_the_way_of(&other.place)) else {
            return Ok(());
        };
        let run = other.info.borrow().id.clone();
        let reason = format!("run {run} works in {} already", other.place.cwd.display());
        Err(Problem::new(ErrorKind::Conflict, reason).code(Code::DirectoryTaken).about("run", run))
    }

    /// Forgets the oldest of the runs of this home that have ended, beyond those that are kept, and breakers of nobody. What
    /// the next run of a task continues is kept longer.
    async fn forget_old(&self) -> Result<(), SharedError> {
        let mut ended = Vec::new();
        for (id, cell) in self.shared_store.list(Kind::Run).await? {
            if let Ok(record) = serde_json::from_value::<RunRecord>(cell.value)
                && record.is_of(&self.owner, &self.shared_store)
                && record.settled
            {
                ended.push((record, id, cell.version));
            }
        }
        ended.sort_unstable_by(|(a, a_id, _), (b, b_id, _)| (a.ended, a_id).cmp(&(b.ended, b_id)));
        let excess = ended.len().saturating_sub(KEPT);
        let (old, kept) = ended.split_at(excess);
        let mut newer: Vec<&RunRecord> = kept.iter().map(|(record, ..)| record).collect();
        let mut undone = 0;
        for (record, id, version) in old.iter().rev() {
            let is_last = !newer.iter().any(|newer| newer.is_same_task(&record.request));
            newer.push(record);
            if is_last && undone < KEPT && Earlier::of(&record.run).is_some() {
                undone += 1;
            } else {
                self.shared_store.remove(Kind::Run, id, *version).await?;
            }
        }
        self.breakers.forget_old().await
    }

    /// Ends a run.
    pub(crate) async fn cancel(&self, id: &str) -> Result<RunInfo, Problem> {
        self.ready().await;
        let Some(mut handle) = self.find(id) else {
            return match self.recorded(id).await? {
                Some(run) => Ok(run),
                None => Err(no_such_run(id)),
            };
        };
        let _ = handle.commands.send(Command::Cancel).await;
        // One that was reported as blocked is over, and not cancelled yet.
        let is_blocked = |run: &RunInfo| matches!(run.outcome, Some(Outcome::Blocked { .. }));
        let _ = handle.info.wait_for(|run| run.is_over() && !is_blocked(run)).await;
        let info = handle.info.borrow().clone();
        Ok(info)
    }
}

fn is_plain(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// No run has this id, or the id of several runs begins so.
pub(crate) fn no_such_run(id: &str) -> Problem {
    Problem::new(ErrorKind::NotFound, format!("there is no run {id:?}, or several begin so"))
        .code(Code::RunNotFound)
        .about("run", id)
}

/// A failure of the shared store as the client sees it.
pub(crate) fn shared_store_problem(error: &SharedError) -> Problem {
    Problem::new(ErrorKind::Storage, format!("the shared store: {error}")).code(Code::SharedStoreUnavailable)
}

#[cfg(test)]
mod tests;
