//! The task that owns a run.

mod acts;
mod recording;
mod results;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ostler_core::Wall;
use ostler_core::breaker::AgentReport;
use ostler_core::run::{Action, AgentId, Event, Phase};
use ostler_core::stop_watch::{Findings, Listener};
use ostler_protocol::RunInfo;
use serde_json::json;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};

pub(super) use self::results::TaskResult;
use super::batch::Place;
use super::neighbours::Neighbour;
use super::record::{RunRecord, forget_environment, look};
use super::{Handle, Runs, committing, info};
use crate::presets::exclude;
use crate::session::SessionHandle;
use crate::{clock, stop};

/// Results and commands that may wait.
const BACKLOG: usize = 64;
/// Checks that are recorded.
const MAX_KEPT: usize = 100;
/// How often a probe says that it is still there; its lease is longer.
const RENEWAL: Duration = Duration::from_mins(1);
/// How often a run looks at a store that other machines have, too.
const OTHERS: Duration = Duration::from_secs(10);
/// Between asking an agent to end and killing it.
const GRACE_MS: u32 = 3_000;

/// What a run's actor can be asked.
#[derive(Debug)]
pub(super) enum Command {
    /// End it.
    Cancel,
}

/// All that the daemon knows of one run.
pub(super) struct RunActor {
    runs: Runs,
    record: RunRecord,
    version: u64,
    commands: mpsc::Receiver<Command>,
    info: watch::Sender<RunInfo>,
    results: mpsc::Sender<TaskResult>,
    inbox: mpsc::Receiver<TaskResult>,
    agents: HashMap<AgentId, WatchedAgent>,
    /// Agents that are being started.
    starts: JoinSet<()>,
    /// Agents that are being ended, and for which nobody has waited yet.
    stops: Vec<JoinHandle<()>>,
    /// Checks, helpers and looks at the tree; they end with the run.
    works: JoinSet<()>,
    turn: Turn,
    /// Changes when a provider can be used again.
    closed: watch::Receiver<u64>,
    /// Why the shared store does not take the record, and how often that has changed.
    trouble: Option<String>,
    troubles: u64,
}

/// Its place in a batch.
#[derive(Debug)]
pub(super) enum Turn {
    /// It needs none.
    Free,
    /// It waits for one.
    Asked(oneshot::Receiver<Place>),
    /// It has this one.
    #[expect(dead_code, reason = "held until it is dropped")]
    Place(Place),
}

struct WatchedAgent {
    handle: SessionHandle,
    listener: Listener,
    /// What was found of it last.
    found: Option<Findings>,
}

impl RunActor {
    /// The owner of a run that is recorded. One that is under way in a batch has its place there already.
    pub(super) fn new(runs: Runs, record: RunRecord, version: u64, turn: Turn) -> (Self, Handle) {
        let (sender, commands) = mpsc::channel(BACKLOG);
        let place = Arc::new(Neighbour::of(&record.request));
        let (info, watcher) = watch::channel(info::info(&record, version));
        let (results, inbox) = mpsc::channel(BACKLOG);
        let actor = Self {
            closed: runs.breakers.closed(),
            runs,
            record,
            version,
            commands,
            info,
            results,
            inbox,
            agents: HashMap::new(),
            starts: JoinSet::new(),
            stops: Vec::new(),
            works: JoinSet::new(),
            turn,
            trouble: None,
            troubles: 0,
        };
        (actor, Handle { commands: sender, info: watcher, place })
    }

