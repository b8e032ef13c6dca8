//! What clients ask about messages.

use std::collections::BTreeMap;

use ostler_protocol::frame::FrameError;
use ostler_protocol::{ErrorKind, MessageInfo, Metrics, Problem, Proof, Response, SendTerms};
use ostler_store::{DeliveryCounts, Message, Store};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::Connection;
use crate::clock;
use crate::registry::{Found, Shared};
use crate::session::{
    Command, SendCommand, SessionHandle, droppable, message_info, reused_id, store_problem,
};

/// Most messages in one answer.
const MAX_MESSAGES: u32 = 1_000;

/// A message as it comes from a client.
pub(super) struct Sent {
    pub(super) id: String,
    pub(super) body: Vec<u8>,
    pub(super) terms: SendTerms,
}

fn response(message: MessageInfo) -> Response {
    Response::Message(Box::new(message))
}

impl Connection {
    pub(super) async fn send(
        &mut self,
        name: &str,
        sent: Sent,
        wait: Proof,
    ) -> Result<Result<Response, Problem>, FrameError> {
        let Sent { id, body, terms } = sent;
        if body.len() > ostler_hold::wire::MAX_INPUT {
            let limit = ostler_hold::wire::MAX_INPUT;
            let problem =
                Problem::new(ErrorKind::Usage, format!("{} bytes are too many for one message", body.len()))
                    .hint(format!("send at most {limit} bytes at a time"));
            return Ok(Err(problem));
        }
        let handle = match self.shared.find(name).await {
            Ok(Found::Live(handle)) => handle,
            Ok(Found::Ended(session)) => {
                return Ok(self.known_message(session.start.id, session.start.name, id, body).await);
            }
            Err(problem) => return Ok(Err(problem)),
        };
        let (queued, recorded) = oneshot::channel();
        let (settled, outcome) = oneshot::channel();
        let command = SendCommand { id: id.clone(), body: body.clone(), terms, wait, queued, settled };
        let recorded = match handle.tell(Command::Send(Box::new(command))).await {
            Ok(()) => recorded.await.ok(),
            Err(_) => None,
        };
        let message = match recorded {
            None => return Ok(self.known_message(handle.id, handle.name, id, body).await),
            Some(Err(problem)) => return Ok(Err(problem)),
            Some(Ok(message)) => message,
        };
        if message.proof >= wait {
            return Ok(Ok(response(message)));
        }
        // The client may give up while the program does not read.
        tokio::select! {
            settled = outcome => match settled {
                Ok(message) => Ok(Ok(response(message))),
                Err(_) => Ok(self.known_message(handle.id, handle.name, id, body).await),
            },
            left = self.left() => Err(left),
        }
    }

    /// A message to a session that has ended: it may have arrived before.
    async fn known_message(
        &self,
        session: String,
        name: String,
        id: String,
        body: Vec<u8>,
    ) -> Result<Response, Problem> {
        let look = move |store: &mut Store| {
            Ok(store.message(&session, &id)?.zip(Some(store.has_body(&session, &id, &body)?)))
        };
        match self.shared.store.run(look).await.map_err(|error| store_problem(&error))? {
            Some((message, false)) => Err(reused_id(&message.id)),
            Some((message, true)) => Ok(response(message_info(&name, &message))),
            None => Err(Problem::new(ErrorKind::Ended, format!("session {name:?} has ended"))
                .hint(format!("ostler status {name} says how; ostler start begins a new one"))),
        }
    }

    pub(super) async fn await_message(
        &mut self,
        name: &str,
        id: String,
        wait: Proof,
    ) -> Result<Result<Response, Problem>, FrameError> {
        let (session, name) = match self.shared.find(name).await {
            Ok(Found::Live(handle)) => {
                let (answer, outcome) = oneshot::channel();
                if handle.tell(Command::Await { id: id.clone(), wait, answer }).await.is_ok() {
                    tokio::select! {
                        outcome = outcome => if let Ok(message) = outcome {
                            return Ok(Ok(response(message)));
                        },
                        left = self.left() => return Err(left),
                    }
                }
                (handle.id, handle.name)
            }
            Ok(Found::Ended(session)) => (session.start.id, session.start.name),
            Err(problem) => return Ok(Err(problem)),
        };
        let (of, wanted) = (session, id.clone());
        let found = self.shared.store.run(move |store| store.message(&of, &wanted)).await;
        Ok(match found {
            Ok(Some(message)) => Ok(response(message_info(&name, &message))),
            Ok(None) => Err(Problem::new(ErrorKind::NotFound, format!("there is no message {id:?}"))),
            Err(error) => Err(store_problem(&error)),
        })
    }

    pub(super) async fn messages(&self, name: Option<String>, all: bool) -> Result<Response, Problem> {
        let session = match name {
            None => None,
            Some(name) => Some(match self.shared.find(&name).await? {
                Found::Live(handle) => handle.id,
                Found::Ended(session) => session.start.id,
            }),
        };
        let list = move |store: &mut Store| {
            let names: BTreeMap<String, String> = store
                .sessions(true)?
                .into_iter()
                .map(|session| (session.start.id, session.start.name))
                .collect();
            Ok((names, store.list_messages(session.as_deref(), all, MAX_MESSAGES)?))
        };
        let (names, found) = self.shared.store.run(list).await.map_err(|error| store_problem(&error))?;
        let mut messages = Vec::new();
        for message in found {
            // Who has it in hand knows more than the record.
            let live = match self.shared.sessions.get(&message.session) {
                Some(handle) => handle
                    .ask(|answer| Command::Message { id: message.id.clone(), answer })
                    .await
                    .ok()
                    .flatten(),
                None => None,
            };
            let name = names.get(&message.session).map_or("", String::as_str);
            messages.push(live.unwrap_or_else(|| message_info(name, &message)));
        }
        Ok(Response::Messages { messages })
    }

