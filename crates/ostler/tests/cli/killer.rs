//! Kills daemons at random moments while others work with them.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::support::{PATIENCE, Random, TestHome, is_running, kill};

/// Process id of the daemon that serves the home now, without asking for one.
pub(crate) fn serving(home: &Path) -> Option<u32> {
    let daemon = std::fs::read_to_string(home.join("daemon.lock")).ok()?.trim().parse().ok()?;
    is_running(daemon).then_some(daemon)
}

/// Waits for a daemon that is not this one. It looks often: a daemon is to be killed before it listens, too.
fn next_daemon(home: &Path, killed: u32) -> u32 {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match serving(home) {
            Some(daemon) if daemon != killed => return daemon,
            _ => assert!(Instant::now() < deadline, "no daemon serves"),
        }
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// Kills daemons, and knows whether anything gets done between the kills.
#[derive(Debug, Default)]
pub(crate) struct Killer {
    progress: AtomicU64,
    done: AtomicBool,
}

impl Killer {
    /// Something was done.
    pub(crate) fn progressed(&self) {
        self.progress.fetch_add(1, Ordering::Relaxed);
    }

    /// No more will be killed.
    pub(crate) fn is_done(&self) -> bool {
        self.done.load(Ordering::Relaxed)
    }

    /// Kills so many daemons. The moment is any from before one listens to deep in its work; how long that may be
    /// follows from what gets done, for a slow machine needs longer to come that far.
    pub(crate) fn kill(&self, home: &TestHome, kills: u64, random: &mut Random, usual: Duration) {
        let mut killed = 0;
        let mut span = usual;
        let mut seen = self.progress.load(Ordering::Relaxed);
        for _ in 0..kills {
            let daemon = next_daemon(&home.path(), killed);
            let limit = u64::try_from(span.as_micros()).unwrap();
            std::thread::sleep(Duration::from_micros(random.below(limit)));
            kill(daemon);
            killed = daemon;
            let progress = self.progress.load(Ordering::Relaxed);
            span = match progress - std::mem::replace(&mut seen, progress) {
                0 => (span * 5 / 4).min(Duration::from_secs(5)),
                1 => span,
                _ => (span * 4 / 5).max(usual),
            };
        }
        self.done.store(true, Ordering::Relaxed);
    }
}
