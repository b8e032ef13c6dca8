//! What clients ask about sessions.

use std::path::Path;
use std::time::Duration;

use ostler_core::State;
use ostler_core::continuation::Event;
use ostler_core::queue::Priority;
use ostler_protocol::{
    CarryOnRequest, Explanation, InterruptInfo, Problem, ResumeRequest, SessionInfo, StartRequest,
};
use ostler_session::{CARRIES_ON, Carried};
use ostler_store::StoreHandle;

use super::messages::ended;
use super::metrics::deliveries_of;
use super::questions;
use crate::session::{Command, ended_info, keep_environment, process_info, store_problem};
use crate::sessions::{Found, Sessions};
use crate::starter::Starter;

/// Starts a program in a session, once: the same request again finds the session.
pub(crate) async fn start(starter: &Starter, request: StartRequest) -> Result<SessionInfo, Problem> {
    starter.start(request).await
}

/// Gives a session that has ended another process: same name, queue and history.
pub(crate) async fn resume(starter: &Starter, request: ResumeRequest) -> Result<SessionInfo, Problem> {
    starter.resume(request).await
}

/// Ends a session's whole process tree; returns when it is gone.
pub(crate) async fn stop(sessions: &Sessions, name: &str, grace_ms: u32) -> Result<SessionInfo, Problem> {
    crate::stop::stop(sessions, name, grace_ms).await
}

/// Carries an agent on, asks that it goes on, or holds everything automatic: of one session, or of all.
pub(crate) async fn carry_on(
    starter: &Starter,
    name: Option<&str>,
    request: CarryOnRequest,
) -> Result<Vec<SessionInfo>, Problem> {
    let sessions = &starter.sessions;
    let handles = if let Some(name) = name {
        match sessions.find(name).await? {
            Found::Live(handle) => vec![handle],
            Found::Ended(session) => {
                let prevents = matches!(request, CarryOnRequest::End | CarryOnRequest::Hold);
                let carried = session.memory.as_deref().and_then(Carried::read);
                let Some(carried) = carried.filter(|carried| prevents && carried.resumes_at().is_some())
                else {
                    return Err(super::messages::ended(&session.start.name));
                };
                sessions.stay_ended(session.start.id.clone(), carried, None).await;
                return Ok(vec![sessions.recorded_info(&session.start.id).await?]);
            }
        }
    } else {
        if matches!(request, CarryOnRequest::Hold) {
            keep_from_coming_back(sessions, &starter.store).await?;
        }
        sessions.all()
    };
    let mut found = Vec::new();
    for handle in handles {
        let events = match request.clone() {
            CarryOnRequest::Begin { terms, env } => {
                let cwd = sessions.existing_record(&handle.id).await?.start.cwd;
                let mut terms = starter.completed(terms, Path::new(&cwd)).await;
                if terms.goal.is_none() {
                    terms.goal = first_prompt(&starter.store, &handle.id).await;
                }
                let dir = starter.home.sessions().join(&handle.id);
                if let Err(error) = keep_environment(&dir, &env) {
                    tracing::warn!(%error, "checks will run in the daemon's environment");
                }
                vec![Event::Began(terms), Event::Requested]
            }
            CarryOnRequest::Request => vec![Event::Requested],
            CarryOnRequest::End => vec![Event::Ended],
            CarryOnRequest::Hold => vec![Event::Held(true)],
            CarryOnRequest::Release => vec![Event::Held(false)],
        };
        for event in events {
            let event = Box::new(event);
            let told = handle.ask(|done| Command::CarryOn { event, done }).await;
            if let Ok(info) = told {
                found.retain(|known: &SessionInfo| known.id != info.id);
                found.push(info);
            }
        }
    }
    Ok(found)
}

/// The first prompt that ostler gave a session's agent.
async fn first_prompt(store: &StoreHandle, id: &str) -> Option<String> {
    let id = id.to_owned();
    let found = store.run(move |store| {
        let prompt = store.list_messages(Some(&id), true, 1_000)?.into_iter().find(|message| {
            let terms = &message.terms;
            let typed = message.submitted.is_some() && !terms.raw && !terms.command;
            typed && terms.priority != Priority::Startup && terms.sender != CARRIES_ON
        });
        let Some(prompt) = prompt else { return Ok(None) };
        store.message_body(&id, &prompt.id)
    });
    String::from_utf8(found.await.ok()??).ok()
}

/// Nobody whose process has ended comes back.
async fn keep_from_coming_back(sessions: &Sessions, store: &StoreHandle) -> Result<(), Problem> {
    let recorded = store.run(|store| store.sessions(true)).await.map_err(|error| store_problem(&error))?;
    for session in recorded.into_iter().filter(|session| session.ending.is_some()) {
        let carried = session.memory.as_deref().and_then(Carried::read);
        if let Some(carried) = carried.filter(|carried| carried.resumes_at().is_some()) {
            sessions.stay_ended(session.start.id, carried, None).await;
        }
    }
    Ok(())
}

