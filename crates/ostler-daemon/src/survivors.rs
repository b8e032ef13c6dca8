//! Processes of a session whose holder is gone, found by the mark that all of them inherit.

use std::time::Duration;

use ostler_hold::{Identity, SESSION_MARK, tree};
use rustix::process::Signal;

const RECHECK: Duration = Duration::from_millis(50);

/// Processes that carry the mark of this session.
pub(crate) fn find(id: &str) -> Vec<Identity> {
    let mark = format!("{SESSION_MARK}={id}");
    tree::process_ids()
        .filter(|pid| *pid != std::process::id())
        .filter(|pid| {
            std::fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes()))
        })
        .filter_map(Identity::of)
        .collect()
}

/// Ends them: TERM, and KILL for those left after the grace time.
pub(crate) async fn end(id: &str, grace: Duration) {
    let deadline = tokio::time::Instant::now() + grace;
    let mut asked: Vec<Identity> = Vec::new();
    loop {
        let wanted = id.to_owned();
        let left = tokio::task::spawn_blocking(move || find(&wanted)).await.unwrap_or_default();
        if left.is_empty() {
            return;
        }
        let killing = tokio::time::Instant::now() >= deadline;
        for process in left {
            if killing {
                process.signal(Signal::KILL);
            } else if !asked.contains(&process) {
                process.signal(Signal::TERM);
                asked.push(process);
            }
        }
        if killing && tokio::time::Instant::now() >= deadline + Duration::from_secs(5) {
            return;
        }
        tokio::time::sleep(RECHECK).await;
    }
}
