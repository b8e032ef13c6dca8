//! The task that owns a run.

use std::collections::HashMap;
use std::time::Duration;

use ostler_core::run::{Act, Action, AgentId, Changes, Context, Event, Outcome, Stop};
use ostler_core::{Proof, SessionName, Timestamp};
use ostler_protocol::{CheckInfo, OsText, PromptInfo, RunInfo, SendTerms, StartRequest, StartupRequest};
use ostler_store::NewEvent;
use ostler_store::shared::{Kind, SharedStore, Swap};
use ostler_work::{Limits, Snapshot};
use serde_json::json;
use tokio::sync::{mpsc, oneshot, watch};

use super::helper::{Answer, Question};
use super::minder::{Given, News, mind};
use super::record::{RunRecord, environment, exclude, forget_environment, short};
use super::{Handle, breakers, checks, helper, info};
use crate::registry::Shared;
use crate::session::{Command as SessionCommand, SendCommand, SessionHandle};
use crate::{clock, start};

/// News that may wait.
const BACKLOG: usize = 64;
/// When to try again to record what the store refused.
const STORE_RETRY: Duration = Duration::from_secs(1);
/// Prompts and checks that are recorded.
const MAX_KEPT: usize = 100;
/// Between asking an agent to end and killing it.
const GRACE_MS: u32 = 3_000;
/// Size of an agent's terminal.
const SIZE: (u16, u16) = (120, 40);

/// What a run's actor can be asked.
#[derive(Debug)]
pub(super) enum Command {
    /// End it.
    Cancel,
}

/// What comes back from what was begun.
enum Back {
    News(News),
    Observed { act: Act, changes: Option<Changes>, snapshot: Option<Snapshot> },
    Checked { act: Act, results: Vec<CheckInfo> },
    Started { agent: AgentId, handle: Option<SessionHandle> },
    Submitted { act: Act, proof: Option<String> },
}

/// All that the daemon knows of one run.
pub(super) struct RunActor {
    shared: Shared,
    record: RunRecord,
    version: u64,
    commands: mpsc::Receiver<Command>,
    info: watch::Sender<RunInfo>,
    back: mpsc::Sender<Back>,
    inbox: mpsc::Receiver<Back>,
    agents: HashMap<AgentId, Minded>,
    resumed: bool,
}

struct Minded {
    handle: SessionHandle,
    given: watch::Sender<Given>,
}

impl RunActor {
    pub(super) fn new(shared: Shared, record: RunRecord, version: u64) -> (Self, Handle) {
        let (sender, commands) = mpsc::channel(BACKLOG);
        let (info, watcher) = watch::channel(info::info(&record, version));
        let (back, inbox) = mpsc::channel(BACKLOG);
        let resumed = version > 0;
        let actor =
            Self { shared, record, version, commands, info, back, inbox, agents: HashMap::new(), resumed };
        (actor, Handle { commands: sender, info: watcher })
    }

    /// Looks after the run until it has ended.
    pub(super) async fn run(mut self) {
        // Recorded before it begins: nothing of it is lost from here on.
        self.store().await;
        let batch = self.record.request.batch.clone();
        let turnstile = batch.map(|(name, parallel)| self.shared.runs.batch(&name, parallel));
        let permit = match &turnstile {
            None => None,
            Some(turnstile) => tokio::select! {
                permit = turnstile.acquire() => permit.ok(),
                Some(Command::Cancel) = self.commands.recv() => {
                    self.handle(Event::Cancelled).await;
                    None
                }
            },
        };
        if self.resumed {
            self.take_up_agent().await;
            self.handle(Event::Restarted).await;
        }
        self.handle(Event::Started).await;
        while !self.record.is_over() {
            let deadline = self.record.run.deadline();
            tokio::select! {
                Some(back) = self.inbox.recv() => self.on_back(back).await,
                command = self.commands.recv() => match command {
                    Some(Command::Cancel) => self.handle(Event::Cancelled).await,
                    // The registry holds a sender as long as there is an actor.
                    None => break,
                },
                () = until(deadline) => self.handle(Event::Tick).await,
            }
        }
        drop(permit);
        self.shared.runs.remove(&self.record.request.id);
    }

    /// Gives an event to the machine, stores the run, and does what the machine says.
    async fn handle(&mut self, event: Event) {
        let actions = self.record.run.handle(event, clock::now());
        if actions.is_empty() && self.record.run.outcome().is_none() {
            return self.publish();
        }
        if self.record.is_over() {
            self.record.ended.get_or_insert_with(clock::now);
        }
        self.store().await;
        for action in actions {
            self.perform(action).await;
        }
    }

