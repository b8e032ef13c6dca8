//! The file that an agent reads its instructions from, changed whole or not at all.
//!
//! It is a person's file in a person's project. Only ostler's block in it is touched (see
//! [`ostler_agents::instructions`]); the file is replaced in one step, and only if nobody changed it meanwhile. All
//! ostlers of a machine, of whatever home, wait for each other: the lock is on the directory itself. A name that
//! leads elsewhere is refused: a project may have been written by anybody.

use std::fs::{File, Metadata, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ostler_agents::instructions::{self, BlockError, BlockId, Remains};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::clock;
use crate::trusted_path::{self, TrustError};

/// Largest file that something is put into, and largest that comes of it: more than any agent reads.
const MAX_BYTES: u64 = 1 << 20;
/// Largest file that something is taken out of: people write on in a file with a block in it.
const MAX_BYTES_TO_CLEAN: u64 = 8 << 20;
/// How long others may take who change a file in the same directory, and between two looks.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);
/// How often a file that somebody else changes meanwhile is tried.
const TRIES: u32 = 5;

/// Why a file is not changed. In every case it is as it was.
#[derive(Debug, thiserror::Error)]
pub enum InstructionsError {
    /// Its name leads elsewhere.
    #[error("{0} goes through a symbolic link, and only plain files are changed")]
    Link(PathBuf),
    /// It is not a plain file of ours in the project.
    #[error("{0}")]
    Unfit(String),
    /// The text cannot be put into it.
    #[error("{file}: {source}")]
    Text {
        /// The file.
        file: PathBuf,
        /// The reason, for people.
        source: BlockError,
    },
    /// Somebody else has the directory locked.
    #[error("{0} is locked by another program")]
    Locked(PathBuf),
    /// Somebody else changes it all the time.
    #[error("{0} keeps changing")]
    Changing(PathBuf),
    /// The disk says no.
    #[error("{file}: {source}")]
    Io {
        /// The file or directory.
        file: PathBuf,
        /// The reason, for people.
        source: io::Error,
    },
}

/// What was taken out of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Removed {
    /// How many blocks.
    pub blocks: usize,
    /// The file was ostler's own, and is gone.
    pub deleted: bool,
}

/// The instructions file of a project. All of its functions wait for the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionsFile {
    project: PathBuf,
    file: PathBuf,
}

/// A file as it was found.
struct Found {
    bytes: Vec<u8>,
    metadata: Metadata,
}

/// What to do with a file.
enum Edit {
    Leave,
    Write(Vec<u8>),
    Delete,
}

impl InstructionsFile {
    /// The file with this name in a project.
    pub fn new(project: &Path, file: &str) -> Self {
        Self { project: project.to_owned(), file: file.into() }
    }

    /// Its whole path.
    pub fn path(&self) -> PathBuf {
        self.project.join(&self.file)
    }

    /// Puts a block in, in the place of the session's last one; says whether that changed anything.
    pub fn put(&self, id: &BlockId, body: &str) -> Result<bool, InstructionsError> {
        self.change(MAX_BYTES, |before| {
            let after = instructions::put(before, id, body)
                .map_err(|source| InstructionsError::Text { file: self.path(), source })?;
            if after.len() as u64 > MAX_BYTES {
                return Err(self.unfit("would be too large for instructions"));
            }
            Ok(if before == Some(&after) { (Edit::Leave, false) } else { (Edit::Write(after), true) })
        })
    }

    /// Takes a session's block out, or those of all sessions. A file that ostler made and that has nothing else in it
    /// goes too.
    pub fn remove(&self, id: Option<&BlockId>) -> Result<Removed, InstructionsError> {
        let removed = self.change(MAX_BYTES_TO_CLEAN, |before| {
            let Some(before) = before else { return Ok((Edit::Leave, Removed::default())) };
            let mut ids = instructions::ids(before);
            ids.retain(|found| id.is_none_or(|id| id.as_str() == found));
            let removed = Removed { blocks: ids.len(), deleted: false };
            Ok(match instructions::remove(before, id) {
                Remains::Same => (Edit::Leave, removed),
                Remains::Bytes(after) => (Edit::Write(after), removed),
                Remains::Nothing => (Edit::Delete, Removed { deleted: true, ..removed }),
            })
        });
        match removed {
            // Where there is no directory there is no block.
            Err(InstructionsError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Ok(Removed::default())
            }
            other => other,
        }
    }

    /// Does one thing to the file while no other ostler does, if it is not larger than `limit`.
    fn change<T>(
        &self,
        limit: u64,
        edit: impl Fn(Option<&[u8]>) -> Result<(Edit, T), InstructionsError>,
    ) -> Result<T, InstructionsError> {
        let (Some(parent), Some(name)) = (self.file.parent(), self.file.file_name()) else {
            return Err(InstructionsError::Unfit(format!("{} is no file", self.path().display())));
        };
        let directory = trusted_path::open_directory(&self.project, parent).map_err(|e| self.refused(e))?;
        self.lock(&directory)?;
        let name = Path::new(name);
        for _ in 0..TRIES {
            let found = self.read(&directory, name, limit)?;
            let (edit, result) = edit(found.as_ref().map(|found| &*found.bytes))?;
            if self.perform(&directory, name, found.as_ref(), &edit)? {
                return Ok(result);
            }
        }
        Err(InstructionsError::Changing(self.path()))
    }

