//! All sessions: their actors, and finding the one that a user means.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ostler_protocol::{Code, ErrorKind, Problem, SessionInfo};
use ostler_session::Carried;
use ostler_store::{Session, StoreError, StoreHandle};

use crate::knowledge::Knowledge;
use crate::session::{
    Actor, Command, Handles, Origin, Services, SessionHandle, ended_info, mailbox, store_problem,
};
use crate::survivors::Survivors;

/// Pause before a failed actor is replaced, so that a defect that strikes at once does not spin.
const AFTER_A_DEFECT: Duration = Duration::from_secs(1);

/// How often a session that is being started or taken up is looked for, and how long between the looks.
const LOOKS: u32 = 50;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// All sessions.
#[derive(Debug, Clone)]
pub(crate) struct Sessions {
    /// What each actor gets.
    services: Services,
    /// Ids of those whose processes are being ended: each gets no other process meanwhile.
    stopping: Arc<Mutex<Vec<String>>>,
    /// What is left of sessions whose holder is gone.
    pub(crate) survivors: Survivors,
    /// What hooks reported while there was no daemon was handed to the sessions.
    spool_heard: Arc<AtomicBool>,
}

/// Says that a session's processes are being ended, until it is dropped.
#[derive(Debug)]
pub(crate) struct Stopping {
    stopping: Arc<Mutex<Vec<String>>>,
    id: String,
}

impl Drop for Stopping {
    fn drop(&mut self) {
        let mut stopping = self.stopping.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = stopping.iter().position(|id| *id == self.id) {
            stopping.swap_remove(at);
        }
    }
}

/// A session that a user named.
#[derive(Debug)]
pub(crate) enum Found {
    /// It has an actor.
    Live(SessionHandle),
    /// It has ended.
    Ended(Box<Session>),
}

impl Found {
    /// The id of the session.
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Live(handle) => &handle.id,
            Self::Ended(session) => &session.start.id,
        }
    }

    /// The id of the session.
    pub(crate) fn into_id(self) -> String {
        match self {
            Self::Live(handle) => handle.id,
            Self::Ended(session) => session.start.id,
        }
    }
}

impl Sessions {
    pub(crate) fn new(services: Services) -> Self {
        Self {
            services,
            stopping: Arc::default(),
            survivors: Survivors::default(),
            spool_heard: Arc::default(),
        }
    }

    fn handles(&self) -> &Handles {
        &self.services.sessions
    }

    /// The process of a session that has ended is not run again after all.
    pub(crate) async fn stay_ended(&self, id: String, carried: Carried, trouble: Option<String>) {
        let Some(memory) = carried.stay_ended(trouble) else { return };
        let forgotten = self.store().run(move |store| store.ended_session_remembers(&id, &memory)).await;
        if let Err(error) = forgotten {
            tracing::error!(%error, "it is not recorded that a session stays ended");
        }
    }

    fn store(&self) -> &StoreHandle {
        &self.services.store
    }

    /// What is known of agents.
    pub(crate) fn knowledge(&self) -> &Arc<Knowledge> {
        &self.services.knowledge
    }

    /// The session with this id, if it has an actor.
    pub(crate) fn get(&self, id: &str) -> Option<SessionHandle> {
        self.handles().get(id)
    }

    /// All sessions that have an actor.
    pub(crate) fn all(&self) -> Vec<SessionHandle> {
        self.handles().all()
    }

    /// Starts an actor for a session.
    pub(crate) fn spawn_actor(&self, record: Session, origin: Origin) -> SessionHandle {
        let (mailbox, handle) = mailbox(&self.services, &record);
        self.handles().insert(handle.clone());
        if self.spool_heard.load(Ordering::SeqCst) {
            tell_spool_heard(handle.clone());
        }
        let (sessions, id, process) = (self.clone(), handle.id.clone(), handle.process);
        let task = tokio::spawn(Actor::run(self.services.clone(), record, origin, mailbox));
        tokio::spawn(async move {
            if task.await.is_err() {
                sessions.replace_actor(&id, process).await;
            }
        });
        handle
    }

