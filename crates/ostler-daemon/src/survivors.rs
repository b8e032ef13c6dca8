//! Processes of a session whose holder is gone, found by the mark that all of them inherit, and by the control group
//! that none of them leaves.

use std::collections::HashMap;
use std::time::Duration;

use ostler_hold::{Identity, SESSION_MARK, cgroup, tree};
use rustix::process::Signal;
use tokio::time::Instant;

use crate::shared_look::SharedLook;

const RECHECK: Duration = Duration::from_millis(50);
/// How long killed processes may take to go.
const LAST: Duration = Duration::from_secs(5);

/// Processes of this session.
pub(crate) fn find(id: &str) -> Vec<Identity> {
    identities(look().get(id))
}

/// Process ids by the session that they are of.
fn look() -> HashMap<String, Vec<u32>> {
    let mark = format!("{SESSION_MARK}=");
    let mut marked: HashMap<String, Vec<u32>> = HashMap::new();
    for pid in tree::process_ids().filter(|pid| *pid != std::process::id()) {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let ids = environ.split(|byte| *byte == 0).filter_map(|entry| entry.strip_prefix(mark.as_bytes()));
        let mut ids: Vec<String> = ids.map(|id| String::from_utf8_lossy(id).into_owned()).collect();
        ids.extend(
            cgroup::session_of(pid).filter(|id| !ids.contains(id) && !tree::is_foreign(pid, Some(id))),
        );
        for id in ids {
            marked.entry(id).or_default().push(pid);
        }
    }
    marked
}

fn identities(pids: Option<&Vec<u32>>) -> Vec<Identity> {
    pids.into_iter().flatten().filter_map(|pid| Identity::of(*pid)).collect()
}

/// Ends what is left of sessions; many of them may be ended at the same time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Survivors(SharedLook<HashMap<String, Vec<u32>>>);

impl Survivors {
    async fn find(&self, id: &str) -> Vec<Identity> {
        let looks = self.0.clone();
        let marked = tokio::task::spawn_blocking(move || looks.get(look)).await.unwrap_or_default();
        identities(marked.get(id))
    }

    /// Ends the processes of a session: TERM, and KILL for those left after the grace time.
    pub(crate) async fn end(&self, id: &str, grace: Duration) {
        let deadline = Instant::now() + grace;
        let mut asked: Vec<Identity> = Vec::new();
        loop {
            let left = self.find(id).await;
            if left.is_empty() {
                return;
            }
            let killing = Instant::now() >= deadline;
            for process in left {
                if killing {
                    process.signal(Signal::KILL);
                } else if !asked.contains(&process) {
                    process.signal(Signal::TERM);
                    asked.push(process);
                }
            }
            if killing && Instant::now() >= deadline + LAST {
                return;
            }
            tokio::time::sleep(RECHECK).await;
        }
    }
}
