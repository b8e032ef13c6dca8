//! What programs said when they were asked what they are, kept on disk.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ostler_core::Wall;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::{Home, clock};

/// Most entries; the oldest go first.
const MAX_ENTRIES: usize = 200;
/// Largest file that is read.
const MAX_BYTES: u64 = 1 << 20;
/// A program may be a thin wrapper that stays the same while what it runs is updated, so it is asked anew each day.
const MAX_AGE: Duration = Duration::from_hours(24);
/// What is wrong may depend on more than the file, and somebody is about to mend it.
const MAX_AGE_WRONG: Duration = Duration::from_mins(10);
/// Grows when the form of the file changes.
const FORM: u32 = 1;

/// What was asked of whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Key {
    /// The program as it was called.
    program: PathBuf,
    /// The file behind all links.
    file: PathBuf,
    device: u64,
    inode: u64,
    size: u64,
    /// Nanoseconds. Installers set the time of a file at will, but not the time of its last change.
    modified: i128,
    changed: i128,
    /// The question, and what is made of the answer.
    spec: Vec<String>,
}

impl Key {
    /// The key for a program as it is now, if there is one.
    pub(super) fn of(program: &Path, spec: &ostler_agents::Identity) -> Option<Self> {
        let file = program.canonicalize().ok()?;
        let metadata = file.metadata().ok()?;
        let time = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        let mut question = spec.args.clone();
        question.extend([spec.matches.clone(), spec.version.clone().unwrap_or_default()]);
        question.extend(spec.version_args.iter().cloned());
        Some(Self {
            program: program.to_owned(),
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: time(metadata.mtime(), metadata.mtime_nsec()),
            changed: time(metadata.ctime(), metadata.ctime_nsec()),
            spec: question,
            file,
        })
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    key: Key,
    /// Milliseconds since 1970.
    at: u64,
    pub(super) is_agent: bool,
    pub(super) version: Option<String>,
    pub(super) said: String,
}

impl Entry {
    pub(super) fn new(key: Key, is_agent: bool, version: Option<String>, said: String) -> Self {
        Self { key, at: clock::now().0, is_agent, version, said }
    }

    pub(super) fn is_fresh(&self) -> bool {
        // A clock that was set back makes entries from the future.
        let (now, at) = (clock::now(), Wall(self.at));
        at <= now && now.since(at) < if self.is_agent { MAX_AGE } else { MAX_AGE_WRONG }
    }
}

/// All answers.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Cache {
    form: u32,
    entries: Vec<Entry>,
}

impl Cache {
    /// Reads what was kept; nothing, if it cannot be read.
    pub(super) fn read(file: &Path) -> Self {
        let mut bytes = Vec::new();
        let found = fs::File::open(file).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes));
        let cache = found.ok().and_then(|_| serde_json::from_slice::<Self>(&bytes).ok());
        cache.filter(|cache| cache.form == FORM).unwrap_or_default()
    }

    /// The last answer, however old.
    pub(super) fn find(self, key: &Key) -> Option<Entry> {
        self.entries.into_iter().find(|entry| entry.key == *key)
    }

    /// Keeps an answer.
    pub(super) fn remember(home: &Home, entry: Entry) -> io::Result<()> {
        ostler_hold::create_private(home.path())?;
        // Many may be asked at once, by this process and others.
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(home.identities().with_extension("lock"))?;
        flock(&lock, FlockOperation::LockExclusive)?;
        let mut cache = Self::read(&home.identities());
        // One answer per program: an update makes the old one worthless.
        let same = |other: &Entry| other.key.program == entry.key.program && other.key.spec == entry.key.spec;
        cache.entries.retain(|other| !same(other));
        cache.entries.push(entry);
        let surplus = cache.entries.len().saturating_sub(MAX_ENTRIES);
        cache.entries.drain(..surplus);
        cache.form = FORM;
        ostler_hold::write_atomically(&home.identities(), &serde_json::to_vec(&cache)?)
    }
}