    /// Tells every session that it was handed what hooks reported while there was no daemon.
    pub(crate) fn spool_was_heard(&self) {
        self.spool_heard.store(true, Ordering::SeqCst);
        self.all().into_iter().for_each(tell_spool_heard);
    }

    /// Starts another actor for a session whose actor failed, as a new daemon would.
    async fn replace_actor(&self, id: &str, process: u32) {
        tracing::error!(session = id, "the session's actor failed; another one takes over");
        self.handles().remove(id, process);
        tokio::time::sleep(AFTER_A_DEFECT).await;
        let wanted = id.to_owned();
        match self.store().run(move |store| store.session(&wanted)).await {
            Ok(Some(record)) if record.ending.is_none() && record.process == process => {
                drop(self.spawn_actor(record, Origin::Recovered));
            }
            Ok(_) => {}
            Err(error) => tracing::error!(session = id, %error, "the session is left alone"),
        }
    }

    /// Notes that a session's processes are being ended.
    pub(crate) fn stopping(&self, id: &str) -> Stopping {
        let stopping = self.stopping.clone();
        stopping.lock().unwrap_or_else(PoisonError::into_inner).push(id.to_owned());
        Stopping { stopping, id: id.to_owned() }
    }

    /// Whether a session's processes are being ended.
    pub(crate) fn is_being_stopped(&self, id: &str) -> bool {
        self.stopping.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|stopping| stopping == id)
    }

    /// Finds the session a user means by a name or an id. One that is being started or taken up is waited for.
    pub(crate) async fn find(&self, name: &str) -> Result<Found, Problem> {
        for _ in 0..LOOKS {
            match self.find_now(name).await {
                Err(problem) if problem.code == Code::SessionRecovering => {
                    tokio::time::sleep(BETWEEN_LOOKS).await;
                }
                found => return found,
            }
        }
        self.find_now(name).await
    }

    async fn find_now(&self, name: &str) -> Result<Found, Problem> {
        if let Some(handle) = self.handles().named(name) {
            self.taken_up(&handle)?;
            return Ok(Found::Live(handle));
        }
        let wanted = name.to_owned();
        let found = self
            .store()
            .run(move |store| match store.find_session(&wanted)? {
                Some(id) => store.session(&id),
                None => Ok(None),
            })
            .await
            .map_err(|error| store_problem(&error))?;
        match found {
            Some(session) => match self.get(&session.start.id) {
                Some(handle) => Ok(Found::Live(handle)),
                None if session.ending.is_some() => Ok(Found::Ended(Box::new(session))),
                None => Err(Problem::new(ErrorKind::Failed, format!("session {name:?} is being recovered"))
                    .code(Code::SessionRecovering)
                    .about("session", name)
                    .hint("try again in a moment")),
            },
            None => Err(Problem::new(ErrorKind::NotFound, format!("there is no session called {name:?}"))
                .code(Code::SessionNotFound)
                .about("session", name)),
        }
    }

    /// Whether a session could be taken up: not where its part of the record is damaged.
    pub(crate) fn taken_up(&self, handle: &SessionHandle) -> Result<(), Problem> {
        match self.store().damage() {
            Some(damage) if handle.is_gone() => Err(store_problem(&StoreError::Damaged(damage.to_owned()))),
            _ => Ok(()),
        }
    }

    /// The record of a session, whether it has an actor or not.
    pub(crate) async fn record(&self, id: &str) -> Result<Option<Session>, Problem> {
        let id = id.to_owned();
        self.store().run(move |store| store.session(&id)).await.map_err(|error| store_problem(&error))
    }

    /// The record of a session that must have one.
    pub(crate) async fn existing_record(&self, id: &str) -> Result<Session, Problem> {
        let missing = || Problem::new(ErrorKind::Internal, "the session has no record");
        self.record(id).await?.ok_or_else(missing)
    }

    /// A session as the record has it.
    pub(crate) async fn recorded_info(&self, id: &str) -> Result<SessionInfo, Problem> {
        Ok(ended_info(&self.existing_record(id).await?))
    }
}

/// Tells a session, behind the reports that were handed to it; one that does not listen holds up nobody else.
fn tell_spool_heard(handle: SessionHandle) {
    tokio::spawn(async move { handle.send(Command::SpoolHeard).await });
}
