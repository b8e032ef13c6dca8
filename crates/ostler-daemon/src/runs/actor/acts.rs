//! What a run asks for, done.

use std::time::Duration;

use ostler_core::run::{Act, AgentId, Changes, Context, Event, Stop};
use ostler_core::{Proof, SessionName, State, Timestamp};
use ostler_protocol::{MessageInfo, OsText, SendTerms, StartRequest, StartupRequest};
use ostler_store::Session;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::super::checks;
use super::super::helper::{self, Question};
use super::super::minder::{Given, News, mind};
use super::super::record::{environment, look_again, short};
use super::{BACKLOG, Back, GRACE_MS, Minded, RunActor};
use crate::registry::Shared;
use crate::session::{Command as SessionCommand, SendCommand, SessionHandle};
use crate::{start, stop};

/// Letters of a task's name in the names of its agents.
const MAX_TASK: usize = 28;
/// Size of an agent's terminal.
const SIZE: (u16, u16) = (120, 40);
/// How often an agent that has not taken its prompt is asked whether its composer was ever seen.
const OPAQUE: Duration = Duration::from_secs(5);

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

    pub(super) fn start_agent(&mut self, act: Act, provider: &str) {
        let (shared, back) = (self.shared.clone(), self.back.clone());
        let request = self.start_request(act, provider);
        let id = request.id.clone();
        let stops = std::mem::take(&mut self.stops);
        self.starts.spawn(async move {
            settled(stops).await;
            let started = start::start(&shared, request).await;
            let told = match (started, shared.sessions.get(&id)) {
                (Ok(_), Some(handle)) => Back::Started { agent: act, handle },
                // It ended while nobody looked.
                (Ok(_), None) => Back::Ended { agent: act, stop: ending(&shared, &id).await },
                (Err(problem), _) => {
                    tracing::warn!(
                        session = id,
                        problem = problem.message,
                        "an agent of a run cannot be started"
                    );
                    Back::NotStarted { agent: act, reason: problem.message }
                }
            };
            let _ = back.send(told).await;
        });
    }

    /// After a restart: the agent that is there is minded again.
    pub(super) fn take_up_agent(&mut self) {
        let Some((agent, _)) = self.record.run.agent() else { return };
        if let Some(handle) = self.shared.sessions.get(&self.record.session_id(agent)) {
            let run = &self.record.run;
            let given = match self.record.sent {
                _ if run.is_starting() => Given::Nothing,
                Some(sent) if run.is_working() => Given::Prompt { sent, taken: run.prompted_at() },
                _ => Given::Delivering,
            };
            self.mind(agent, handle, given);
        }
    }

    /// After a restart: an agent that is not there has ended meanwhile.
    pub(super) async fn look_for_agent(&mut self) {
        let Some((agent, _)) = self.record.run.agent() else { return };
        if !self.record.run.is_starting() && !self.agents.contains_key(&agent) {
            let stop = ending(&self.shared, &self.record.session_id(agent)).await;
            self.handle(Event::AgentStopped { agent, stop }).await;
        }
    }

    pub(super) fn mind(&mut self, agent: AgentId, handle: SessionHandle, given: Given) {
        if self.agents.contains_key(&agent) {
            return;
        }
        let (sender, receiver) = watch::channel(given);
        let (news, mut inbox) = mpsc::channel(BACKLOG);
        let run = &self.record.run;
        tokio::spawn(mind(agent, handle.clone(), receiver, run.is_blocked(), run.policy().clone(), news));
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

    pub(super) async fn deliver(
        &mut self,
        act: Act,
        agent: AgentId,
        context: Option<Context>,
        prompt: String,
    ) {
        let before = context.as_ref().map_or("", |context| context.text.as_str());
        let text = format!("{before}{prompt}");
        let Some(minded) = self.agents.get(&agent) else {
            let stop = ending(&self.shared, &self.record.session_id(agent)).await;
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
        let (handle, back) = (minded.handle.clone(), self.back.clone());
        minded.given.send_replace(Given::Delivering);
        tokio::spawn(async move {
            let told = handle.tell(SessionCommand::Send(Box::new(command))).await;
            let accepted = if told.is_ok() { recorded.await.ok() } else { None };
            let reason = match accepted {
                Some(Ok(message)) => {
                    let message = if message.proof >= Proof::Submitted {
                        Ok(message)
                    } else {
                        settled_or_opaque(outcome, &handle).await
                    };
                    let message = match message {
                        Ok(message) => message,
                        Err(Unsettled::Gone) => return,
                        Err(Unsettled::Opaque) => {
                            let reason =
                                "the agent's composer was never seen, and nothing is typed blindly".into();
                            let _ = back.send(Back::NotSubmitted { act, reason }).await;
                            return;
                        }
                    };
                    if message.proof >= Proof::Submitted {
                        let proof = message
                            .evidence
                            .last()
                            .cloned()
                            .unwrap_or_else(|| message.proof.as_str().to_owned());
                        let sent = Timestamp(u64::try_from(message.created.as_millisecond()).unwrap_or(0));
                        let _ = back.send(Back::Submitted { act, agent, proof, sent }).await;
                        return;
                    }
                    message.failure.unwrap_or_else(|| "the agent did not take it".into())
                }
                Some(Err(problem)) => problem.message,
                // The session is gone; its minder says so.
                None => return,
            };
            // So does it for a program that has ended, and it knows how.
            let standing = handle.ask(SessionCommand::Standing).await;
            if standing.is_ok_and(|standing| standing.state != State::Exited) {
                let _ = back.send(Back::NotSubmitted { act, reason }).await;
            }
        });
    }

    /// Sees what has changed, when whoever could change more has ended.
    pub(super) fn observe(&mut self, act: Act) {
        let (shared, back, cwd) = (self.shared.clone(), self.back.clone(), self.record.cwd());
        let (id, before) = (self.record.request.id.clone(), self.record.tree);
        let stops = std::mem::take(&mut self.stops);
        self.works.spawn(async move {
            settled(stops).await;
            let (changes, tree) = look_again(&shared, &id, &cwd, before, act.step).await;
            let changes = changes.filter(tells).map(|changes| Changes {
                created: changes.created,
                modified: changes.updated,
                deleted: changes.deleted,
                more: 0,
            });
            let _ = back.send(Back::Observed { act, changes, tree }).await;
        });
    }

    pub(super) fn check(&mut self, act: Act) {
        let (back, cwd) = (self.back.clone(), self.record.cwd());
        let request = &self.record.request;
        let wanted = request.checks.clone();
        let env = environment(&self.shared, &request.id);
        let limit = Duration::from_secs(request.policy.check_secs);
        let mark = request.id.clone();
        self.works.spawn(async move {
            let results = checks::run(&wanted, act.attempt, &cwd, &env, limit, &mark).await;
            let _ = back.send(Back::Checked { act, results }).await;
        });
    }

    pub(super) fn ask_helper(&mut self, act: Act, context: Option<Context>, prompt: String) {
        let (shared, back, cwd) = (self.shared.clone(), self.back.clone(), self.record.cwd());
        let request = &self.record.request;
        let question = Question {
            named: request.helper.clone(),
            agents: request.agents.clone(),
            context: context.map(|context| context.text).unwrap_or_default(),
            task: prompt,
            criteria: request.criteria.clone(),
            env: environment(&self.shared, &request.id),
            limit: Duration::from_secs(request.policy.helper_secs),
        };
        self.works.spawn(async move {
            let event = match helper::ask(&shared, &cwd, question).await {
                Ok(answer) => Event::HelperAnswered { act, answer },
                Err(reason) => Event::HelperFailed { act, reason },
            };
            let _ = back.send(Back::News(News::Event(event))).await;
        });
    }

    pub(super) fn stop_agent(&mut self, agent: AgentId) {
        self.agents.remove(&agent);
        let (shared, session) = (self.shared.clone(), self.record.session_id(agent));
        if shared.sessions.get(&session).is_some() {
            self.stops.push(tokio::spawn(async move {
                if let Err(problem) = stop::stop(&shared, &session, GRACE_MS).await {
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

/// How an agent ended that is not there any more.
async fn ending(shared: &Shared, session: &str) -> Stop {
    let Some(session) = recorded(shared, session).await else { return Stop::Lost };
    match session.ending.map(|ending| (ending.status, ending.signal)) {
        Some(_) if session.stop_requested => Stop::Ended,
        Some((status, signal)) if status.is_some() || signal.is_some() => Stop::Exited { status, signal },
        _ => Stop::Lost,
    }
}

/// Whether somebody had the agent stopped.
pub(super) async fn was_stopped(shared: &Shared, session: &str) -> bool {
    recorded(shared, session).await.is_some_and(|session| session.stop_requested)
}

async fn recorded(shared: &Shared, session: &str) -> Option<Session> {
    let id = session.to_owned();
    shared.store.run(move |store| store.session(&id)).await.ok().flatten()
}

/// Why it is not known what became of a prompt.
enum Unsettled {
    /// The session is gone.
    Gone,
    /// It would wait for ever: there is no composer to type it into.
    Opaque,
}

/// What became of a prompt, unless it waits for an agent whose composer is never seen.
async fn settled_or_opaque(
    mut outcome: oneshot::Receiver<MessageInfo>,
    handle: &SessionHandle,
) -> Result<MessageInfo, Unsettled> {
    loop {
        if handle.ask(SessionCommand::Standing).await.is_ok_and(|standing| standing.opaque) {
            return Err(Unsettled::Opaque);
        }
        if let Ok(outcome) = tokio::time::timeout(OPAQUE, &mut outcome).await {
            return outcome.map_err(|_| Unsettled::Gone);
        }
    }
}