    /// Stores the run; nothing is done before that.
    async fn store(&mut self) {
        let id = self.record.request.id.clone();
        let value = serde_json::to_value(&self.record).unwrap_or_default();
        loop {
            let swap = self.shared.shared_store.swap(Kind::Run, &id, self.version, &value).await;
            match swap {
                Ok(Swap::Done(version)) => {
                    self.version = version;
                    break;
                }
                // Nobody else writes it: an answer of ours was lost.
                Ok(Swap::Conflict(found)) => self.version = found.map_or(0, |found| found.version),
                Err(error) => {
                    tracing::error!(run = id, %error, "the run waits for its store");
                    tokio::time::sleep(STORE_RETRY).await;
                }
            }
        }
        if let Some(attempt) = self.record.run.attempts().last() {
            let value = serde_json::to_value(attempt).unwrap_or_default();
            if let Err(error) = self.shared.shared_store.put_attempt(&id, attempt.number, &value).await {
                tracing::warn!(run = id, %error, "the attempt is not recorded by itself");
            }
        }
        self.publish();
    }

    fn publish(&self) {
        self.info.send_replace(info::info(&self.record, self.version));
    }

    async fn perform(&mut self, action: Action) {
        match action {
            Action::ChooseProvider { act, excluding } => {
                let chosen =
                    breakers::choose(&self.shared, &self.record.request.agents, &excluding, clock::now())
                        .await;
                let event = match chosen {
                    Ok(choice) => {
                        Event::ProviderChosen { act, provider: choice.key.provider, probe: choice.probe }
                    }
                    Err(shut) => Event::NoProvider { act, shut },
                };
                Box::pin(self.handle(event)).await;
            }
            Action::StartAgent { act, provider } => self.start_agent(act, &provider),
            Action::Deliver { act, agent, context, prompt } => {
                self.deliver(act, agent, context, prompt).await
            }
            Action::ObserveTree { act } => self.observe(act),
            Action::RunChecks { act } => self.check(act),
            Action::TripBreaker { provider, evidence, until, probe } => {
                let now = clock::now();
                self.tell("provider.failed", json!({ "provider": provider, "evidence": evidence })).await;
                breakers::change(&self.shared, &provider, |breaker, settings| {
                    breaker.failed(&evidence, until, probe, settings, now);
                })
                .await;
            }
            Action::CloseBreaker { provider, began } => {
                breakers::change(&self.shared, &provider, |breaker, _| breaker.succeeded(began)).await;
            }
            Action::ReleaseProbe { provider, probe } => {
                let now = clock::now();
                breakers::change(&self.shared, &provider, |breaker, _| breaker.release(probe, now)).await;
            }
            Action::AskHelper { act, context, prompt } => self.ask_helper(act, context, prompt),
            Action::StopAgent { agent } => self.stop_agent(agent),
            Action::Report { outcome } => self.report(&outcome).await,
        }
    }

    /// The request that starts an agent; the same for the same act.
    fn start_request(&self, act: Act, provider: &str) -> StartRequest {
        let request = &self.record.request;
        let name = format!("{}-{}-{}", request.task, short(&request.id), act.step);
        StartRequest {
            id: self.record.session_id(act),
            program: OsText::from(provider),
            args: Vec::new(),
            agent: None,
            hooks: true,
            name: Some(SessionName::for_program(&name)),
            cwd: request.cwd.clone(),
            env: environment(&self.shared, &request.id),
            extra_env: Vec::new(),
            cols: SIZE.0,
            rows: SIZE.1,
            record: 0,
            open_files: 0,
            umask: 0o022,
            startup: StartupRequest::default(),
            trust: request.trust,
            unattended: request.unattended,
        }
    }

    fn start_agent(&self, act: Act, provider: &str) {
        let (shared, back) = (self.shared.clone(), self.back.clone());
        let request = self.start_request(act, provider);
        let id = request.id.clone();
        tokio::spawn(async move {
            let started = start::start(&shared, request).await;
            if let Err(problem) = &started {
                tracing::warn!(
                    session = id,
                    problem = problem.message,
                    "an agent of a run cannot be started"
                );
            }
            let handle = started.ok().and_then(|_| shared.sessions.get(&id));
            let _ = back.send(Back::Started { agent: act, handle }).await;
        });
    }

