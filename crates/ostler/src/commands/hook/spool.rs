//! Leaving a report where the daemon finds it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ostler_hold::create_private;
use ostler_protocol::HookReport;

/// Most reports that wait for a daemon, and most bytes of them. The oldest make room for new ones: what an agent
/// does now matters more than what it did an hour ago.
const MOST_FILES: usize = 512;
const MOST_BYTES: u64 = 32 << 20;

/// Puts a report into the spool, whole or not at all.
pub(super) fn put(spool: &Path, report: &HookReport, payload: &[u8]) -> io::Result<()> {
    let name = report.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let bytes = report.to_file(payload)?;
    // The home itself is there, or there was never a session in it.
    if !spool.parent().is_some_and(Path::is_dir) {
        return Err(io::ErrorKind::NotFound.into());
    }
    create_private(spool)?;
    make_room(spool, bytes.len() as u64);
    let temporary = spool.join(format!(".{name}"));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temporary)
        .and_then(|mut file| file.write_all(&bytes))
        .and_then(|()| fs::rename(&temporary, spool.join(name)));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn make_room(spool: &Path, wanted: u64) {
    let Ok(entries) = fs::read_dir(spool) else { return };
    let mut files: Vec<(PathBuf, u64)> = entries
        .flatten()
        .filter_map(|entry| Some((entry.path(), entry.metadata().ok().filter(fs::Metadata::is_file)?.len())))
        .collect();
    files.sort();
    let mut bytes: u64 = files.iter().map(|(_, size)| size).sum();
    let mut count = files.len();
    for (file, size) in &files {
        if count < MOST_FILES && bytes + wanted <= MOST_BYTES {
            break;
        }
        let _ = fs::remove_file(file);
        count -= 1;
        bytes -= size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(at: u64) -> HookReport {
        HookReport {
            id: format!("id-{at}"),
            session: "s".into(),
            nonce: "n".into(),
            event: "Stop".into(),
            agent: None,
            at,
            context: false,
        }
    }

    fn names(spool: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(spool)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn the_spool_is_bounded_and_the_newest_stay() {
        let home = tempfile::tempdir().unwrap();
        let spool = home.path().join("spool");
        for at in 0..600 {
            put(&spool, &report(at), b"{}").unwrap();
        }
        let left = names(&spool);
        assert_eq!(left.len(), MOST_FILES);
        assert!(left.last().unwrap().ends_with("id-599"), "{left:?}");
        for at in 600..700 {
            put(&spool, &report(at), &vec![b'x'; 1 << 20]).unwrap();
        }
        let bytes: u64 = names(&spool).iter().map(|name| fs::metadata(spool.join(name)).unwrap().len()).sum();
        assert!(bytes <= MOST_BYTES, "{bytes}");
        assert!(names(&spool).last().unwrap().ends_with("id-699"));
    }

    #[test]
    fn without_a_home_nothing_is_made() {
        let base = tempfile::tempdir().unwrap();
        put(&base.path().join("home/spool"), &report(1), b"").unwrap_err();
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
    }
}
