//! Agents that come back: their process crashed, and is run again.
//!
//! When is decided by the session and recorded with its end ([`Carried::resumes_at`]), so that another daemon, or the same one
//! after a reboot, goes on with it.

use std::sync::Arc;
use std::time::Duration;

use ostler_core::message::MessageState;
use ostler_protocol::{OsText, ResumeRequest};
use ostler_session::Carried;
use ostler_store::{NewEvent, Session, StoreHandle};
use serde_json::json;
use tokio::sync::Notify;

use crate::api::messages;
use crate::clock;
use crate::session::environment;
use crate::starter::Starter;

/// No moment of the wall clock is waited for longer without a look at it.
const GLANCE: Duration = Duration::from_mins(10);
/// Messages that are looked through for those that waited.
const MESSAGES: u32 = 1_000;

/// Runs processes again when their time has come; `ended` tells when another session has ended.
pub(crate) async fn run(store: StoreHandle, starter: Starter, ended: Arc<Notify>) {
    loop {
        let mut next = None;
        for (session, carried) in waiting(&store).await {
            let Some(at) = carried.resumes_at() else { continue };
            let left = at.since(clock::now());
            if left.is_zero() {
                bring_back(&store, &starter, session, carried).await;
            } else {
                next = Some(next.map_or(left, |soonest: Duration| soonest.min(left)));
            }
        }
        match next {
            Some(left) => tokio::select! {
                () = tokio::time::sleep(left.min(GLANCE)) => {}
                () = ended.notified() => {}
            },
            None => ended.notified().await,
        }
    }
}

/// Ended sessions whose process is to be run again.
async fn waiting(store: &StoreHandle) -> Vec<(Session, Carried)> {
    let sessions = store.run(|store| store.sessions(true)).await;
    let sessions = sessions.inspect_err(|error| tracing::error!(%error, "who is to come back is not known"));
    let carried = |session: Session| {
        let carried = Carried::read(session.memory.as_deref()?)?;
        (session.ending.is_some() && carried.resumes_at().is_some()).then_some((session, carried))
    };
    sessions.unwrap_or_default().into_iter().filter_map(carried).collect()
}

async fn bring_back(store: &StoreHandle, starter: &Starter, session: Session, carried: Carried) {
    let id = session.start.id.clone();
    let env: Vec<(OsText, OsText)> = environment(&starter.home.sessions().join(&id));
    let request = ResumeRequest {
        // The same for the same end: whoever asks again finds the process.
        id: format!("{id}-{}", session.process + 1),
        name: id.clone(),
        args: None,
        fresh: false,
        env,
        extra_env: Vec::new(),
        open_files: 0,
        umask: 0o022,
    };
    let Err(problem) = starter.resume(request).await else {
        return send_again(store, starter, &id).await;
    };
    tracing::warn!(session = %session.start.name, problem = problem.message, "it does not come back");
    let trouble = format!("it cannot be run again: {}", problem.message);
    starter.sessions.stay_ended(id.clone(), carried, Some(trouble)).await;
    let event = NewEvent {
        at: clock::now(),
        session: Some(id),
        event: "continuation.notified",
        details: json!({ "why": format!("it cannot be run again: {}", problem.message) }),
    };
    if let Err(error) = store.run(move |store| store.record(&event)).await {
        tracing::error!(%error, "not recorded");
    }
}

/// What waited for the agent when its process ended waits for it again.
async fn send_again(store: &StoreHandle, starter: &Starter, id: &str) {
    let session = id.to_owned();
    let waiting = store
        .run(move |store| store.list_messages(Some(&session), false, MESSAGES))
        .await
        .unwrap_or_default();
    let unsent = waiting.into_iter().filter(|message| {
        let ended = message.failure.as_deref() == Some(ostler_core::delivery::HoldReason::Ended.as_str());
        ended && message.state == MessageState::Failed && message.attempts == 0
    });
    for message in unsent {
        let sent = messages::retry(&starter.sessions, store, &message.id, Some(id)).await;
        if let Err(problem) = sent {
            tracing::warn!(session = id, message = message.id, problem = problem.message, "not sent again");
        }
    }
}
