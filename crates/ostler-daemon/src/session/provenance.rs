//! What tells a session's transcript from its neighbours'.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ostler_core::Wall;
use ostler_hold::tree;
use ostler_store::{StoreError, StoreHandle};
use tokio::runtime::Handle;

use crate::transcript::{FileId, Provenance};

/// A session, as it is asked for proof that a transcript is its own.
#[derive(Debug)]
pub(super) struct Origin {
    pub(super) store: StoreHandle,
    pub(super) runtime: Handle,
    pub(super) session: String,
    /// The agent's preset: others write elsewhere.
    pub(super) agent: String,
    pub(super) cwd: PathBuf,
    /// When the present process was asked for: who had ended by then is no neighbour.
    pub(super) began: Wall,
    /// Process id of the program.
    pub(super) pid: u32,
}

impl Origin {
    /// Ids of the sessions whose agent may write transcripts to the same place.
    fn neighbours(&self) -> Result<Vec<String>, StoreError> {
        let (session, agent, began) = (self.session.clone(), self.agent.clone(), self.began);
        let beside = self.store.run(move |store| store.sessions_beside(&session, &agent, began));
        let beside = self.runtime.block_on(beside)?;
        Ok(beside
            .into_iter()
            .filter(|(_, cwd)| is_same(Path::new(cwd), &self.cwd))
            .map(|(id, _)| id)
            .collect())
    }

    fn given(&self, session: &str) -> Result<HashSet<String>, StoreError> {
        let session = session.to_owned();
        let texts = self.runtime.block_on(self.store.run(move |store| store.given_texts(&session)))?;
        // The last character may be cut.
        let readable = |text: Vec<u8>| String::from_utf8_lossy(&text).trim_end_matches('\u{fffd}').to_owned();
        Ok(texts.into_iter().map(readable).collect())
    }
}

impl Provenance for Origin {
    fn has_neighbour(&self) -> bool {
        // Where that cannot be told, nothing is taken for ours.
        self.neighbours().map_or(true, |neighbours| !neighbours.is_empty())
    }

    fn own_prompts(&self) -> Vec<String> {
        let own = || {
            let mut own = self.given(&self.session)?;
            for neighbour in self.neighbours()? {
                let theirs = self.given(&neighbour)?;
                own.retain(|text| !theirs.contains(text));
            }
            Ok::<_, StoreError>(own.into_iter().collect())
        };
        own().unwrap_or_default()
    }

    fn has_open(&self, file: FileId) -> bool {
        let below = tree::descendants(self.pid, Some(&self.session));
        std::iter::once(self.pid).chain(below).any(|pid| {
            let handles = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            handles.filter_map(|handle| handle.path().metadata().ok()).any(|open| FileId::from(&open) == file)
        })
    }
}

/// Whether two names are of one directory.
fn is_same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}
