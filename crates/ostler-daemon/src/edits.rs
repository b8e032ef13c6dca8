//! Notices when files about agents are changed, so that running sessions use the new rules.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::io::unix::AsyncFd;

use crate::registry::Shared;

/// Editors write a file in several steps.
const SETTLING: Duration = Duration::from_millis(100);

/// Forgets what is known of agents whenever one of their files is changed.
pub(crate) async fn follow(shared: Shared) {
    if let Err(error) = watch(&shared).await {
        tracing::warn!(%error, "changes of presets are not noticed; the next daemon will");
    }
}

async fn watch(shared: &Shared) -> io::Result<()> {
    let watch = new_watch()?;
    let mut sessions = shared.knowledge.readers();
    loop {
        // Directories come and go, and watching one twice is watching it once.
        for dir in shared.knowledge.directories() {
            let flags = WatchFlags::CLOSE_WRITE | WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVE;
            let _ = inotify::add_watch(watch.get_ref(), nearest(&dir), flags | WatchFlags::ONLYDIR);
        }
        tokio::select! {
            ready = watch.readable() => {
                let mut ready = ready?;
                tokio::time::sleep(SETTLING).await;
                drain(watch.get_ref());
                ready.clear_ready();
                shared.knowledge.forget();
            }
            // A session of another project has other files.
            _ = sessions.changed() => {}
        }
    }
}

#[expect(deprecated, reason = "its successor is unsafe, for handles that are not owned; this one is")]
fn new_watch() -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?)
}

/// The directory, or the nearest above it that is there: it may be made later.
fn nearest(dir: &Path) -> PathBuf {
    dir.ancestors().find(|dir| dir.is_dir()).unwrap_or(dir).to_owned()
}

/// Reads the news away; what counts is that there is some.
fn drain(watch: &OwnedFd) {
    let mut buffer = [0; 4_096];
    while rustix::io::read(watch, &mut buffer).is_ok_and(|count| count > 0) {}
}
