//! Notices when files about agents are changed, so that running sessions use the new rules.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::inotify::WatchFlags;

use crate::hints::Hints;
use crate::knowledge::Knowledge;

/// Editors write a file in several steps.
const SETTLING: Duration = Duration::from_millis(100);

/// Forgets what is known of agents whenever one of their files is changed.
pub(crate) async fn follow(hints: Hints, knowledge: Arc<Knowledge>) {
    let flags = WatchFlags::CLOSE_WRITE | WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVE;
    let mut sleeper = match hints.sleeper(flags | WatchFlags::ONLYDIR) {
        Ok(sleeper) => sleeper,
        Err(error) => {
            return tracing::warn!(%error, "changes of presets are not noticed; the next daemon will");
        }
    };
    let mut sessions = knowledge.readers();
    loop {
        sleeper.watch(&directories(&knowledge));
        tokio::select! {
            () = sleeper.woken() => {
                tokio::time::sleep(SETTLING).await;
                // Directories come and go; those that came are watched before anybody reads them.
                sleeper.watch(&directories(&knowledge));
                // What came meanwhile is the same news.
                let _ = tokio::time::timeout(Duration::ZERO, sleeper.woken()).await;
                knowledge.forget();
            }
            // A session of another project has other files.
            _ = sessions.changed() => {}
        }
    }
}

/// Where files about agents are, or may be made.
fn directories(knowledge: &Knowledge) -> Vec<PathBuf> {
    knowledge.directories().iter().map(|dir| nearest(dir)).collect()
}

/// The directory, or the nearest above it that is there: it may be made later.
fn nearest(dir: &Path) -> PathBuf {
    dir.ancestors().find(|dir| dir.is_dir()).unwrap_or(dir).to_owned()
}
