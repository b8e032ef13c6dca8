//! Reports that found no daemon, or a slow one.

use std::io;
use std::path::{Path, PathBuf};

use ostler_hold::create_private;
use ostler_protocol::{ErrorKind, HookReport};
use rustix::fs::inotify::WatchFlags;

use super::HookReports;
use crate::hints::{Hints, Sleeper};
use crate::hooks::read_report;

/// Most files that are taken at one look.
const MAX_FILES: usize = 4_096;

/// Hears what is in the spool, now and whenever something is put there.
pub(crate) async fn replay_spool(reports: HookReports, hints: Hints) {
    let spool = reports.home.spool();
    // Watched before the first look, so that nothing falls between.
    let sleeper = create_private(&spool).and_then(|()| watch(&hints, &spool));
    replay(&reports, &spool).await;
    match sleeper {
        Ok(sleeper) => loop {
            sleeper.woken().await;
            replay(&reports, &spool).await;
        },
        Err(error) => {
            tracing::warn!(%error, "the spool is not watched; its reports are heard by the next daemon");
        }
    }
}

fn watch(hints: &Hints, spool: &Path) -> io::Result<Sleeper> {
    let mut sleeper = hints.sleeper(WatchFlags::MOVED_TO | WatchFlags::ONLYDIR)?;
    let watched = sleeper.watch(&[spool.to_owned()]);
    if watched.all { Ok(sleeper) } else { Err(io::Error::other("the kernel does not watch it")) }
}

/// Hears every report in the spool, oldest first.
async fn replay(reports: &HookReports, spool: &Path) {
    for file in files(spool) {
        let read = read_report(&file);
        match read.as_deref().map(HookReport::from_file) {
            Ok(Some((report, payload))) => {
                // Nobody waits for an answer any more.
                let report = HookReport { context: false, ..report };
                let (event, session) = (report.event.clone(), report.session.clone());
                match reports.handle(report, payload.to_vec()).await {
                    Ok(_) => tracing::debug!(session, event, "a report from the spool was heard"),
                    // It was not heard, and nobody claims it: it stays for the next look.
                    Err(problem) if matches!(problem.kind, ErrorKind::Failed | ErrorKind::Storage) => {
                        tracing::debug!(session, event, reason = problem.message, "a report has to wait");
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
