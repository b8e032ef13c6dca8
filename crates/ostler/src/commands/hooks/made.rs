//! What ostler made where nothing was before, so that it can be taken away again.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ostler_hold::{create_private, write_atomically};
use rustix::fs::{FlockOperation, flock};

use crate::error::CommandError;

/// Files and directories that ostler made. Whoever has it is the only one who changes hooks.
#[derive(Debug)]
pub(super) struct Made {
    record: PathBuf,
    paths: BTreeSet<PathBuf>,
    /// Held for as long as this lives.
    _lock: File,
}

impl Made {
    /// Waits for all others who change hooks, and reads the record.
    pub(super) fn locked(home: &Path) -> Result<Self, CommandError> {
        create_private(home)?;
        let options = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).clone();
        let lock = options.open(home.join("hooks.lock"))?;
        flock(&lock, FlockOperation::LockExclusive).map_err(std::io::Error::from)?;
        let record = home.join("hooks-made.json");
        // A record that is lost means only that empty files are left behind.
        let paths = fs::read(&record).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Ok(Self { record, paths: paths.unwrap_or_default(), _lock: lock })
    }

    pub(super) fn has(&self, path: &Path) -> bool {
        self.paths.contains(path)
    }

    /// Notes a path that is about to be made.
    pub(super) fn add(&mut self, path: &Path) -> std::io::Result<()> {
        if self.paths.insert(path.to_owned()) { self.write() } else { Ok(()) }
    }

    /// Forgets a file that is gone, and takes away the directories that were made for it, if nothing is in them.
    pub(super) fn gone(&mut self, file: &Path) -> std::io::Result<()> {
        self.paths.remove(file);
        for dir in file.ancestors().skip(1) {
            if !self.paths.contains(dir) || fs::remove_dir(dir).is_err() {
                break;
            }
            self.paths.remove(dir);
        }
        self.write()
    }

    fn write(&self) -> std::io::Result<()> {
        write_atomically(&self.record, &serde_json::to_vec(&self.paths)?)
    }
}
