//! Word from the kernel that something may have changed.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// One inotify for all sessions: a user has few of them, and agents take some.
///
/// What it says is a hint: whoever is woken looks for himself.
#[derive(Debug)]
pub(super) struct Hints {
    shared: Arc<Shared>,
    reader: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    inotify: AsyncFd<OwnedFd>,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    sleepers: BTreeMap<u64, Arc<Notify>>,
    /// Who is told of which watch.
    watches: BTreeMap<i32, BTreeSet<u64>>,
}

/// One who is woken. Dropping it ends its watches.
#[derive(Debug)]
pub(super) struct Sleeper {
    hints: Arc<Hints>,
    id: u64,
    notify: Arc<Notify>,
    paths: BTreeMap<PathBuf, i32>,
}

/// What came of a wish to watch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watched {
    /// The kernel tells of all that was wished.
    pub(super) all: bool,
    /// Something is watched that was not before: it may have changed in between.
    pub(super) more: bool,
}

impl Hints {
    /// Asks the kernel for its word. Needs a runtime.
    #[expect(deprecated, reason = "its successor is unsafe, for handles that are not owned; this one is")]
    pub(super) fn new() -> std::io::Result<Self> {
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let shared = Arc::new(Shared { inotify: AsyncFd::new(inotify)?, table: Mutex::default() });
        let reader = tokio::spawn(read(Arc::clone(&shared)));
        Ok(Self { shared, reader })
    }

    pub(super) fn sleeper(self: &Arc<Self>) -> Sleeper {
        let notify = Arc::new(Notify::new());
        let mut table = self.shared.table();
        let id = table.next;
        table.next += 1;
        table.sleepers.insert(id, Arc::clone(&notify));
        Sleeper { hints: Arc::clone(self), id, notify, paths: BTreeMap::new() }
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Sleeper {
    /// Watches these files and directories and no others.
    ///
    /// Every path is set anew, for a new file may bear an old name.
    pub(super) fn watch(&mut self, paths: &[PathBuf]) -> Watched {
        let mut all = true;
        let mut wanted = BTreeMap::new();
        for path in paths {
            match self.add(path) {
                Some(watch) => _ = wanted.insert(path.clone(), watch),
                None => all = false,
            }
        }
        let kept: BTreeSet<i32> = wanted.values().copied().collect();
        let before: BTreeSet<i32> = std::mem::replace(&mut self.paths, wanted).into_values().collect();
        for watch in before.difference(&kept) {
            self.remove(*watch);
        }
        Watched { all, more: !kept.is_subset(&before) }
    }

    /// Waits for a hint. One that came while nobody waited is not lost.
    pub(super) async fn woken(&self) {
        self.notify.notified().await;
    }

    fn add(&self, path: &Path) -> Option<i32> {
        let flags = WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::CREATE
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::DONT_FOLLOW;
        // Under the lock, or the answer to a removal could come in between.
        let mut table = self.hints.shared.table();
        let watch = inotify::add_watch(self.hints.shared.inotify.get_ref(), path, flags).ok()?;
        table.watches.entry(watch).or_default().insert(self.id);
        Some(watch)
    }

    fn remove(&self, watch: i32) {
        self.hints.shared.table().forget(watch, self.id, &self.hints.shared.inotify);
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let mut table = self.hints.shared.table();
        for watch in self.paths.values() {
            table.forget(*watch, self.id, &self.hints.shared.inotify);
        }
        table.sleepers.remove(&self.id);
    }
}

impl Shared {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn forget(&mut self, watch: i32, sleeper: u64, inotify: &AsyncFd<OwnedFd>) {
        let Some(sleepers) = self.watches.get_mut(&watch) else { return };
        sleepers.remove(&sleeper);
        if sleepers.is_empty() {
            self.watches.remove(&watch);
            // It may be gone already, with its file.
            let _ = inotify::remove_watch(inotify.get_ref(), watch);
        }
    }

    fn wake(&mut self, watch: i32, what: ReadFlags) {
        if what.contains(ReadFlags::QUEUE_OVERFLOW) {
            // Something was lost, so everybody looks.
            self.sleepers.values().for_each(|sleeper| sleeper.notify_one());
        }
        for sleeper in self.watches.get(&watch).into_iter().flatten() {
            if let Some(notify) = self.sleepers.get(sleeper) {
                notify.notify_one();
            }
        }
        if what.contains(ReadFlags::IGNORED) {
            self.watches.remove(&watch);
        }
    }
}

async fn read(shared: Arc<Shared>) {
    while let Ok(mut ready) = shared.inotify.readable().await {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(shared.inotify.get_ref().as_fd(), &mut buffer);
        loop {
            match reader.next() {
                Ok(event) => shared.table().wake(event.wd(), event.events()),
                Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        ready.clear_ready();
    }
}
