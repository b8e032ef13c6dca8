//! What a run asks for, done.

use std::time::Duration;

use ostler_core::run::{Act, AgentId, AttemptNotes, Changes, Context, Event};
use ostler_core::stop_watch::Listener;
use ostler_core::{Proof, SessionName, State, Wall};
use ostler_protocol::{MessageInfo, OsText, SendTerms, StartRequest, StartupRequest};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::super::ended_agent;
use super::super::helper::{self, Question};
use super::super::last_words::last_words;
use super::super::record::{environment, look, look_again, short};
use super::super::watch_agent::watch_agent;
use super::{GRACE_MS, RunActor, TaskResult, WatchedAgent};
use crate::checks;
use crate::presets::exclude;
use crate::session::{Command as SessionCommand, SendCommand, SessionHandle};
use crate::stop;

/// Letters of a task's name in the names of its agents.
const MAX_TASK: usize = 28;
/// Size of an agent's terminal.
const SIZE: (u16, u16) = (120, 40);
/// How often an agent that has not taken its prompt is asked whether its composer was ever seen.
const COMPOSER_POLL: Duration = Duration::from_secs(5);

impl RunActor {
    /// The request that starts an agent; the same for the same act.
    fn start_request(&self, act: Act, provider: &str) -> StartRequest {
        let request = &self.record.request;
        // What tells it from others stands at the end of the name, and names are bounded.
        let task: String = request.task.chars().take(MAX_TASK).collect();
        let name = format!("{task}-{}-{}", short(&request.id), act.step);
        StartRequest {
            id: self.record.session_id(act),
            program: OsText::from(provider),
            args: Vec::new(),
            agent: None,
            hooks: true,
            name: Some(SessionName::for_program(&name)),
            cwd: request.cwd.clone(),
            env: environment(&self.runs.home, &request.id),
            extra_env: Vec::new(),
            cols: SIZE.0,
            rows: SIZE.1,
            record: 0,
            open_files: 0,
            umask: 0o022,
            startup: StartupRequest::default(),
            trust: request.trust,
            unattended: request.unattended,
            carry_on: None,
        }
    }

    pub(super) fn start_agent(&mut self, act: Act, provider: &str) {
        let (runs, results) = (self.runs.clone(), self.results.clone());
        let request = self.start_request(act, provider);
        let id = request.id.clone();
        let stops = std::mem::take(&mut self.stops);
        self.starts.spawn(async move {
            settled(stops).await;
            let started = runs.starter.start(request).await;
            let result = match (started, runs.sessions.get(&id)) {
                (Ok(_), Some(handle)) => TaskResult::Started { agent: act, handle },
                // It ended while nobody looked.
                (Ok(_), None) => {
                    let stop = ended_agent::stop(&runs.store, &id).await;
                    TaskResult::Event(Event::AgentStopped { agent: act, stop })
                }
                (Err(problem), _) => {
                    tracing::warn!(
                        session = id,
                        problem = problem.message,
                        "an agent of a run cannot be started"
                    );
                    TaskResult::Event(Event::StartFailed { agent: act, reason: problem.message })
                }
            };
            let _ = results.send(result).await;
        });
    }

    /// After a restart: watches the agent that is there again.
    pub(super) fn adopt_agent(&mut self) {
        let Some((agent, _)) = self.record.run.agent() else { return };
        if let Some(handle) = self.runs.sessions.get(&self.record.session_id(agent)) {
            let run = &self.record.run;
            let again = || Listener::again(run.is_blocked());
            let listener = if run.is_starting() { Listener::default() } else { again() };
            self.watch(agent, handle, listener);
        }
    }

    /// After a restart: an agent that is not there has ended meanwhile.
    pub(super) async fn look_for_agent(&mut self) {
        let Some((agent, _)) = self.record.run.agent() else { return };
        let is_awaited = self.record.run.is_starting() && !self.record.run.is_parked();
        if !is_awaited && !self.agents.contains_key(&agent) {
            let stop = ended_agent::stop(&self.runs.store, &self.record.session_id(agent)).await;
            self.handle(Event::AgentStopped { agent, stop }).await;
        }
    }