    /// Looks after the run until it has ended.
    pub(super) async fn run(mut self) {
        if self.record.is_queued() {
            self.wait_for_its_turn().await;
        } else {
            // Checks outlive a daemon that was killed; they are begun anew.
            ostler_work::end_marked(&self.record.request.id);
            self.adopt_agent();
            self.handle(Event::Restarted).await;
            self.look_for_agent().await;
        }
        let mut renewal = tokio::time::interval(RENEWAL);
        let mut others = tokio::time::interval(OTHERS);
        let is_shared = !self.runs.shared_store.is_own();
        while !self.record.run.is_final() {
            if self.record.run.is_parked() {
                self.turn = Turn::Free;
            }
            let (deadline, probe) = (self.record.run.deadline(), self.record.run.probe());
            let waits = matches!(self.record.run.phase(), Phase::Waiting { .. });
            tokio::select! {
                Some(result) = self.inbox.recv() => self.on_result(result).await,
                command = self.commands.recv() => match command {
                    Some(Command::Cancel) => self.handle(Event::Cancelled).await,
                    // The registry holds a sender as long as there is an actor.
                    None => break,
                },
                () = until(deadline) => {
                    // Whatever was begun has had its time.
                    self.works.abort_all();
                    self.handle(Event::Tick).await;
                }
                _ = renewal.tick(), if probe.is_some() => self.renew_probe().await,
                _ = others.tick(), if is_shared => self.look_around().await,
                Ok(()) = self.closed.changed(), if waits => self.handle(Event::ProviderOpened).await,
            }
        }
        self.works.shutdown().await;
        self.turn = Turn::Free;
        self.settle().await;
        self.runs.remove(&self.record.request.id);
    }

    /// Begins the run as soon as its batch has room for it.
    async fn wait_for_its_turn(&mut self) {
        if let Turn::Asked(asked) = &mut self.turn {
            tokio::select! {
                place = asked => self.turn = place.map_or(Turn::Free, Turn::Place),
                Some(Command::Cancel) = self.commands.recv() => return self.handle(Event::Cancelled).await,
            }
        }
        // Looked at now, not when it was asked for: others of the batch may have worked in the same tree.
        let (id, cwd, since) = (self.record.request.id.clone(), self.record.cwd(), clock::now());
        let exclude = exclude(&self.runs.home, &cwd);
        let seen = look(&self.runs.home, &id, &cwd, &exclude, 0);
        self.record.tree = tokio::time::timeout(self.record.run.first_look(), seen).await.ok().flatten();
        self.record_event("run.began", self.beginning()).await;
        self.handle(Event::Started { since }).await;
    }

    fn beginning(&self) -> serde_json::Value {
        let RunRecord { request, continues, .. } = &self.record;
        json!({
            "task": request.task,
            "agents": request.agents,
            "cwd": self.record.cwd().display().to_string(),
            "continues": continues,
            "branch": request.worktree.as_ref().map(|tree| &tree.branch),
        })
    }

    /// Does what follows from the end, whatever a daemon before this one did of it already: no agent is left
    /// behind, but for one that waits for a person.
    async fn settle(&mut self) {
        while self.starts.join_next().await.is_some() {}
        let wanted = self.record.run.agent_left().map(|agent| self.record.session_id(agent));
        let own = format!("{}-", self.record.request.id);
        let left = self.runs.sessions.all().into_iter();
        for handle in left.filter(|handle| handle.id.starts_with(&own) && Some(&handle.id) != wanted.as_ref())
        {
            if let Err(problem) = stop::stop(&self.runs.sessions, &handle.id, GRACE_MS).await {
                tracing::warn!(
                    session = handle.id,
                    problem = problem.message,
                    "an agent of a run is not stopped"
                );
            }
        }
        self.record.settled = true;
        self.store().await;
        forget_environment(&self.runs.home, &self.record.request.id);
        if let Err(error) = self.runs.forget_old().await {
            tracing::warn!(%error, "old runs are not forgotten");
        }
    }

    async fn renew_probe(&self) {
        if let (Some(probe), Some((_, provider))) = (self.record.run.probe(), self.record.run.agent()) {
            self.runs.breakers.report(&self.record, provider, AgentReport::AtWork, Some(probe)).await;
        }
    }