    /// After a restart: the agent that is there is minded again.
    async fn take_up_agent(&mut self) {
        let Some((agent, _)) = self.record.run.agent() else { return };
        let session = self.record.session_id(agent);
        if let Some(handle) = self.shared.sessions.get(&session) {
            let given = if self.record.run.is_starting() { Given::Nothing } else { Given::Delivering };
            self.mind(agent, handle, given);
        }
    }

    fn mind(&mut self, agent: AgentId, handle: SessionHandle, given: Given) {
        if self.agents.contains_key(&agent) {
            return;
        }
        let (sender, receiver) = watch::channel(given);
        let (news, mut inbox) = mpsc::channel(BACKLOG);
        tokio::spawn(mind(agent, handle.clone(), receiver, news));
        let back = self.back.clone();
        tokio::spawn(async move {
            while let Some(news) = inbox.recv().await {
                if back.send(Back::News(news)).await.is_err() {
                    return;
                }
            }
        });
        self.agents.insert(agent, Minded { handle, given: sender });
    }

    async fn deliver(&mut self, act: Act, agent: AgentId, context: Option<Context>, prompt: String) {
        let before = context.as_ref().map_or("", |context| context.text.as_str());
        let text = format!("{before}{prompt}");
        let kind = context.as_ref().map(|context| context.kind.as_str().to_owned());
        if !self.record.prompts.iter().any(|known| known.contextual == text && known.attempt == act.attempt) {
            let provider =
                self.record.run.agent().map_or_else(String::new, |(_, provider)| provider.to_owned());
            let told = PromptInfo {
                attempt: act.attempt,
                provider,
                context: kind.clone(),
                original: prompt,
                contextual: text.clone(),
                proof: None,
            };
            self.record.prompts.push(told);
            self.record.prompts.truncate(MAX_KEPT);
            if let Some(kind) = kind {
                let counted = format!("context_injection.{kind}");
                let counted = self.shared.store.run(move |store| store.count(&counted)).await;
                if let Err(error) = counted {
                    tracing::warn!(%error, "not counted");
                }
            }
        }
        let Some(minded) = self.agents.get(&agent) else {
            let stop = Stop::Lost;
            return Box::pin(self.handle(Event::AgentStopped { agent, stop })).await;
        };
        let (queued, recorded) = oneshot::channel();
        let (settled, outcome) = oneshot::channel();
        let command = SendCommand {
            id: self.record.message_id(act),
            body: text.into_bytes(),
            terms: SendTerms { sender: "run".into(), ..SendTerms::default() },
            wait: Proof::Submitted,
            queued,
            settled,
        };
        let (handle, given, back) = (minded.handle.clone(), minded.given.clone(), self.back.clone());
        given.send_replace(Given::Delivering);
        tokio::spawn(async move {
            let told = handle.tell(SessionCommand::Send(Box::new(command))).await;
            let accepted = if told.is_ok() { recorded.await.ok() } else { None };
            let message = match accepted {
                Some(Ok(message)) if message.proof >= Proof::Submitted => Some(message),
                Some(Ok(_)) => outcome.await.ok(),
                Some(Err(problem)) => {
                    tracing::warn!(problem = problem.message, "a prompt of a run is refused");
                    None
                }
                // The session is gone; its minder says so.
                None => return,
            };
            let Some(message) = message else {
                let _ = back.send(Back::Submitted { act, proof: None }).await;
                return;
            };
            let proof = message.evidence.last().cloned().filter(|_| message.proof >= Proof::Submitted);
            let sent = Timestamp(u64::try_from(message.created.as_millisecond()).unwrap_or(0));
            let _ = back.send(Back::Submitted { act, proof }).await;
            given.send_replace(Given::Prompt { sent });
        });
    }

    fn observe(&self, act: Act) {
        let (back, cwd) = (self.back.clone(), self.record.cwd());
        let (before, shared) = (self.record.snapshot.clone(), self.shared.clone());
        tokio::spawn(async move {
            let exclude = exclude(&shared, &cwd);
            let changes = match &before {
                Some(before) => ostler_work::changes(&cwd, before, &exclude, Limits::default()).await.ok(),
                None => None,
            };
            let snapshot = ostler_work::snapshot(&cwd, &exclude, Limits::default()).await.ok();
            let changes = changes.map(|changes| Changes {
                created: changes.created,
                modified: changes.updated,
                deleted: changes.deleted,
                more: 0,
            });
            let _ = back.send(Back::Observed { act, changes, snapshot }).await;
        });
    }

