//! The sessions that are looked after now.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ostler_core::State;
use ostler_core::breaker::Breakers;
use ostler_hold::Launcher;
use ostler_protocol::{ErrorKind, Problem};
use ostler_store::Session;
use ostler_store::shared::AnyShared;

use crate::hints::Hints;
use crate::home::Home;
use crate::hooks::Hooks;
use crate::judge::Turns;
use crate::knowledge::Knowledge;
use crate::runs::{Owner, Runs};
use crate::session::{Actor, Origin, SessionHandle, store_problem};
use crate::store_thread::StoreHandle;
use crate::transcript::Transcripts;

/// Pause before a failed actor is replaced, so that a defect that strikes at once does not spin.
const AFTER_A_DEFECT: Duration = Duration::from_secs(1);

/// What every part of the daemon has in common.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    pub(crate) home: Arc<Home>,
    /// The name of the home in what is shared.
    pub(crate) owner: Owner,
    pub(crate) store: StoreHandle,
    /// What may be shared with other machines: runs and breakers.
    pub(crate) common: AnyShared,
    pub(crate) runs: Runs,
    /// The breakers as they were last known.
    pub(crate) breakers: Arc<tokio::sync::Mutex<Breakers>>,
    /// Number of this daemon; holders refuse input of earlier ones.
    pub(crate) epoch: u64,
    pub(crate) launcher: Arc<Launcher>,
    /// The program that hooks are to call.
    pub(crate) executable: Arc<Path>,
    pub(crate) sessions: Sessions,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) knowledge: Arc<Knowledge>,
    /// Word of changed files.
    pub(crate) hints: Hints,
    pub(crate) transcripts: Transcripts,
    /// Questions to the judge, over all sessions.
    pub(crate) turns: Turns,
    /// Whether programs are told that their status is understood (OSC 7501).
    pub(crate) answer_status: bool,
}

/// Tickets to the actors, by session id.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sessions(Arc<Mutex<HashMap<String, SessionHandle>>>);

impl Sessions {
    fn with<T>(&self, look: impl FnOnce(&mut HashMap<String, SessionHandle>) -> T) -> T {
        // The map is consistent between any two statements, so a panic elsewhere does not spoil it.
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn get(&self, id: &str) -> Option<SessionHandle> {
        self.with(|sessions| sessions.get(id).cloned())
    }

    pub(crate) fn all(&self) -> Vec<SessionHandle> {
        self.with(|sessions| sessions.values().cloned().collect())
    }

    pub(crate) fn named(&self, name: &str) -> Option<SessionHandle> {
        let meant = |handle: &&SessionHandle| handle.name == name || handle.id == name;
        // A name is free as soon as its program has ended, while the actor may have to see to the rest.
        let rank = |handle: &&SessionHandle| (*handle.state.borrow() != State::Exited, handle.id.clone());
        self.with(|sessions| sessions.values().filter(meant).max_by_key(rank).cloned())
    }

    pub(crate) fn remove(&self, id: &str) {
        self.with(|sessions| sessions.remove(id));
    }

    fn insert(&self, handle: SessionHandle) {
        self.with(|sessions| sessions.insert(handle.id.clone(), handle));
    }
}

/// A session that a user named.
#[derive(Debug)]
pub(crate) enum Found {
    /// An actor looks after it.
    Live(SessionHandle),
    /// It has ended.
    Ended(Box<Session>),
}

impl Shared {
    /// Starts an actor for a session.
    pub(crate) fn look_after(&self, record: Session, origin: Origin) -> SessionHandle {
        let (actor, handle) = Actor::new(self.clone(), record, &origin);
        self.sessions.insert(handle.clone());
        let (shared, id) = (self.clone(), handle.id.clone());
        let task = tokio::spawn(actor.run(origin));
        tokio::spawn(async move {
            if task.await.is_err() {
                shared.replace(&id).await;
            }
        });
        handle
    }

    /// Gives a session whose actor failed to a new one, as a new daemon would.
    async fn replace(&self, id: &str) {
        tracing::error!(session = id, "the session's actor failed; another one takes over");
        self.sessions.remove(id);
        tokio::time::sleep(AFTER_A_DEFECT).await;
        let wanted = id.to_owned();
        match self.store.run(move |store| store.session(&wanted)).await {
            Ok(Some(record)) if record.ending.is_none() => drop(self.look_after(record, Origin::Recovered)),
            Ok(_) => {}
            Err(error) => tracing::error!(session = id, %error, "the session is left alone"),
        }
    }

    /// Finds the session a user means by a name or an id.
    pub(crate) async fn find(&self, name: &str) -> Result<Found, Problem> {
        if let Some(handle) = self.sessions.named(name) {
            return Ok(Found::Live(handle));
        }
        let wanted = name.to_owned();
        let found = self
            .store
            .run(move |store| match store.find_session(&wanted)? {
                Some(id) => store.session(&id),
                None => Ok(None),
            })
            .await
            .map_err(|error| store_problem(&error))?;
        match found {
            Some(session) => match self.sessions.get(&session.start.id) {
                Some(handle) => Ok(Found::Live(handle)),
                None if session.ending.is_some() => Ok(Found::Ended(Box::new(session))),
                None => Err(Problem::new(ErrorKind::Failed, format!("session {name:?} is being taken up"))
                    .hint("try again in a moment")),
            },
            None => Err(Problem::new(ErrorKind::NotFound, format!("there is no session called {name:?}"))
                .hint("ostler list --all shows the sessions there are")),
        }
    }
}
