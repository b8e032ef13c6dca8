//! Who handles a report: whoever makes its claim, once in the life of the home.
//!
//! A hook that waited too long for its answer leaves its report in the spool as well: a file that can be made only
//! once decides who is heard. The claim holds the report itself until its session has heard it, so that what a
//! daemon had in its hands when it was killed is found by the next one. An empty claim is a report that was heard;
//! it need not outlive the hook by much.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ostler_hold::create_private;
use ostler_protocol::HookReport;

use super::read_report;
use crate::home::Home;

/// A hook is long gone after this, and its report in the spool was seen.
const KEPT: Duration = Duration::from_hours(1);

/// The right to handle one report.
#[derive(Debug)]
pub(crate) struct Claim(PathBuf);

impl Claim {
    /// The report was heard: nobody handles it again.
    pub(crate) fn heard(self) {
        let emptied = OpenOptions::new().write(true).truncate(true).open(&self.0);
        if let Err(error) = emptied {
            tracing::warn!(%error, claim = %self.0.display(), "a report may be heard again by the next daemon");
        }
    }
}

/// Lets somebody else handle a report that was claimed.
pub(crate) fn give_up(home: &Home, id: &str) {
    let _ = fs::remove_file(directory(home).join(id));
}

fn directory(home: &Home) -> PathBuf {
    home.spool().join("claimed")
}

/// Claims a report, whose id is a plain one; none if it was claimed before.
pub(crate) fn take(home: &Home, report: &HookReport, payload: &[u8]) -> io::Result<Option<Claim>> {
    let path = directory(home).join(&report.id);
    if path.exists() {
        return Ok(None);
    }
    let written = directory(home).join(format!(".{}", report.id));
    write(&written, &report.to_file(payload)?)?;
    // A link is made whole or not at all, and never over another.
    let claimed = fs::hard_link(&written, &path);
    let _ = fs::remove_file(&written);
    match claimed {
        Ok(()) => Ok(Some(Claim(path))),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(error),
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let open = || OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    let mut file: File = match (open(), path.parent()) {
        (Err(error), Some(directory)) if error.kind() == io::ErrorKind::NotFound => {
            create_private(directory)?;
            open()?
        }
        (opened, _) => opened?,
    };
    file.write_all(bytes)
}

/// Puts back into the spool what an earlier daemon claimed and nobody heard, and forgets claims that nobody can come
/// back to. To be called before the first claim is made.
pub(crate) fn put_back(home: &Home) {
    let Ok(entries) = fs::read_dir(directory(home)) else { return };
    let now = SystemTime::now();
    for entry in entries.flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        let age = metadata.modified().ok().and_then(|made| now.duration_since(made).ok());
        let is_whole = !entry.file_name().as_encoded_bytes().starts_with(b".");
        if metadata.len() > 0 && is_whole {
            let name = read_report(&entry.path())
                .ok()
                .and_then(|bytes| HookReport::from_file(&bytes).and_then(|(report, _)| report.file_name()));
            if name.is_some_and(|name| fs::rename(entry.path(), home.spool().join(name)).is_ok()) {
                continue;
            }
        }
        if !is_whole || age.is_some_and(|age| age > KEPT) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(id: &str) -> HookReport {
        HookReport {
            id: id.into(),
            session: "s".into(),
            nonce: "n".into(),
            event: "Stop".into(),
            agent: None,
            at: 7,
            context: false,
        }
    }

    #[test]
    fn a_report_is_claimed_once_and_kept_until_it_was_heard() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("home").into_os_string();
        let home = Home::resolve(|name| (name == "OSTLER_HOME").then(|| path.clone())).unwrap();
        let take = |id: &str| take(&home, &report(id), b"{}").unwrap();
        assert!(take("a").is_some());
        assert!(take("a").is_none());
        give_up(&home, "a");
        let heard = take("a").unwrap();
        let _unheard = take("b").unwrap();
        heard.heard();

        put_back(&home);
        assert!(take("a").is_none());
        let put_back = home.spool().join(report("b").file_name().unwrap());
        let bytes = fs::read(put_back).unwrap();
        assert_eq!(HookReport::from_file(&bytes), Some((report("b"), &b"{}"[..])));
        assert!(take("b").is_some());
    }
}
