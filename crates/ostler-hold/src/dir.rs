//! A session's directory: the only thing a daemon needs to find a holder again.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags};

use crate::exit::ExitRecord;
use crate::identity::Identity;
use crate::wire::{TOKEN_LEN, Token};

/// Longest socket path the kernel takes, without the closing zero.
const MAX_SOCKET_PATH: usize = 107;

/// The files of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDir(PathBuf);

impl SessionDir {
    /// Names a directory that exists or is about to.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Makes the directory, readable by its owner alone.
    pub fn create(&self) -> io::Result<()> {
        create_private(&self.0)
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// What to run, locked by the holder for as long as it lives.
    pub fn spec(&self) -> PathBuf {
        self.0.join("spec")
    }

    /// The holder's socket.
    pub fn socket(&self) -> PathBuf {
        self.0.join("sock")
    }

    /// The output ring.
    pub fn ring(&self) -> PathBuf {
        self.0.join("ring")
    }

    /// The path of the session's control group, where it has one.
    pub fn cgroup(&self) -> PathBuf {
        self.0.join("cgroup")
    }

    /// What the holder itself had to complain about.
    pub fn log(&self) -> PathBuf {
        self.0.join("holder.log")
    }

    /// The recording, where one was asked for.
    pub fn recording(&self) -> PathBuf {
        self.0.join("session.cast")
    }

    /// The daemon's last picture of the screen.
    pub fn screen(&self) -> PathBuf {
        self.0.join("screen")
    }

    /// Writes the holder's identity.
    pub fn write_identity(&self, identity: &Identity) -> io::Result<()> {
        write_atomically(&self.0.join("holder"), identity.to_text().as_bytes())
    }

    /// The holder's identity, once it has one.
    pub fn read_identity(&self) -> Option<Identity> {
        Identity::from_text(&fs::read_to_string(self.0.join("holder")).ok()?)
    }

    /// Draws the session's secret and writes it down.
    pub fn write_token(&self) -> io::Result<Token> {
        let mut token: Token = [0; TOKEN_LEN];
        rustix::rand::getrandom(&mut token, rustix::rand::GetRandomFlags::empty())?;
        write_atomically(&self.0.join("token"), &token)?;
        Ok(token)
    }

    /// Reads the session's secret.
    pub fn read_token(&self) -> io::Result<Token> {
        let bytes = fs::read(self.0.join("token"))?;
        bytes.try_into().map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "token file is damaged"))
    }

    /// Writes the exit record.
    pub fn write_exit(&self, record: &ExitRecord) -> io::Result<()> {
        write_atomically(&self.0.join("exit"), record.to_text().as_bytes())
    }

    /// The exit record, if the program has ended under its holder's eyes.
    pub fn read_exit(&self) -> Option<ExitRecord> {
        ExitRecord::from_text(&fs::read_to_string(self.0.join("exit")).ok()?).ok()
    }

    /// Whether a holder is there: it keeps the spec file locked from before its first instruction to its
    /// last, so this cannot mistake a recycled process id for it.
    ///
    /// Only a lock that can be had, or a spec that is not there, proves the absence of a holder; any other
    /// failure proves nothing, and counts as its presence.
    pub fn is_held(&self) -> bool {
        match File::open(self.spec()) {
            Ok(file) => rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err(),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    /// Opens the session's socket for listening.
    pub fn listen(&self) -> io::Result<UnixListener> {
        let path = self.socket();
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = SocketPath::new(&path)?.listen()?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        Ok(listener)
    }
}

/// Makes `path` and what is missing above it, private to its owner, and checks one that is already there.
pub fn create_private(path: &Path) -> io::Result<()> {
    match DirBuilder::new().recursive(true).mode(0o700).create(path) {
        Ok(()) => {}
        Err(error) => {
            return Err(io::Error::new(error.kind(), format!("cannot make {}: {error}", path.display())));
        }
    }
    let metadata = fs::metadata(path)?;
    let complaint = if !metadata.is_dir() {
        "is not a directory"
    } else if metadata.uid() != rustix::process::geteuid().as_raw() {
        "belongs to another user"
    } else if metadata.mode() & 0o077 != 0 {
        "is open to other users (chmod 700 it)"
    } else {
        return Ok(());
    };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{} {complaint}", path.display())))
}

/// Replaces a file in one step; its content is private to its owner. Not synced to disk: the file speaks of
/// processes that do not survive what a sync would protect against.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension(format!("new{}", std::process::id()));
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// A way to a socket that the kernel accepts however long the path is: beyond its limit the socket is
/// addressed through an open handle on its directory.
#[derive(Debug)]
pub struct SocketPath {
    path: PathBuf,
    /// Keeps the handle named by `path` open.
    _directory: Option<OwnedFd>,
}

impl SocketPath {
    /// Finds a usable address for the socket at `path`.
    pub fn new(path: &Path) -> io::Result<Self> {
        if path.as_os_str().len() <= MAX_SOCKET_PATH {
            return Ok(Self { path: path.to_owned(), _directory: None });
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "socket path has no directory"));
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(parent, flags, Mode::empty())?;
        let path = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name);
        Ok(Self { path, _directory: Some(directory) })
    }

    /// The address, valid while `self` lives.
    pub fn as_path(&self) -> &Path {
        &self.path
    }

    fn listen(&self) -> io::Result<UnixListener> {
        UnixListener::bind(&self.path)
    }

    /// Connects to the socket.
    pub fn connect(&self) -> io::Result<UnixStream> {
        UnixStream::connect(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_too_long_for_the_kernel_still_works() {
        let base = tempfile::tempdir().unwrap();
        let dir = SessionDir::new(base.path().join("x".repeat(120)).join("y".repeat(120)));
        dir.create().unwrap();
        let listener = dir.listen().unwrap();
        SocketPath::new(&dir.socket()).unwrap().connect().unwrap();
        listener.accept().unwrap();
        assert_eq!(fs::metadata(dir.socket()).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_directory_open_to_others_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("open");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let error = create_private(&path).unwrap_err();
        assert!(error.to_string().contains("chmod 700"), "{error}");
    }

    #[test]
    fn a_lock_on_the_spec_is_the_holder() {
        let base = tempfile::tempdir().unwrap();
        let dir = SessionDir::new(base.path().join("s"));
        dir.create().unwrap();
        assert!(!dir.is_held());
        let file = File::create(dir.spec()).unwrap();
        assert!(!dir.is_held());
        rustix::fs::flock(&file, FlockOperation::LockExclusive).unwrap();
        assert!(dir.is_held());
        drop(file);
        assert!(!dir.is_held());
    }
}
