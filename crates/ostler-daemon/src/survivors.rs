//! Processes of a session whose holder is gone, found by the mark that all of them inherit.

use std::time::Duration;

use ostler_hold::{Identity, tree};
use rustix::process::Signal;

/// The variable that marks every process of a session.
pub(crate) const MARK: &str = "OSTLER_SESSION_ID";
const RECHECK: Duration = Duration::from_millis(50);

/// Processes that carry the mark of this session.
pub(crate) fn find(id: &str) -> Vec<Identity> {
    let mark = format!("{MARK}={id}");
    tree::process_ids()
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
    let mut signal = Signal::TERM;
    loop {
        let left = find(id);
        if left.is_empty() {
            return;
        }
        let killing = tokio::time::Instant::now() >= deadline;
        if killing {
            signal = Signal::KILL;
        }
        for process in &left {
            process.signal(signal);
        }
        if killing && tokio::time::Instant::now() >= deadline + Duration::from_secs(5) {
            return;
        }
        tokio::time::sleep(RECHECK).await;
    }
}
