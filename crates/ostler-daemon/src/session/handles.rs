//! The tickets to all actors.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ostler_core::State;

use super::SessionHandle;

/// Tickets to the actors, by session id. An actor takes its own out when it ends.
#[derive(Debug, Clone, Default)]
pub(crate) struct Handles(Arc<Mutex<HashMap<String, SessionHandle>>>);

impl Handles {
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

    /// The session that has this name or id.
    pub(crate) fn named(&self, name: &str) -> Option<SessionHandle> {
        let matches = |handle: &&SessionHandle| handle.name == name || handle.id == name;
        // A name is free as soon as its program has ended, while the actor may have to see to the rest.
        let rank = |handle: &&SessionHandle| (*handle.state.borrow() != State::Exited, handle.id.clone());
        self.with(|sessions| sessions.values().filter(matches).max_by_key(rank).cloned())
    }

    /// Takes out the ticket to a session's process; a later process's stays.
    pub(crate) fn remove(&self, id: &str, process: u32) {
        self.with(|sessions| {
            if sessions.get(id).is_some_and(|handle| handle.process == process) {
                sessions.remove(id);
            }
        });
    }

    pub(crate) fn insert(&self, handle: SessionHandle) {
        self.with(|sessions| sessions.insert(handle.id.clone(), handle));
    }
}