    pub(super) fn watch(&mut self, agent: AgentId, handle: SessionHandle, listener: Listener) {
        if self.agents.contains_key(&agent) {
            return;
        }
        let (patience, results) = (self.record.run.policy().patience(), self.results.clone());
        let watched = handle.clone();
        tokio::spawn(async move {
            // Where the session is gone, what it found last is still to be had.
            let _ = watched.send(SessionCommand::SetPatience(patience)).await;
            watch_agent(agent, watched, results).await;
        });
        self.agents.insert(agent, WatchedAgent { handle, listener, found: None });
    }

    pub(super) async fn deliver(
        &mut self,
        act: Act,
        agent: AgentId,
        context: Option<Context>,
        prompt: String,
    ) -> Option<Event> {
        let before = context.as_ref().map_or("", |context| context.text.as_str());
        let text = format!("{before}{prompt}");
        let Some(watched) = self.agents.get(&agent) else {
            let stop = ended_agent::stop(&self.runs.store, &self.record.session_id(agent)).await;
            return Some(Event::AgentStopped { agent, stop });
        };
        let (queued, recorded) = oneshot::channel();
        let (settled, outcome) = oneshot::channel();
        let command = SendCommand {
            id: self.record.message_id(act),
            body: text.into_bytes(),
            terms: SendTerms { sender: ostler_session::RUN.into(), ..SendTerms::default() },
            wait: Proof::Submitted,
            queued,
            settled,
        };
        let (handle, results) = (watched.handle.clone(), self.results.clone());
        tokio::spawn(async move {
            let told = handle.send(SessionCommand::Send(Box::new(command))).await;
            let accepted = if told.is_ok() { recorded.await.ok() } else { None };
            let reason = match accepted {
                Some(Ok(message)) => {
                    let message = if message.proof >= Proof::Submitted {
                        Ok(message)
                    } else {
                        settled_or_unseen(outcome, &handle).await
                    };
                    let message = match message {
                        Ok(message) => message,
                        Err(Unsettled::Gone) => return,
                        Err(Unsettled::ComposerNeverSeen) => {
                            let reason =
                                "the agent's composer was never seen, and nothing is typed blindly".into();
                            let _ =
                                results.send(TaskResult::Event(Event::DeliveryFailed { act, reason })).await;
                            return;
                        }
                    };
                    if message.proof >= Proof::Submitted {
                        let proof = message
                            .evidence
                            .last()
                            .cloned()
                            .unwrap_or_else(|| message.proof.as_str().to_owned());
                        let sent = Wall(u64::try_from(message.created.as_millisecond()).unwrap_or(0));
                        let _ = results.send(TaskResult::Submitted { act, agent, proof, sent }).await;
                        return;
                    }
                    message.failure.unwrap_or_else(|| "the agent did not take it".into())
                }
                Some(Err(problem)) => problem.message,
                // The session is gone; whoever watches it says so.
                None => return,
            };
            // So does it for a program that has ended, and it knows how.
            let status = handle.ask(SessionCommand::AgentStatus).await;
            if status.is_ok_and(|status| status.state != State::Exited) {
                let _ = results.send(TaskResult::Event(Event::DeliveryFailed { act, reason })).await;
            }
        });
        None
    }