/// Stops the agent's turn; returns when it has come to rest, or has not in time.
pub(crate) async fn interrupt(
    sessions: &Sessions,
    name: &str,
    patience_ms: u32,
) -> Result<InterruptInfo, Problem> {
    let handle = match sessions.find(name).await? {
        Found::Live(handle) => handle,
        Found::Ended(session) => return Err(ended(&session.start.name)),
    };
    let patience = Duration::from_millis(patience_ms.into());
    let answer = handle.ask(|answer| Command::Interrupt { patience, answer }).await;
    answer.unwrap_or_else(|_| Err(ended(&handle.name)))
}

/// Lists sessions, oldest first; with `all`, those that have ended too.
pub(crate) async fn list(
    sessions: &Sessions,
    store: &StoreHandle,
    all: bool,
) -> Result<Vec<SessionInfo>, Problem> {
    let mut found = Vec::new();
    for handle in sessions.all() {
        match handle.ask(Command::Info).await {
            Ok(info) => found.push(info),
            // One that has ended meanwhile is left out; one that nobody could take up is not passed over.
            Err(_) => sessions.taken_up(&handle)?,
        }
    }
    if all {
        let recorded =
            store.run(|store| store.sessions(true)).await.map_err(|error| store_problem(&error))?;
        let ended = recorded.iter().filter(|session| session.ending.is_some()).map(ended_info);
        let live: Vec<String> = found.iter().map(|session| session.id.clone()).collect();
        found.extend(ended.filter(|session| !live.contains(&session.id)));
    }
    add_questions(store, &mut found).await;
    found.sort_by(|a, b| a.started.cmp(&b.started).then_with(|| a.id.cmp(&b.id)));
    Ok(found)
}

/// Shows one session.
pub(crate) async fn status(
    sessions: &Sessions,
    store: &StoreHandle,
    name: &str,
) -> Result<SessionInfo, Problem> {
    let mut info = match sessions.find(name).await? {
        Found::Live(handle) => match handle.ask(Command::Inspect).await {
            Ok(info) => info,
            Err(_) => sessions.recorded_info(&handle.id).await?,
        },
        Found::Ended(session) => ended_info(&session),
    };
    info.deliveries = deliveries_of(store, &info.id).await;
    add_questions(store, std::slice::from_mut(&mut info)).await;
    if info.process > 1 {
        let id = info.id.clone();
        let past = store.run(move |store| store.past_processes(&id)).await;
        info.past = past.map_err(|error| store_problem(&error))?.into_iter().map(process_info).collect();
    }
    Ok(info)
}

/// Adds what agents ask their owner, and is not answered. Sessions are shown also where the record cannot be read.
async fn add_questions(store: &StoreHandle, sessions: &mut [SessionInfo]) {
    let open = store.run(|store| store.questions(None, false, u32::MAX)).await;
    for question in open.unwrap_or_default() {
        if let Some(session) = sessions.iter_mut().find(|session| session.id == question.session) {
            session.questions.push(questions::shown(question));
        }
    }
}

/// Explains why a session is in its state.
pub(crate) async fn explain(sessions: &Sessions, name: &str) -> Result<Explanation, Problem> {
    let ended = |session| Explanation { session, signals: Vec::new(), rules: Vec::new(), files: Vec::new() };
    match sessions.find(name).await? {
        Found::Live(handle) => match handle.ask(Command::Explain).await {
            Ok(explanation) => Ok(explanation),
            Err(_) => sessions.recorded_info(&handle.id).await.map(ended),
        },
        Found::Ended(session) => Ok(ended(ended_info(&session))),
    }
}

/// Waits until a session is in one of these states, or can no longer be.
pub(crate) async fn wait(
    sessions: &Sessions,
    store: &StoreHandle,
    name: &str,
    states: &[State],
) -> Result<SessionInfo, Problem> {
    let mut handle = match sessions.find(name).await? {
        Found::Live(handle) => handle,
        Found::Ended(session) => return Ok(ended_info(&session)),
    };
    let wanted = |state: State| states.contains(&state) || state == State::Exited;
    loop {
        let mut state = handle.state.clone();
        // An actor that ends drops its side, and an ended session is no longer waited for.
        let ended = state.wait_for(|state| wanted(*state)).await.is_err();
        let found = status(sessions, store, &handle.id).await;
        // It may have been so for a moment only, and is something else by the time it is asked.
        if ended || found.as_ref().map_or(true, |info| wanted(info.state)) {
            return found;
        }
        if state.changed().await.is_err() {
            // It was resumed, and has another actor.
            handle = match sessions.find(&handle.id).await? {
                Found::Live(handle) => handle,
                Found::Ended(session) => return Ok(ended_info(&session)),
            };
        }
    }
}
