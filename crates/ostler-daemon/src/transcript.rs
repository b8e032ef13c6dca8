//! Following what agents write down of their conversations.
//!
//! # Theory of operation
//!
//! [`Transcripts`] is one for the daemon; each session has a [`Watcher`] that its actor polls beside everything
//! else. A watcher sleeps until the kernel hints that something changed, then reads a bounded piece on a thread
//! of the blocking pool, and gives a [`Batch`] of facts with the state to keep. The hint is never believed: the
//! file is looked at again, by name and by number, so that cutting, replacing and deleting are all noticed.
//!
//! Where no hints come (a network file system, no inotify left), and while there is no file yet, the watcher
//! also looks from time to time, ever less often, and only while the session is said to be active.
//!
//! Two agents in one directory write to one place. A file is a session's because a hook named it or its conversation,
//! because the session's program has it open, or because it begins with a prompt that no other session's agent was
//! given; one that nothing proves is taken only where no other session could have made it. What was found is remembered
//! across daemons.
//!
//! An agent's word for where its transcript is comes through a hook that anybody could have called. So the file
//! is opened beneath the agent's own directory, through no link, and only if it is a regular file of ours.

mod claims;
mod find;
mod pages;
mod place;
mod provenance;
mod reader;
mod remote;
mod rows;
mod tail;
#[cfg(test)]
mod tests;
mod watcher;

use std::sync::{Arc, Mutex, PoisonError};

use ostler_agents::transcript::{Decoder, SpecError, TranscriptSpec};
use rustix::fs::inotify::WatchFlags;

use crate::hints::{Hints, Sleeper};
use claims::Claims;
pub(crate) use pages::{Cursor, Source};
pub use place::{Place, TailState};
pub use provenance::Provenance;
use reader::Reader;
pub use tail::{FileId, Position};
pub use watcher::{Batch, Watcher, Written};

/// What all transcripts of a daemon share.
#[derive(Debug, Clone, Default)]
pub struct Transcripts {
    hints: Hints,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// The rules that are in use: sessions of one agent share them.
    rules: Mutex<Vec<(Arc<TranscriptSpec>, Decoder)>>,
    claims: Claims,
}

impl Transcripts {
    /// Transcripts of a daemon that hears of changed files here.
    pub(crate) fn new(hints: Hints) -> Self {
        Self { hints, shared: Arc::default() }
    }

    /// Follows the transcript of a session, from where `resume` says that it was read to.
    ///
    /// Dropping the watcher ends it.
    pub fn watch(
        &self,
        spec: &TranscriptSpec,
        place: Place,
        provenance: Arc<dyn Provenance>,
        resume: Option<TailState>,
    ) -> Result<Watcher, SpecError> {
        let (spec, decoder) = self.rules(spec)?;
        let reader = Reader::new(spec, decoder, place, provenance, self.shared.claims.clone(), resume);
        Ok(Watcher::new(reader, self.sleeper()))
    }

    fn rules(&self, spec: &TranscriptSpec) -> Result<(Arc<TranscriptSpec>, Decoder), SpecError> {
        let mut known = self.shared.rules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rules) = known.iter().find(|(known, _)| **known == *spec) {
            return Ok(rules.clone());
        }
        let rules = (Arc::new(spec.clone()), Decoder::new(spec)?);
        // Those that no session uses any more make room.
        known.retain(|(spec, _)| Arc::strong_count(spec) > 1);
        known.push(rules.clone());
        Ok(rules)
    }

    fn sleeper(&self) -> Option<Sleeper> {
        let flags = WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::CREATE
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::DONT_FOLLOW;
        let sleeper = self.hints.sleeper(flags).inspect_err(|error| {
            tracing::warn!(%error, "no word of changed files; looking from time to time");
        });
        sleeper.ok()
    }
}