    /// Waits for the other ostlers; the lock goes with the handle.
    fn lock(&self, directory: &OwnedFd) -> Result<(), InstructionsError> {
        let deadline = clock::steady().plus(PATIENCE);
        loop {
            match rustix::fs::flock(directory, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) if clock::steady() < deadline => std::thread::sleep(PAUSE),
                Err(Errno::WOULDBLOCK) => {
                    let directory = self.path().parent().map(Path::to_owned);
                    return Err(InstructionsError::Locked(directory.unwrap_or_else(|| self.path())));
                }
                Err(Errno::INTR) => {}
                // Some network file systems have no such locks. What is checked before the change is enough then.
                Ok(()) | Err(_) => return Ok(()),
            }
        }
    }

    fn read(&self, directory: &OwnedFd, name: &Path, limit: u64) -> Result<Option<Found>, InstructionsError> {
        let file = match trusted_path::open_file(directory.as_fd(), name, &self.path()) {
            Ok(file) => file,
            Err(error) if error.is_missing() => return Ok(None),
            Err(error) => return Err(self.refused(error)),
        };
        let metadata = file.metadata().map_err(|error| self.failed(error))?;
        if metadata.nlink() > 1 {
            return Err(self.unfit("has other names too (hard links)"));
        }
        if metadata.len() > limit {
            return Err(self.unfit("is too large for instructions"));
        }
        if metadata.mode() & 0o200 == 0 {
            return Err(self.unfit("is read-only"));
        }
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes).map_err(|error| self.failed(error))?;
        Ok(Some(Found { bytes, metadata }))
    }

    /// Makes the change; says whether the file was still as it was found.
    fn perform(
        &self,
        directory: &OwnedFd,
        name: &Path,
        found: Option<&Found>,
        edit: &Edit,
    ) -> Result<bool, InstructionsError> {
        let done = match edit {
            Edit::Leave => return Ok(true),
            Edit::Write(bytes) => {
                // Whoever has the lock is the only one who uses this name, unless there are no locks.
                let temporary = PathBuf::from(format!(".{}.ostler-new", name.display()));
                let written = write_new(directory, &temporary, found, bytes)
                    .map_err(|error| self.failed(error))
                    .and_then(|()| self.replace(directory, &temporary, name, found));
                if !matches!(written, Ok(true)) {
                    let _ = rustix::fs::unlinkat(directory, &temporary, AtFlags::empty());
                }
                written?
            }
            Edit::Delete => {
                let same = self.is_same(directory, name, found)?;
                if same {
                    rustix::fs::unlinkat(directory, name, AtFlags::empty())
                        .map_err(|error| self.failed(error.into()))?;
                }
                same
            }
        };
        if done {
            // The change is made; a power cut may only take it back.
            let _ = rustix::fs::fsync(directory);
        }
        Ok(done)
    }

    fn replace(
        &self,
        directory: &OwnedFd,
        temporary: &Path,
        name: &Path,
        found: Option<&Found>,
    ) -> Result<bool, InstructionsError> {
        let renamed = if found.is_none() {
            // Not over a file that came into being a moment ago.
            rustix::fs::renameat_with(directory, temporary, directory, name, RenameFlags::NOREPLACE)
        } else if self.is_same(directory, name, found)? {
            rustix::fs::renameat(directory, temporary, directory, name)
        } else {
            Err(Errno::EXIST)
        };
        match renamed {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(error) => Err(self.failed(error.into())),
        }
    }

    /// People and agents write the file too, and know nothing of our lock.
    fn is_same(
        &self,
        directory: &OwnedFd,
        name: &Path,
        found: Option<&Found>,
    ) -> Result<bool, InstructionsError> {
        let now = self.read(directory, name, MAX_BYTES_TO_CLEAN)?;
        Ok(now.map(|now| now.bytes).as_deref() == found.map(|found| &*found.bytes))
    }

    fn refused(&self, error: TrustError) -> InstructionsError {
        match error {
            TrustError::Io { source, .. } => self.failed(source),
            TrustError::Link(path) => InstructionsError::Link(path),
            other => InstructionsError::Unfit(other.to_string()),
        }
    }

    fn unfit(&self, reason: &str) -> InstructionsError {
        InstructionsError::Unfit(format!("{} {reason}", self.path().display()))
    }

    fn failed(&self, source: io::Error) -> InstructionsError {
        InstructionsError::Io { file: self.path(), source }
    }
}

/// Writes the new file beside the old one, and makes it as much the old one's equal as can be.
fn write_new(directory: &OwnedFd, name: &Path, found: Option<&Found>, bytes: &[u8]) -> io::Result<()> {
    // One that a killed process left.
    let _ = rustix::fs::unlinkat(directory, name, AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // A new file is as the umask says; an old one is private until it has its old mode again.
    let mode = if found.is_some() { 0o600 } else { 0o666 };
    let mut file = File::from(rustix::fs::openat(directory, name, flags, Mode::from_raw_mode(mode))?);
    file.write_all(bytes)?;
    if let Some(Found { metadata, .. }) = found {
        if metadata.gid() != file.metadata()?.gid() {
            std::os::unix::fs::fchown(&file, None, Some(metadata.gid()))?;
        }
        file.set_permissions(Permissions::from_mode(metadata.mode() & 0o7777))?;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests;
