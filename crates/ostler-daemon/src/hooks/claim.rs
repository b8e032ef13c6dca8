//! Who handles a report: whoever makes its claim, once in the life of the home.
//!
//! A hook that waited too long for its answer leaves its report in the spool as well, and the daemon may be killed
//! between hearing a report and answering it. A file that can be made only once, before the report is heard,
//! decides such cases; it need not outlive the hook by much.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use ostler_hold::create_private;

use crate::home::Home;

/// A hook is long gone after this, and its report in the spool was seen.
const KEPT: Duration = Duration::from_hours(1);

/// The right to handle one report.
#[derive(Debug)]
pub(super) struct Claim(PathBuf);

impl Claim {
    /// Lets somebody else handle the report.
    pub(super) fn give_up(self) {
        let _ = fs::remove_file(self.0);
    }
}

fn directory(home: &Home) -> PathBuf {
    home.spool().join("claimed")
}

/// Claims the report of this id; none if it was claimed before.
pub(super) fn take(home: &Home, id: &str) -> io::Result<Option<Claim>> {
    let path = directory(home).join(id);
    let claim = || OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    let claimed = match claim() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_private(&directory(home))?;
            claim()
        }
        other => other,
    };
    match claimed {
        Ok(_) => Ok(Some(Claim(path))),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(error),
    }
}

/// Forgets claims that nobody can come back to.
pub(super) fn forget_old(home: &Home) {
    let Ok(entries) = fs::read_dir(directory(home)) else { return };
    let now = SystemTime::now();
    for entry in entries.flatten() {
        let made = entry.metadata().and_then(|metadata| metadata.modified());
        let age = made.ok().and_then(|made| now.duration_since(made).ok());
        if age.is_some_and(|age| age > KEPT) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_claimed_once() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("home").into_os_string();
        let home = Home::resolve(|name| (name == "OSTLER_HOME").then(|| path.clone())).unwrap();
        let first = take(&home, "a").unwrap().unwrap();
        assert!(take(&home, "a").unwrap().is_none());
        assert!(take(&home, "b").unwrap().is_some());
        first.give_up();
        assert!(take(&home, "a").unwrap().is_some());
        forget_old(&home);
        assert!(take(&home, "a").unwrap().is_none());
    }
}