    /// Sees what has changed, when whoever could change more has ended.
    pub(super) fn observe(&mut self, act: Act) {
        let (home, sender, cwd) = (self.runs.home.clone(), self.results.clone(), self.record.cwd());
        let (id, before) = (self.record.request.id.clone(), self.record.tree);
        let (sessions, store) = (self.runs.sessions.clone(), self.runs.store.clone());
        let asked = self.record.run.last_agent();
        let asked = asked.map(|(agent, stop)| (self.record.session_id(agent), stop));
        let stops = std::mem::take(&mut self.stops);
        self.works.spawn(async move {
            settled(stops).await;
            let (changes, tree) = look_again(&home, &id, &cwd, before, act.step).await;
            let changes = changes.filter(tells).map(|changes| Changes {
                created: changes.created,
                modified: changes.updated,
                deleted: changes.deleted,
                more: 0,
            });
            let words = match asked {
                Some((session, stop)) => last_words(&sessions, &store, session, stop).await,
                None => None,
            };
            let _ = sender.send(TaskResult::Observed { act, changes, words, tree }).await;
        });
    }

    pub(super) fn check(&mut self, act: Act) {
        let (sender, cwd) = (self.results.clone(), self.record.cwd());
        let request = &self.record.request;
        let wanted = request.checks.clone();
        let env = environment(&self.runs.home, &request.id);
        let limit = Duration::from_secs(request.policy.check_secs);
        let (home, mark) = (self.runs.home.clone(), request.id.clone());
        self.works.spawn(async move {
            let results = checks::run(&wanted, act.attempt, &cwd, &env, limit, &mark).await;
            let tree = look(&home, &mark, &cwd, &exclude(&home, &cwd), act.step).await;
            let _ = sender.send(TaskResult::Checked { act, results, tree }).await;
        });
    }

    pub(super) fn ask_helper(
        &mut self,
        act: Act,
        context: Option<Context>,
        prompt: String,
        attempt: AttemptNotes,
    ) {
        let (helpers, sender, cwd) = (self.runs.helpers.clone(), self.results.clone(), self.record.cwd());
        let request = &self.record.request;
        let question = Question {
            named: request.helper.clone(),
            agents: request.agents.clone(),
            context: context.map(|context| context.text).unwrap_or_default(),
            task: prompt,
            criteria: request.criteria.clone(),
            attempt,
            env: environment(&self.runs.home, &request.id),
            limit: Duration::from_secs(request.policy.helper_secs),
        };
        self.works.spawn(async move {
            let mut prompts = Vec::new();
            let answer = helper::ask(&helpers, &cwd, question, &mut prompts).await;
            let _ = sender.send(TaskResult::Helped { act, answer, prompts }).await;
        });
    }

    pub(super) fn stop_agent(&mut self, agent: AgentId) {
        self.agents.remove(&agent);
        let (sessions, session) = (self.runs.sessions.clone(), self.record.session_id(agent));
        if sessions.get(&session).is_some() {
            self.stops.push(tokio::spawn(async move {
                if let Err(problem) = stop::stop(&sessions, &session, GRACE_MS).await {
                    tracing::warn!(session, problem = problem.message, "an agent of a run is not stopped");
                }
            }));
        }
    }
}

/// Waits until agents have ended.
async fn settled(stops: Vec<JoinHandle<()>>) {
    for stop in stops {
        let _ = stop.await;
    }
}

/// Whether what was seen says anything: that nothing has changed does not where not all was looked at.
fn tells(changes: &ostler_work::Changes) -> bool {
    !changes.is_empty() || changes.notes.is_empty()
}

/// Why it is not known what became of a prompt.
enum Unsettled {
    /// The session is gone.
    Gone,
    /// It would wait for ever: there is no composer to type it into.
    ComposerNeverSeen,
}

/// What became of a prompt, unless it waits for an agent whose composer is never seen.
async fn settled_or_unseen(
    mut outcome: oneshot::Receiver<MessageInfo>,
    handle: &SessionHandle,
) -> Result<MessageInfo, Unsettled> {
    loop {
        if handle.ask(SessionCommand::AgentStatus).await.is_ok_and(|status| status.composer_never_seen) {
            return Err(Unsettled::ComposerNeverSeen);
        }
        if let Ok(outcome) = tokio::time::timeout(COMPOSER_POLL, &mut outcome).await {
            return outcome.map_err(|_| Unsettled::Gone);
        }
    }
}
