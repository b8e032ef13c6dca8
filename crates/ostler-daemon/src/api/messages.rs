//! What clients ask about messages.

use std::collections::BTreeMap;

use ostler_protocol::{Code, ErrorKind, MessageInfo, Problem, Proof, SendTerms};
use ostler_store::{Message, Store, StoreHandle};
use tokio::sync::oneshot;

use crate::clock;
use crate::session::{
    Command, SendCommand, SessionHandle, droppable, message_info, reused_id, store_problem,
};
use crate::sessions::{Found, Sessions};

/// Most messages in one answer.
const MAX_MESSAGES: u32 = 1_000;

/// A message as it comes from a client.
#[derive(Debug)]
pub(crate) struct Draft {
    /// Makes the message the same one when it is sent again.
    pub(crate) id: String,
    pub(crate) body: Vec<u8>,
    /// How it is to be delivered.
    pub(crate) terms: SendTerms,
}

/// A message that is recorded.
#[derive(Debug)]
pub(crate) enum Sent {
    /// As much is proven as was asked for, or will ever be.
    Settled(MessageInfo),
    /// More has to be proven.
    Pending(Pending),
}

/// A message of which more has to be proven.
#[derive(Debug)]
pub(crate) struct Pending {
    store: StoreHandle,
    session: SessionHandle,
    id: String,
    body: Vec<u8>,
    outcome: oneshot::Receiver<MessageInfo>,
}

impl Sent {
    /// Waits until as much is proven as was asked for, or will ever be. Delivery goes on if nobody waits.
    pub(crate) async fn settled(self) -> Result<MessageInfo, Problem> {
        let Pending { store, session, id, body, outcome } = match self {
            Self::Settled(message) => return Ok(message),
            Self::Pending(pending) => pending,
        };
        match outcome.await {
            Ok(message) => Ok(message),
            Err(_) => known_message(&store, session.id, session.name, id, body).await,
        }
    }
}

/// Sends a message. When this returns, the message is recorded; [`Sent::settled`] waits for the proof.
pub(crate) async fn send(
    sessions: &Sessions,
    store: &StoreHandle,
    name: &str,
    draft: Draft,
    wait: Proof,
) -> Result<Sent, Problem> {
    let Draft { id, body, terms } = draft;
    if body.len() > ostler_hold::wire::MAX_INPUT {
        let limit = ostler_hold::wire::MAX_INPUT;
        return Err(Problem::new(
            ErrorKind::Usage,
            format!("{} bytes are too many for one message", body.len()),
        )
        .code(Code::MessageTooLong)
        .about("limit", limit.to_string())
        .hint(format!("send at most {limit} bytes at a time")));
    }
    let session = match sessions.find(name).await? {
        Found::Live(handle) => handle,
        Found::Ended(session) => {
            let known = known_message(store, session.start.id, session.start.name, id, body).await;
            return known.map(Sent::Settled);
        }
    };
    let (queued, recorded) = oneshot::channel();
    let (settled, outcome) = oneshot::channel();
    let command = SendCommand { id: id.clone(), body: body.clone(), terms, wait, queued, settled };
    let recorded = match session.send(Command::Send(Box::new(command))).await {
        Ok(()) => recorded.await.ok(),
        Err(_) => None,
    };
    match recorded {
        None => known_message(store, session.id, session.name, id, body).await.map(Sent::Settled),
        Some(Err(problem)) => Err(problem),
        Some(Ok(message)) if message.proof >= wait => Ok(Sent::Settled(message)),
        Some(Ok(_)) => Ok(Sent::Pending(Pending { store: store.clone(), session, id, body, outcome })),
    }
}

/// A message to a session that has ended: it may have arrived before.
async fn known_message(
    store: &StoreHandle,
    session: String,
    name: String,
    id: String,
    body: Vec<u8>,
) -> Result<MessageInfo, Problem> {
    let look = move |store: &mut Store| {
        Ok(store.message(&session, &id)?.zip(Some(store.has_body(&session, &id, &body)?)))
    };
    match store.run(look).await.map_err(|error| store_problem(&error))? {
        Some((message, false)) => Err(reused_id(&message.id)),
        Some((message, true)) => Ok(message_info(&name, &message)),
        None => Err(ended(&name)),
    }
}

/// Waits until a message is proven to have got so far, or never will.
pub(crate) async fn wait(
    sessions: &Sessions,
    store: &StoreHandle,
    name: &str,
    id: String,
    wait: Proof,
) -> Result<MessageInfo, Problem> {
    let (session, name) = match sessions.find(name).await? {
        Found::Live(handle) => {
            let (answer, outcome) = oneshot::channel();
            if handle.send(Command::Await { id: id.clone(), wait, answer }).await.is_ok()
                && let Ok(message) = outcome.await
            {
                return Ok(message);
            }
            (handle.id, handle.name)
        }
        Found::Ended(session) => (session.start.id, session.start.name),
    };
    let wanted = id.clone();
    let found = store.run(move |store| store.message(&session, &wanted)).await;
    match found.map_err(|error| store_problem(&error))? {
        Some(message) => Ok(message_info(&name, &message)),
        None => Err(not_found(&id)),
    }
}

