//! Word from the kernel that something may have changed.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// One inotify for the whole daemon: a user has few of them, and agents take some.
///
/// It is asked for when first needed, for that needs a runtime. What it says is a hint: whoever is woken looks for
/// himself.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hints(Arc<Mutex<Option<Arc<Source>>>>);

/// Where the kernel's word comes from.
#[derive(Debug)]
struct Source {
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
    /// Who is told of which watch, and of what there.
    watches: BTreeMap<i32, BTreeMap<u64, WatchFlags>>,
}

/// One who is woken. Dropping it ends its watches.
#[derive(Debug)]
pub(crate) struct Sleeper {
    source: Arc<Source>,
    id: u64,
    flags: WatchFlags,
    notify: Arc<Notify>,
    paths: BTreeMap<PathBuf, i32>,
}

/// What came of a wish to watch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watched {
    /// The kernel tells of all that was wished.
    pub(crate) all: bool,
    /// Something is watched that was not before: it may have changed in between.
    pub(crate) more: bool,
}

impl Hints {
    /// One who is woken by such changes.
    pub(crate) fn sleeper(&self, flags: WatchFlags) -> io::Result<Sleeper> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let source = match &*known {
            Some(source) => source.clone(),
            None => known.insert(Arc::new(Source::new()?)).clone(),
        };
        Ok(Sleeper::new(source, flags))
    }
}

impl Source {
    #[expect(deprecated, reason = "its successor is unsafe, for handles that are not owned; this one is")]
    fn new() -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let shared = Arc::new(Shared { inotify: AsyncFd::new(inotify)?, table: Mutex::default() });
        let reader = tokio::spawn(read(Arc::clone(&shared)));
        Ok(Self { shared, reader })
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Sleeper {
    fn new(source: Arc<Source>, flags: WatchFlags) -> Self {
        let notify = Arc::new(Notify::new());
        let mut table = source.shared.table();
        let id = table.next;
        table.next += 1;
        table.sleepers.insert(id, Arc::clone(&notify));
        drop(table);
        Self { source, id, flags, notify, paths: BTreeMap::new() }
    }

    /// Watches these files and directories and no others.
    ///
    /// Every path is set anew, for a new file may bear an old name.
    pub(crate) fn watch(&mut self, paths: &[PathBuf]) -> Watched {
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
    pub(crate) async fn woken(&self) {
        self.notify.notified().await;
    }

    fn add(&self, path: &Path) -> Option<i32> {
        let shared = &self.source.shared;
        // Under the lock, or the answer to a removal could come in between.
        let mut table = shared.table();
        // Others may watch the same for something else.
        let flags = self.flags | WatchFlags::MASK_ADD;
        let watch = inotify::add_watch(shared.inotify.get_ref(), path, flags).ok()?;
        table.watches.entry(watch).or_default().insert(self.id, self.flags);
        Some(watch)
    }

    fn remove(&self, watch: i32) {
        let shared = &self.source.shared;
        shared.table().forget(watch, self.id, &shared.inotify);
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let shared = &self.source.shared;
        let mut table = shared.table();
        for watch in self.paths.values() {
            table.forget(*watch, self.id, &shared.inotify);
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
        let is_gone = what.contains(ReadFlags::IGNORED);
        for (sleeper, flags) in self.watches.get(&watch).into_iter().flatten() {
            // The kernel has one number for an event and for the wish to hear of it.
            let is_wanted = is_gone || flags.bits() & what.bits() != 0;
            if let Some(notify) = self.sleepers.get(sleeper).filter(|_| is_wanted) {
                notify.notify_one();
            }
        }
        if is_gone {
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    /// Whether a hint is there, or comes while nothing else happens.
    async fn hears(sleeper: &Sleeper) -> bool {
        timeout(Duration::from_secs(20), sleeper.woken()).await.is_ok()
    }

    #[tokio::test]
    async fn each_is_woken_by_what_he_wants_though_all_watch_one_directory() {
        let dir = tempfile::tempdir().unwrap();
        let paths = [dir.path().to_owned()];
        let hints = Hints::default();
        let mut made = hints.sleeper(WatchFlags::CREATE | WatchFlags::ONLYDIR).unwrap();
        let mut removed = hints.sleeper(WatchFlags::DELETE | WatchFlags::ONLYDIR).unwrap();
        assert!(made.watch(&paths).all && removed.watch(&paths).all);
        assert!(!made.watch(&paths).more);
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(hears(&made).await);
        fs::remove_file(&file).unwrap();
        // Word comes in order: by now the other one has slept through the first event.
        assert!(hears(&removed).await);
        assert!(timeout(Duration::ZERO, made.woken()).await.is_err());
        drop(removed);
        fs::write(&file, "").unwrap();
        assert!(hears(&made).await);
        // A directory that is gone concerns all.
        fs::remove_file(&file).unwrap();
        dir.close().unwrap();
        assert!(hears(&made).await);
        assert!(!made.watch(&paths).all);
    }
}
