//! Reports that found no daemon, or a slow one.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ostler_hold::create_private;
use ostler_protocol::{ErrorKind, HookReport, MAX_HOOK_PAYLOAD};
use rustix::fs::inotify::WatchFlags;

use super::handle;
use crate::hints::{Hints, Sleeper};
use crate::registry::Shared;

/// Longest file that is a report: the payload and its header.
const MAX_FILE: u64 = MAX_HOOK_PAYLOAD as u64 + (16 << 10);
/// Most files that are taken at one look.
const MAX_FILES: usize = 4_096;

/// Hears what is in the spool, now and whenever something is put there.
pub(crate) async fn replay_spool(shared: Shared) {
    let spool = shared.home.spool();
    // Watched before the first look, so that nothing falls between.
    let sleeper = create_private(&spool).and_then(|()| watch(&shared.hints, &spool));
    replay(&shared, &spool).await;
    match sleeper {
        Ok(sleeper) => loop {
            sleeper.woken().await;
            replay(&shared, &spool).await;
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
async fn replay(shared: &Shared, spool: &Path) {
    for file in files(spool) {
        let read = read(&file);
        match read.as_deref().map(HookReport::from_file) {
            Ok(Some((report, payload))) => {
                // Nobody waits for an answer any more.
                let report = HookReport { context: false, ..report };
                let (event, session) = (report.event.clone(), report.session.clone());
                match handle(shared, report, payload.to_vec()).await {
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

/// Reads a file of the spool, whatever was put there.
pub(super) fn read(file: &Path) -> io::Result<Vec<u8>> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::open(file, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE).read_to_end(&mut bytes)?;
    Ok(bytes)
}
