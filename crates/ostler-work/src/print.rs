//! What a file was like, well enough to tell whether it is another one now.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::names;

/// Larger files are told apart by their times and inode alone.
const LARGEST: u64 = 8 << 20;

/// What is on the disk under a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Print {
    /// A regular file.
    File {
        /// Cheap to read; equal means the same content.
        stat: Stat,
        /// Whether it may be run.
        runs: bool,
        /// Of its content; none if there was too much to read.
        hash: Option<String>,
    },
    /// A symbolic link, and where it points.
    Link(String),
    /// A directory, which stands for itself where a repository was.
    Directory,
    /// A device, a pipe, a socket.
    Special,
}

/// Numbers that change whenever a file is written. A program can set the other times, but not `changed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stat {
    size: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Print {
    /// Whether the two are the same to somebody who reads them.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::File { stat, runs, hash: Some(hash) },
                Self::File { stat: other_stat, runs: other_runs, hash: Some(other) },
            ) => runs == other_runs && (stat == other_stat || hash == other),
            (Self::File { stat, runs, .. }, Self::File { stat: other, runs: other_runs, .. }) => {
                let key = |stat: &Stat| (stat.size, stat.inode, stat.modified);
                runs == other_runs && key(stat) == key(other)
            }
            (a, b) => a == b,
        }
    }
}

/// Reads prints beneath one directory, and only there: no link is followed on the way.
#[derive(Debug)]
pub(crate) struct Reader {
    root: OwnedFd,
    /// How many more bytes are hashed.
    budget: u64,
}

impl Reader {
    pub(crate) fn new(root: &Path, budget: u64) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { root: rustix::fs::open(root, flags, Mode::empty())?, budget })
    }

    fn open(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        loop {
            match rustix::fs::openat2(&self.root, path, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                other => return other,
            }
        }
    }

    /// What is there now, none if nothing is. `known` spares the reading of a file that is still the same.
    pub(crate) fn read(&mut self, path: &Path, known: Option<&Print>) -> io::Result<Option<Print>> {
        let handle = match self.open(path, OFlags::PATH) {
            Ok(handle) => handle,
            // A directory on the way has become a link, or a file: this name is not there any more.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let found = rustix::fs::fstat(&handle)?;
        Ok(Some(match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile => self.file(path, &found, known)?,
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(handle.as_fd(), "", Vec::new())?;
                Print::Link(names::escaped(names::path(target.as_bytes())))
            }
            FileType::Directory => Print::Directory,
            _ => Print::Special,
        }))
    }

    fn file(&mut self, path: &Path, found: &rustix::fs::Stat, known: Option<&Print>) -> io::Result<Print> {
        let stat = stat(found);
        let runs = found.st_mode & 0o111 != 0;
        if let Some(Print::File { stat: before, hash: hash @ Some(_), .. }) = known
            && *before == stat
        {
            return Ok(Print::File { stat, runs, hash: hash.clone() });
        }
        if stat.size > LARGEST || stat.size > self.budget {
            return Ok(Print::File { stat, runs, hash: None });
        }
        self.budget -= stat.size;
        let hash = match self.open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY) {
            Ok(file) => Some(hash(File::from(file))?),
            // Not ours to read.
            Err(Errno::ACCESS | Errno::PERM | Errno::NOENT) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(Print::File { stat, runs, hash })
    }
}

fn stat(found: &rustix::fs::Stat) -> Stat {
    Stat {
        size: u64::try_from(found.st_size).unwrap_or(0),
        inode: found.st_ino,
        modified: (found.st_mtime, found.st_mtime_nsec.cast_signed()),
        changed: (found.st_ctime, found.st_ctime_nsec.cast_signed()),
    }
}

fn hash(file: File) -> io::Result<String> {
    let mut digest = Sha256::new();
    // It may grow while it is read.
    let mut file = file.take(LARGEST + 1);
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => digest.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(format!("{:x}", digest.finalize()))
}