/// Lists messages, of one session or of all, oldest first; with `all`, those that arrived too.
pub(crate) async fn list(
    sessions: &Sessions,
    store: &StoreHandle,
    name: Option<&str>,
    all: bool,
) -> Result<Vec<MessageInfo>, Problem> {
    let session = match name {
        Some(name) => Some(sessions.find(name).await?.into_id()),
        None => None,
    };
    let list = move |store: &mut Store| {
        let recorded = store.sessions(true)?.into_iter();
        let names: BTreeMap<String, String> =
            recorded.map(|session| (session.start.id, session.start.name)).collect();
        Ok((names, store.list_messages(session.as_deref(), all, MAX_MESSAGES)?))
    };
    let (names, found) = store.run(list).await.map_err(|error| store_problem(&error))?;
    let mut messages = Vec::new();
    for message in found {
        // Its actor knows more than the record.
        let live = match sessions.get(&message.session) {
            Some(handle) => {
                let asked = handle.ask(|answer| Command::Message { id: message.id.clone(), answer });
                asked.await.ok().flatten()
            }
            None => None,
        };
        let name = names.get(&message.session).map_or("", String::as_str);
        messages.push(live.unwrap_or_else(|| message_info(name, &message)));
    }
    Ok(messages)
}

/// Tries a message again that failed.
pub(crate) async fn retry(
    sessions: &Sessions,
    store: &StoreHandle,
    id: &str,
    name: Option<&str>,
) -> Result<MessageInfo, Problem> {
    let (handle, id) = session_of(sessions, store, id, name).await?;
    let answer = handle.ask(|answer| Command::RetryMessage { id, answer }).await;
    answer.unwrap_or_else(|_| Err(ended(&handle.name)))
}

/// Drops a message that is under way, or that failed; the latter also when its session has ended.
pub(crate) async fn drop(
    sessions: &Sessions,
    store: &StoreHandle,
    id: &str,
    name: Option<&str>,
) -> Result<MessageInfo, Problem> {
    if let [message] = messages_called(sessions, store, id, name).await?.as_slice()
        && let Found::Ended(session) = sessions.find(&message.session).await?
    {
        droppable(message)?;
        let (of, id) = (message.session.clone(), message.id.clone());
        let settle = move |store: &mut Store| {
            store.end_pending_context(&of, &id)?;
            store.drop_given_up(&of, &id, clock::now())
        };
        store.run(settle).await.map_err(|error| store_problem(&error))?;
        return Ok(message_info(&session.start.name, message));
    }
    let (handle, id) = session_of(sessions, store, id, name).await?;
    let answer = handle.ask(|answer| Command::DropMessage { id, answer }).await;
    answer.unwrap_or_else(|_| Err(ended(&handle.name)))
}

/// Confirms a message on behalf of the agent that got it.
pub(crate) async fn acknowledge(
    sessions: &Sessions,
    store: &StoreHandle,
    id: &str,
    session: Option<&str>,
) -> Result<MessageInfo, Problem> {
    let (handle, id) = session_of(sessions, store, id, session).await?;
    let answer = handle.ask(|answer| Command::Acknowledge { id, answer }).await;
    answer.unwrap_or_else(|_| Err(ended(&handle.name)))
}

/// The messages that have an id, in one session or in any; there is one at least.
async fn messages_called(
    sessions: &Sessions,
    store: &StoreHandle,
    id: &str,
    name: Option<&str>,
) -> Result<Vec<Message>, Problem> {
    let wanted = id.to_owned();
    let found = store.run(move |store| store.find_messages(&wanted)).await;
    let found: Vec<Message> = found.map_err(|error| store_problem(&error))?;
    let session = match name {
        Some(name) => Some(sessions.find(name).await?.into_id()),
        None => None,
    };
    let of = |message: &Message| session.as_ref().is_none_or(|session| *session == message.session);
    let candidates: Vec<Message> = found.into_iter().filter(of).collect();
    if candidates.is_empty() {
        return Err(not_found(id));
    }
    Ok(candidates)
}

/// Finds the running session that has a message.
async fn session_of(
    sessions: &Sessions,
    store: &StoreHandle,
    id: &str,
    name: Option<&str>,
) -> Result<(SessionHandle, String), Problem> {
    let candidates = messages_called(sessions, store, id, name).await?;
    let mut live: Vec<SessionHandle> =
        candidates.iter().filter_map(|message| sessions.get(&message.session)).collect();
    match (live.pop(), live.is_empty()) {
        (Some(handle), true) => Ok((handle, id.to_owned())),
        (Some(_), false) => {
            Err(Problem::new(ErrorKind::Usage, format!("several sessions have a message {id:?}"))
                .code(Code::MessageAmbiguous)
                .about("message", id))
        }
        (None, _) => Err(Problem::new(ErrorKind::Ended, format!("the session of message {id:?} has ended"))
            .code(Code::MessageSessionEnded)
            .about("message", id)),
    }
}

fn not_found(id: &str) -> Problem {
    Problem::new(ErrorKind::NotFound, format!("there is no message {id:?}"))
        .code(Code::MessageNotFound)
        .about("message", id)
}

pub(super) fn ended(name: &str) -> Problem {
    Problem::new(ErrorKind::Ended, format!("session {name:?} has ended"))
        .code(Code::SessionEnded)
        .about("session", name)
}
