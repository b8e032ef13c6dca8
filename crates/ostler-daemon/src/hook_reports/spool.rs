//! Reports that found no daemon, or a slow one.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ostler_hold::create_private;
use ostler_protocol::{ErrorKind, HookReport};
use rustix::fs::inotify::WatchFlags;

use super::HookReports;
use crate::hints::{Hints, Sleeper};
use crate::hooks::read_report;

/// Most files that are taken at one look.
const MAX_FILES: usize = 4_096;
/// Pause before reports are offered again to a session that did not listen.
const AGAIN: Duration = Duration::from_secs(2);

/// Hears what is in the spool, now and whenever something is put there.
pub(crate) async fn replay_spool(reports: HookReports, hints: Hints) {
    let spool = reports.home.spool();
    // Watched before the first look, so that nothing falls between.
    let sleeper = create_private(&spool).and_then(|()| watch(&hints, &spool));
    let mut waiting = replay(&reports, &spool).await;
    // From here on a session's end is its last word.
    reports.sessions.spool_was_heard();
    loop {
        let woken = async {
            match &sleeper {
                Ok(sleeper) => sleeper.woken().await,
                Err(_) => std::future::pending().await,
            }
        };
        match (waiting, &sleeper) {
            (true, _) => drop(tokio::time::timeout(AGAIN, woken).await),
            (false, Ok(_)) => woken.await,
            (false, Err(error)) => {
                tracing::warn!(%error, "the spool is not watched; its reports are heard by the next daemon");
                return;
            }
        }
        waiting = replay(&reports, &spool).await;
    }
}

fn watch(hints: &Hints, spool: &Path) -> io::Result<Sleeper> {
    let mut sleeper = hints.sleeper(WatchFlags::MOVED_TO | WatchFlags::ONLYDIR)?;
    let watched = sleeper.watch(&[spool.to_owned()]);
    if watched.all { Ok(sleeper) } else { Err(io::Error::other("the kernel does not watch it")) }
}

/// Hears every report in the spool, oldest first. Returns whether some have to wait for a session that does not listen.
async fn replay(reports: &HookReports, spool: &Path) -> bool {
    // A session that does not listen costs one try, not one for each of its reports.
    let mut deaf = HashSet::new();
    for file in files(spool) {
        let read = read_report(&file);
        match read.as_deref().map(HookReport::from_file) {
            Ok(Some((report, payload))) => {
                // Nobody waits for an answer any more.
                let report = HookReport { context: false, ..report };
                let (event, session) = (report.event.clone(), report.session.clone());
                if deaf.contains(&session) {
                    continue;
                }
                match reports.handle(report, payload.to_vec()).await {
                    Ok(_) => tracing::debug!(session, event, "a report from the spool was heard"),
                    // It was not heard, and nobody claims it: it stays for the next look.
                    Err(problem) if matches!(problem.kind, ErrorKind::Failed | ErrorKind::Storage) => {
                        tracing::debug!(session, event, reason = problem.message, "a report has to wait");
                        deaf.insert(session);
                        continue;
                    }
                    Err(problem) => {
                        tracing::debug!(session, event, reason = problem.message, "a report is dropped");
                    }
                }
            }
            Ok(None) => tracing::warn!(file = %file.display(), "a file in the spool is no report"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => tracing::warn!(file = %file.display(), %error, "a report cannot be read"),
        }
        // Its claim has all of it now, or it is of no use.
        let _ = std::fs::remove_file(&file);
    }
    !deaf.is_empty()
}

/// The reports, by time. Files whose names begin with a dot are being written.
fn files(spool: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(spool) else { return Vec::new() };
    let is_report = |name: &str| name.starts_with(|c: char| c.is_ascii_digit());
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(is_report))
        .map(|entry| entry.path())
        .take(MAX_FILES)
        .collect();
    files.sort();
    files
}