    pub(super) async fn retry_message(&self, id: &str, name: Option<&str>) -> Result<Response, Problem> {
        let (handle, id) = self.message_of(id, name).await?;
        let answer = handle.ask(|answer| Command::RetryMessage { id, answer }).await;
        answer.unwrap_or_else(|_| Err(ended(&handle.name))).map(response)
    }

    /// Gives up a message that is under way; one that was given up is done with, also when its session has ended.
    pub(super) async fn drop_message(&self, id: &str, name: Option<&str>) -> Result<Response, Problem> {
        if let [message] = self.messages_called(id, name).await?.as_slice()
            && let Found::Ended(session) = self.shared.find(&message.session).await?
        {
            droppable(message)?;
            let (of, id) = (message.session.clone(), message.id.clone());
            let settle = move |store: &mut Store| {
                store.end_pending_context(&of, &id)?;
                store.drop_given_up(&of, &id, clock::now())
            };
            self.shared.store.run(settle).await.map_err(|error| store_problem(&error))?;
            return Ok(response(message_info(&session.start.name, message)));
        }
        let (handle, id) = self.message_of(id, name).await?;
        let answer = handle.ask(|answer| Command::DropMessage { id, answer }).await;
        answer.unwrap_or_else(|_| Err(ended(&handle.name))).map(response)
    }

    pub(super) async fn acknowledge(&self, id: &str, session: Option<&str>) -> Result<Response, Problem> {
        let (handle, id) = self.message_of(id, session).await?;
        let answer = handle.ask(|answer| Command::Acknowledge { id, answer }).await;
        answer.unwrap_or_else(|_| Err(ended(&handle.name))).map(response)
    }

    /// The messages that bear an id, in one session or in any; there is one at least.
    async fn messages_called(&self, id: &str, name: Option<&str>) -> Result<Vec<Message>, Problem> {
        let wanted = id.to_owned();
        let found: Vec<Message> = self
            .shared
            .store
            .run(move |store| store.find_messages(&wanted))
            .await
            .map_err(|error| store_problem(&error))?;
        let session = match name {
            Some(name) => Some(match self.shared.find(name).await? {
                Found::Live(handle) => handle.id,
                Found::Ended(session) => session.start.id,
            }),
            None => None,
        };
        let of = |message: &Message| session.as_ref().is_none_or(|session| *session == message.session);
        let candidates: Vec<Message> = found.into_iter().filter(of).collect();
        if candidates.is_empty() {
            return Err(Problem::new(ErrorKind::NotFound, format!("there is no message {id:?}"))
                .hint("ostler messages list --all shows them"));
        }
        Ok(candidates)
    }

    /// Finds the running session that has a message.
    async fn message_of(&self, id: &str, name: Option<&str>) -> Result<(SessionHandle, String), Problem> {
        let candidates = self.messages_called(id, name).await?;
        let mut live: Vec<SessionHandle> =
            candidates.iter().filter_map(|message| self.shared.sessions.get(&message.session)).collect();
        match (live.pop(), live.is_empty()) {
            (Some(handle), true) => Ok((handle, id.to_owned())),
            (Some(_), false) => {
                Err(Problem::new(ErrorKind::Usage, format!("several sessions have a message {id:?}"))
                    .hint("say which one with --session NAME"))
            }
            (None, _) => {
                Err(Problem::new(ErrorKind::Ended, format!("the session of message {id:?} has ended")))
            }
        }
    }

    pub(super) async fn metrics(&self) -> Result<Response, Problem> {
        let (counts, injections, runs) = self
            .shared
            .store
            .run(|store| {
                Ok((store.delivery_counts(None)?, store.counts("context_injection.")?, store.counts("run.")?))
            })
            .await
            .map_err(|error| store_problem(&error))?;
        let (context_injections, runs) = (injections.into_iter().collect(), runs.into_iter().collect());
        let mut sessions = BTreeMap::new();
        for handle in self.shared.sessions.all() {
            *sessions.entry(handle.state.borrow().as_str().to_owned()).or_insert(0) += 1;
        }
        let deliveries = as_map(counts).unwrap_or_default();
        Ok(Response::Metrics(Box::new(Metrics { deliveries, sessions, context_injections, runs })))
    }
}

/// What became of the prompts of a session, if there were any.
pub(super) async fn delivered(shared: &Shared, session: &str) -> Option<Map<String, Value>> {
    let session = session.to_owned();
    let counts = shared.store.run(move |store| store.delivery_counts(Some(&session))).await.ok()?;
    as_map(counts).filter(|_| counts.sent > 0)
}

fn as_map(counts: DeliveryCounts) -> Option<Map<String, Value>> {
    match serde_json::to_value(counts) {
        Ok(Value::Object(counts)) => Some(counts),
        _ => None,
    }
}

fn ended(name: &str) -> Problem {
    Problem::new(ErrorKind::Ended, format!("session {name:?} has ended"))
}