    fn check(&self, act: Act) {
        let (back, cwd) = (self.back.clone(), self.record.cwd());
        let request = &self.record.request;
        let wanted = request.checks.clone();
        let env = environment(&self.shared, &request.id);
        let limit = Duration::from_secs(request.policy.check_secs);
        tokio::spawn(async move {
            let results = checks::run(&wanted, act.attempt, &cwd, &env, limit).await;
            let _ = back.send(Back::Checked { act, results }).await;
        });
    }

    fn ask_helper(&self, act: Act, context: Option<Context>, prompt: String) {
        let (shared, back, cwd) = (self.shared.clone(), self.back.clone(), self.record.cwd());
        let request = &self.record.request;
        let question = Question {
            agents: request.helper.iter().chain(&request.agents).cloned().collect(),
            context: context.map(|context| context.text).unwrap_or_default(),
            task: prompt,
            criteria: request.criteria.clone(),
            env: environment(&self.shared, &request.id),
            limit: Duration::from_secs(request.policy.helper_secs),
        };
        tokio::spawn(async move {
            let event = match helper::ask(&shared, &cwd, question).await {
                Ok(Answer { verified, findings }) => Event::HelperAnswered { act, verified, findings },
                Err(reason) => Event::HelperFailed { act, reason },
            };
            let _ = back.send(Back::News(News::Event(event))).await;
        });
    }

    fn stop_agent(&mut self, agent: AgentId) {
        self.agents.remove(&agent);
        let session = self.record.session_id(agent);
        if let Some(handle) = self.shared.sessions.get(&session) {
            tokio::spawn(async move {
                let (done, ended) = oneshot::channel();
                if handle.tell(SessionCommand::Stop { grace_ms: GRACE_MS, done }).await.is_ok() {
                    let _ = ended.await;
                }
            });
        }
    }

    async fn report(&mut self, outcome: &Outcome) {
        let id = &self.record.request.id;
        tracing::info!(run = id, outcome = outcome.as_str(), "run ended");
        self.tell("run.ended", json!({ "outcome": outcome.as_str(), "summary": outcome.to_string() })).await;
        if let Err(error) = self.shared.shared_store.clear_attempts(id).await {
            tracing::warn!(run = id, %error, "the attempts are not forgotten");
        }
        forget_environment(&self.shared, id);
        self.publish();
    }

    async fn tell(&self, event: &'static str, mut details: serde_json::Value) {
        if let Some(details) = details.as_object_mut() {
            details.insert("run".into(), json!(self.record.request.id));
        }
        let event = NewEvent { at: clock::now(), session: None, event, details };
        if let Err(error) = self.shared.store.run(move |store| store.record(&event)).await {
            tracing::error!(%error, "not recorded");
        }
    }

    async fn on_back(&mut self, back: Back) {
        match back {
            Back::News(News::Event(event)) => self.handle(event).await,
            Back::News(News::Spent(session, usage)) => {
                self.record.spent.insert(session, usage);
                let usage = self.record.usage();
                self.handle(Event::Spent { tokens: usage.input + usage.output }).await;
            }
            Back::Observed { act, changes, snapshot } => {
                self.record.snapshot = snapshot;
                self.handle(Event::TreeObserved { act, changes }).await;
            }
            Back::Checked { act, results } => {
                let passed = results.iter().all(|check| check.passed);
                let failures = results.iter().filter(|check| !check.passed);
                let failures = failures
                    .map(|check| check.error.clone().unwrap_or_else(|| format!("{} failed", check.command)))
                    .collect();
                self.record.checks.extend(results);
                let excess = self.record.checks.len().saturating_sub(MAX_KEPT);
                self.record.checks.drain(..excess);
                self.handle(Event::ChecksFinished { act, passed, failures }).await;
            }
            Back::Started { agent, handle: Some(handle) } => self.mind(agent, handle, Given::Nothing),
            Back::Started { agent, handle: None } => {
                let stop = Stop::Exited { status: Some(127), signal: None };
                self.handle(Event::AgentStopped { agent, stop }).await;
            }
            Back::Submitted { act, proof: Some(proof) } => {
                if let Some(prompt) = self.record.prompts.last_mut() {
                    prompt.proof = Some(proof.clone());
                }
                self.handle(Event::PromptSubmitted { act, proof }).await;
            }
            Back::Submitted { act, proof: None } => {
                let reason = "the agent did not take it".to_owned();
                self.handle(Event::DeliveryFailed { act, reason }).await;
            }
        }
    }
}

async fn until(deadline: Option<Timestamp>) {
    match deadline {
        Some(at) => tokio::time::sleep(at.since(clock::now())).await,
        None => std::future::pending().await,
    }
}
