//! What the sandbox is told, and what it tells. Both are in one file, which it has as its standard input: the
//! program that runs in it never sees that.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How much of the file is read.
const MOST: usize = 4 << 20;

/// How a command is kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Containment {
    /// In namespaces of its own, with a root of its own: everything else is out of sight.
    Namespaces,
    /// By landlock and a stricter filter of system calls alone, because the system allows no namespaces.
    /// Attributes of files cannot be changed then, and other processes' names can be seen.
    Rules,
}

/// What a command may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxLimits {
    /// Time by the clock, for everything.
    pub wall: Duration,
    /// Time of a processor, for each process.
    pub cpu: Duration,
    /// Memory of each process, in bytes. All together may have more.
    pub memory: u64,
    /// Processes and threads at once.
    pub processes: u64,
    /// Size of each file that is written, in bytes. All together may be larger.
    pub file_size: u64,
    /// Open files of each process.
    pub open_files: u64,
}

impl Default for SandboxLimits {
    fn default() -> Self {
        Self {
            wall: Duration::from_mins(2),
            cpu: Duration::from_mins(2),
            memory: 4 << 30,
            processes: 256,
            file_size: 1 << 30,
            open_files: 1024,
        }
    }
}

/// Everything that the sandbox is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Spec {
    pub(super) containment: Containment,
    pub(super) program: PathBuf,
    /// The name that the program is called by, and its arguments.
    pub(super) words: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) cwd: PathBuf,
    /// Places that may be read and run from.
    pub(super) readable: Vec<PathBuf>,
    /// The copy of the work tree.
    pub(super) tree: PathBuf,
    /// Its place for temporary files.
    pub(super) tmp: PathBuf,
    /// An empty directory, where the root is put together.
    pub(super) root: PathBuf,
    pub(super) limits: SandboxLimits,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    /// The command ran and ended by itself.
    Exited(i32),
    /// The command ran and was ended by a signal.
    Signalled(i32),
    /// The command was not run: it cannot be contained, or cannot be started.
    Refused(String),
    /// The command was not run: the system allows no namespaces.
    NoNamespaces(String),
}

/// The file, from either side.
#[derive(Debug)]
pub(super) struct Channel(File);

impl Channel {
    /// Writes what the sandbox is to know into a new file.
    pub(super) fn create(spec: &Spec) -> io::Result<Self> {
        let file = tempfile::tempfile()?;
        let mut bytes = serde_json::to_vec(spec).map_err(io::Error::other)?;
        bytes.push(b'\n');
        file.write_all_at(&bytes, 0)?;
        Ok(Self(file))
    }

    /// The file that this process was started with.
    pub(super) fn inherited() -> io::Result<Self> {
        let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("this is for ostler itself to start"));
        }
        Ok(Self(file))
    }

    /// The same file, as the standard input of another process.
    pub(super) fn share(&self) -> io::Result<File> {
        self.0.try_clone()
    }

    fn lines(&self) -> io::Result<Vec<Vec<u8>>> {
        let mut bytes = Vec::new();
        let mut buffer = [0; 4096];
        while bytes.len() < MOST {
            match self.0.read_at(&mut buffer, bytes.len() as u64)? {
                0 => break,
                count => bytes.extend_from_slice(&buffer[..count]),
            }
        }
        Ok(bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect())
    }

    pub(super) fn spec(&self) -> io::Result<Spec> {
        let lines = self.lines()?;
        serde_json::from_slice(lines.first().map_or(&[], Vec::as_slice)).map_err(io::Error::other)
    }

    /// Records what came of it. What was recorded first counts.
    pub(super) fn record(&self, report: &Report) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(report).map_err(io::Error::other)?;
        bytes.push(b'\n');
        self.0.write_all_at(&bytes, self.0.metadata()?.len())
    }

    pub(super) fn report(&self) -> io::Result<Option<Report>> {
        let lines = self.lines()?;
        Ok(lines.get(1).and_then(|line| serde_json::from_slice(line).ok()))
    }
}
