//! What sessions leave in instructions files when they end.
//!
//! A block is for the agent of its session. When that is over, every agent that comes later would read it as its own
//! instructions, so it is taken out; what was in it goes on waiting for `ostler context load`. A file that cannot be
//! changed is tried again when a daemon or a session starts.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ostler_agents::instructions::BlockId;
use ostler_store::{NewSession, StoreError, StoreHandle};

use crate::Home;
use crate::instructions_file::{InstructionsError, InstructionsFile};
use crate::presets;
use crate::project::Project;

/// How long the end of a session waits for its file; whoever starts the next one should not find the block.
const PATIENCE: Duration = Duration::from_secs(6);

/// Takes out what a session that ends has in its agent's instructions file. What takes too long goes on aside.
pub(crate) async fn take_out_at_end(home: &Arc<Home>, store: &StoreHandle, session: &NewSession) {
    let (home, store, session) = (home.clone(), store.clone(), session.clone());
    let taking = tokio::spawn(async move {
        let id = session.id.clone();
        let known = store.run(move |store| store.pending_context(&id)).await;
        if known.is_ok_and(|known| known.iter().any(|one| one.in_file)) {
            take_out(&home, &store, session).await;
        }
    });
    let _ = tokio::time::timeout(PATIENCE, taking).await;
}

/// Takes out what sessions that have ended left, because of a crash or a file that could not be changed then.
pub(crate) async fn take_out_of_ended(home: Arc<Home>, store: StoreHandle) {
    let left = store.run(|store| {
        let sessions = store.ended_in_file()?;
        sessions.iter().map(|id| store.session(id)).collect::<Result<Vec<_>, StoreError>>()
    });
    match left.await {
        Ok(left) => {
            for session in left.into_iter().flatten() {
                take_out(&home, &store, session.start).await;
            }
        }
        Err(error) => tracing::warn!(%error, "what ended sessions left in files cannot be told"),
    }
}

/// The instructions file of a session's agent, seen from the root of its project. Waits for the disk.
pub(crate) fn file_of(home: &Home, session: &NewSession) -> Option<String> {
    let presets = presets::load(home, Path::new(&session.cwd));
    presets.registry.get(session.agent.as_deref()?)?.preset.instructions.clone()
}

async fn take_out(home: &Arc<Home>, store: &StoreHandle, session: NewSession) {
    let (home, id, name) = (home.clone(), session.id.clone(), session.name.clone());
    let remove = move || -> Result<bool, InstructionsError> {
        let file = file_of(&home, &session);
        let Some((file, block)) = file.zip(BlockId::new(&session.id).ok()) else { return Ok(false) };
        InstructionsFile::new(&Project::of(Path::new(&session.cwd)).root, &file).remove(Some(&block))?;
        Ok(true)
    };
    match tokio::task::spawn_blocking(remove).await {
        Ok(Ok(true)) => {
            let noted = store.run(move |store| store.taken_out(&id)).await;
            if let Err(error) = noted {
                tracing::warn!(session = name, %error, "not recorded");
            }
        }
        Ok(Ok(false)) => tracing::warn!(session = name, "its agent has no instructions file any more"),
        Ok(Err(error)) => {
            tracing::warn!(session = name, %error, "the instructions file is not changed");
        }
        Err(error) => tracing::error!(session = name, %error, "taking out the session's block failed"),
    }
}
