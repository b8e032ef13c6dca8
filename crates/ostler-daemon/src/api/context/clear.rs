//! Forgetting what is known of a project, and what is in its instructions files.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use ostler_agents::instructions::ids;
use ostler_protocol::{ClearedFile, ClearedInfo, ContextPlace, ErrorKind, Problem};
use ostler_store::{Session, Store, StoreError, StoreHandle};

use super::Here;
use crate::context::instructions_files;
use crate::continuity::Records;
use crate::home::Home;
use crate::instructions_file::{InstructionsError, InstructionsFile};
use crate::left_blocks;
use crate::project::Project;
use crate::runs::shared_store_problem;
use crate::session::store_problem;
use crate::sessions::Sessions;

/// How much of a file behind a link is looked at.
const MAX_FILE: u64 = 2 << 20;

/// Takes what ostler wrote out of a project's files and, if `records` are given, forgets those too.
pub(crate) async fn clear(
    home: &Arc<Home>,
    sessions: &Sessions,
    store: &StoreHandle,
    place: ContextPlace,
    records: Option<&Records>,
) -> Result<ClearedInfo, Problem> {
    let project = Here::find(sessions, place).await?.project;
    let (of, root) = (home.clone(), project.root.clone());
    let clean = move || {
        let mut cleared = Cleared::default();
        for file in instructions_files(&of, &root) {
            cleared.clear(&root, file);
        }
        cleared
    };
    let Cleared { files, unchanged } = tokio::task::spawn_blocking(clean)
        .await
        .map_err(|error| Problem::new(ErrorKind::Internal, error.to_string()))?;
    let forgotten = forget_waiting(home, store, &project, unchanged).await;
    let waiting = forgotten.map_err(|error| store_problem(&error))?;
    let key = project.key();
    let records = match records {
        Some(records) => records.clear(&key).await.map_err(|error| shared_store_problem(&error))?,
        None => 0,
    };
    Ok(ClearedInfo { project: key, files, waiting, records })
}

/// What came of taking everything of ours out of files.
#[derive(Debug, Default)]
struct Cleared {
    /// What is told; nothing of a file that has nothing of ours.
    files: Vec<ClearedFile>,
    /// Names of files that could not be changed.
    unchanged: Vec<String>,
}

impl Cleared {
    fn clear(&mut self, root: &Path, name: String) {
        let file = InstructionsFile::new(root, &name);
        let shown = |blocks, deleted, problem| ClearedFile {
            file: file.path().display().to_string(),
            blocks,
            deleted,
            problem,
        };
        match file.remove(None) {
            Ok(removed) if removed.blocks == 0 => {}
            Ok(removed) => self.files.push(shown(removed.blocks, removed.deleted, None)),
            Err(error) => {
                // Nothing was ever written through a link; but what is one now may have been a file.
                if !matches!(error, InstructionsError::Link(_)) || has_blocks(&file.path()) {
                    self.files.push(shown(0, false, Some(error.to_string())));
                }
                self.unchanged.push(name);
            }
        }
    }
}

/// Whether there is a block of ours behind a path, whatever leads there.
fn has_blocks(path: &Path) -> bool {
    let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file());
    let mut bytes = Vec::new();
    let file = if is_file { File::open(path).ok() } else { None };
    let read = file.is_some_and(|file| file.take(MAX_FILE).read_to_end(&mut bytes).is_ok());
    read && !ids(&bytes).is_empty()
}

/// Nothing waits for the sessions of a project any more; returns how much did. What is in files that could not be
/// changed is taken out later.
async fn forget_waiting(
    home: &Arc<Home>,
    store: &StoreHandle,
    project: &Project,
    unchanged: Vec<String>,
) -> Result<usize, StoreError> {
    let sessions = store.run(|store| store.sessions(true)).await?;
    let (home, root) = (home.clone(), project.root.clone());
    let meant = move || -> Vec<(String, bool)> {
        let of_project = |session: &Session| Project::of(Path::new(&session.start.cwd)).root == root;
        let is_out = |session: &Session| {
            unchanged.is_empty()
                || left_blocks::file_of(&home, &session.start).is_some_and(|file| !unchanged.contains(&file))
        };
        let meant = sessions.into_iter().filter(of_project);
        meant.map(|session| (session.start.id.clone(), is_out(&session))).collect()
    };
    let meant = tokio::task::spawn_blocking(meant).await.unwrap_or_default();
    let forget = move |store: &mut Store| {
        meant.iter().try_fold(0, |forgotten, (session, is_out)| {
            let waiting = store.pending_context(session)?.len();
            if *is_out {
                store.taken_out(session)?;
            }
            store.clear_pending_context(session)?;
            Ok(forgotten + waiting)
        })
    };
    store.run(forget).await
}
