//! Reading a transcript once more, from its beginning or from where somebody has read it to.

use std::path::PathBuf;
use std::sync::Arc;

use ostler_agents::transcript::{Decoder, TranscriptSpec};
use ostler_core::Wall;
use serde::{Deserialize, Serialize};

use super::claims::Claims;
use super::place::{Place, TailState};
use super::provenance::Provenance;
use super::reader::Reader;
use super::tail::FileId;
use super::watcher::Written;

/// A session's transcript that was found, and what its records mean.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    spec: Arc<TranscriptSpec>,
    place: Place,
}

/// How far somebody has read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Cursor {
    state: TailState,
    /// Facts behind it that were read, too.
    skip: usize,
}

/// A transcript that is being read. Every step blocks for a bounded time.
#[derive(Debug)]
pub(crate) struct Pages {
    reader: Reader,
    /// Before the facts in hand.
    cursor: Cursor,
}

impl Source {
    /// The transcript that a session's watcher has found; nothing if it has not.
    pub(crate) fn found(
        spec: &TranscriptSpec,
        state: &TailState,
        cwd: PathBuf,
        session: Option<String>,
    ) -> Option<Self> {
        let path = Some(state.path.clone()?);
        // One that was found before roots were remembered is beneath its own directory.
        let root = state.root.clone().or_else(|| path.as_ref()?.parent().map(Into::into))?;
        // Earlier processes of the session belong to it.
        let place = Place { root, cwd, session, path, started: Wall(0) };
        Some(Self { spec: Arc::new(spec.clone()), place })
    }

    /// Begins to read.
    pub(crate) fn read(&self, from: Cursor) -> Result<Pages, String> {
        let decoder = Decoder::new(&self.spec).map_err(|error| error.to_string())?;
        let resume = Some(from.state.clone()).filter(|state| state.path.is_some());
        let (place, claims) = (self.place.clone(), Claims::default());
        let reader = Reader::new(self.spec.clone(), decoder, place, Arc::new(Settled), claims, resume);
        Ok(Pages { reader, cursor: from })
    }
}

impl Pages {
    /// What stands next, and whether there is more. To have read only so many facts of it is a cursor of its own.
    pub(crate) fn next(&mut self) -> Result<(Vec<Written>, bool), String> {
        let state = self.reader.state();
        let step = self.reader.step();
        if let Some(problem) = step.problem {
            return Err(problem);
        }
        if step.facts.is_empty() {
            return Ok((Vec::new(), step.more));
        }
        // Otherwise it is another file, or one that was written anew.
        let is_same = self.cursor.state == state;
        let skip = if is_same { self.cursor.skip.min(step.facts.len()) } else { 0 };
        self.cursor = Cursor { state, skip };
        Ok((step.facts.into_iter().skip(skip).collect(), step.more))
    }

    /// Behind so many of the facts that were read last.
    pub(crate) fn behind(&self, facts: usize) -> Cursor {
        Cursor { skip: self.cursor.skip + facts, ..self.cursor.clone() }
    }

    /// Behind all that was read.
    pub(crate) fn end(&self) -> Cursor {
        Cursor { state: self.reader.state(), skip: 0 }
    }
}

/// Whose the transcript is was found out before.
#[derive(Debug)]
struct Settled;

impl Provenance for Settled {
    fn has_neighbour(&self) -> bool {
        false
    }

    fn own_prompts(&self) -> Vec<String> {
        Vec::new()
    }

    fn has_open(&self, _: FileId) -> bool {
        true
    }
}