    /// Gives an event to the machine, and those that follow from what it says at once.
    async fn handle(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            events.extend(self.step(event).await);
        }
    }

    /// Gives an event to the machine, stores the run, and does what the machine says; returns what that led to at once.
    async fn step(&mut self, event: Event) -> Vec<Event> {
        let before = self.record.run.clone();
        // Spending is told again by the session, whoever asks.
        let passing = matches!(event, Event::Spent { .. });
        let actions = self.record.run.handle(event.clone(), clock::now());
        if matches!(event, Event::AgentResumed { .. }) {
            // It works again: what is being looked at is old.
            self.works.abort_all();
        }
        if actions.is_empty() && (passing || self.record.run == before) {
            self.publish();
            return Vec::new();
        }
        if self.record.is_over() {
            self.record.ended.get_or_insert_with(clock::now);
        } else {
            self.record.ended = None;
        }
        if self.record.run.is_final() && self.record.committed.is_none() {
            self.record.committed = committing::commit(&self.runs.home, &self.record).await;
        }
        let steps = self.record.run.steps_since(&before, &event);
        let mut injected = None;
        for action in &actions {
            if let Action::Deliver { act, context, prompt, .. } = action
                && act.step > self.record.prompted
            {
                self.record.note_prompt(*act, context.as_ref(), prompt);
                injected = context.as_ref().map(|context| context.kind.as_str());
            }
        }
        self.store().await;
        for step in &steps {
            self.record_event(step.name(), json!(step)).await;
        }
        if let Some(kind) = injected {
            self.count(format!("context_injection.{kind}")).await;
        }
        let mut follows = Vec::new();
        for action in actions {
            follows.extend(self.perform(action).await);
        }
        if self.record.run.is_parked() {
            self.record.run.was_reported();
            self.store().await;
        }
        follows
    }

    /// Looks at a store that other machines have, too: whether it answers, and whether one of them closed the breaker that
    /// this run waits for.
    async fn look_around(&mut self) {
        let trouble = self.runs.store_trouble(&self.record.request.id).await;
        let answers = trouble.is_none();
        self.on_trouble(trouble);
        let waits = matches!(self.record.run.phase(), Phase::Waiting { .. });
        if answers && waits && self.runs.breakers.can_choose(&self.record, clock::now()).await {
            self.handle(Event::ProviderOpened).await;
        }
    }

    async fn perform(&mut self, action: Action) -> Option<Event> {
        match action {
            Action::ChooseProvider { act, excluding } => {
                let chosen = self.runs.breakers.choose(&mut self.record, &excluding, clock::now()).await;
                return Some(match chosen {
                    Ok(choice) => {
                        Event::ProviderChosen { act, provider: choice.key.provider, probe: choice.probe }
                    }
                    Err(shut) => Event::NoProvider { act, shut },
                });
            }
            Action::StartAgent { act, provider } => self.start_agent(act, &provider),
            Action::Deliver { act, agent, context, prompt } => {
                return self.deliver(act, agent, context, prompt).await;
            }
            Action::ObserveTree { act } => self.observe(act),
            Action::RunChecks { act } => self.check(act),
            Action::TripBreaker { provider, evidence, until, probe } => {
                self.record_event("provider.failed", json!({ "provider": provider, "evidence": evidence }))
                    .await;
                let news = AgentReport::Failed { evidence, until };
                self.runs.breakers.report(&self.record, &provider, news, probe).await;
            }
            Action::CloseBreaker { provider, began } => {
                let news = AgentReport::Succeeded { began };
                self.runs.breakers.report(&self.record, &provider, news, None).await;
            }
            Action::ReleaseProbe { provider, probe } => {
                self.runs.breakers.report(&self.record, &provider, AgentReport::Nothing, Some(probe)).await;
            }
            Action::AskHelper { act, context, prompt, attempt } => {
                self.ask_helper(act, context, prompt, attempt);
            }
            Action::StopAgent { agent } => self.stop_agent(agent),
            Action::Report { outcome } => self.report(&outcome).await,
        }
        None
    }
}

async fn until(deadline: Option<Wall>) {
    match deadline {
        Some(at) => tokio::time::sleep(at.since(clock::now())).await,
        None => std::future::pending().await,
    }
}
