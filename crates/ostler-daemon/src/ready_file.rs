//! The file by which a program, or a hook of it, says that it is ready.
//!
//! Nothing else is known of a program that no rules know until it has been silent for long: whoever started it may know more.

use std::path::{Path, PathBuf};

use rustix::fs::inotify::WatchFlags;

use crate::hints::Hints;

/// The variable that has its path.
pub(crate) const VARIABLE: &str = "OSTLER_READY_FILE";

/// The file, in the directory of a session's process.
pub(crate) fn path(dir: &Path) -> PathBuf {
    dir.join("ready")
}

/// Waits until the file is there; for ever, where the kernel does not tell.
pub(crate) async fn await_made(hints: Hints, dir: PathBuf) {
    let flags = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
    let Ok(mut sleeper) = hints.sleeper(flags) else { return std::future::pending().await };
    sleeper.watch(std::slice::from_ref(&dir));
    while std::fs::symlink_metadata(path(&dir)).is_err() {
        sleeper.woken().await;
    }
}
