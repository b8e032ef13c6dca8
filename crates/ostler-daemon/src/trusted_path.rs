//! Opening files that an untrusted program named.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// How often an open that a rename disturbed is tried again. Only a hostile directory disturbs so many.
const TRIES: u32 = 8;

/// Why a file is not opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TrustError {
    /// The path leads out of the root, or is no path at all.
    #[error("{path} is not beneath {root}")]
    Outside {
        /// The path as it was named.
        path: PathBuf,
        /// Where it should lie.
        root: PathBuf,
    },
    /// A part of the path is a symbolic link.
    #[error("{0} goes through a symbolic link")]
    Link(PathBuf),
    /// It is a directory, a pipe, a device.
    #[error("{0} is not a regular file")]
    NotRegular(PathBuf),
    /// It belongs to another user.
    #[error("{0} belongs to another user")]
    NotOurs(PathBuf),
    /// It cannot be opened.
    #[error("{path}: {source}")]
    Io {
        /// The path as it was named.
        path: PathBuf,
        /// The reason, for people.
        source: io::Error,
    },
}

impl TrustError {
    /// Whether the file may be there later: nothing is wrong with the path.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// Opens a file for reading that lies beneath `root`, however its path was made up.
///
/// `path` is absolute or relative to `root`. `root` itself is ours to trust: links in it are followed. Beneath
/// it nothing is: no link, no `..`, no magic link of `/proc`. The kernel checks while it walks, so that nobody
/// can swap a directory for a link in between. Opening never blocks, not on a pipe either.
pub(crate) fn open_beneath(root: &Path, path: &Path) -> Result<File, TrustError> {
    let below = below(root, path)?;
    let root = open_root(root, path)?;
    open_file(root.as_fd(), &below, path)
}

/// Opens a directory beneath `root`, or `root` itself for an empty path, with the same care.
pub(crate) fn open_directory(root: &Path, path: &Path) -> Result<OwnedFd, TrustError> {
    let is_root = path.as_os_str().is_empty();
    let below = if is_root { PathBuf::from(".") } else { below(root, path)? };
    let handle = open_root(root, path)?;
    walk(handle.as_fd(), &below, path, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// Opens a file in a directory that was opened before, for reading.
pub(crate) fn open_file(directory: BorrowedFd<'_>, below: &Path, path: &Path) -> Result<File, TrustError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(walk(directory, below, path, flags)?);
    let metadata = file.metadata().map_err(|error| failed(path, error))?;
    if !metadata.is_file() {
        return Err(TrustError::NotRegular(path.to_owned()));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(TrustError::NotOurs(path.to_owned()));
    }
    Ok(file)
}

fn open_root(root: &Path, path: &Path) -> Result<OwnedFd, TrustError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(root, flags, Mode::empty()).map_err(|error| failed(path, error.into()))
}

/// Goes from a directory down to what is beneath it. `path` is its name for people.
fn walk(directory: BorrowedFd<'_>, below: &Path, path: &Path, flags: OFlags) -> Result<OwnedFd, TrustError> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let mut tries = TRIES;
    loop {
        tries -= 1;
        match rustix::fs::openat2(directory, below, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
            Ok(handle) => return Ok(handle),
            // Something was renamed during the walk, so that the kernel could not be sure.
            Err(Errno::AGAIN) if tries > 0 => {}
            Err(Errno::LOOP | Errno::XDEV) => return Err(TrustError::Link(path.to_owned())),
            // Sockets and devices without a driver.
            Err(Errno::NXIO | Errno::NODEV) => return Err(TrustError::NotRegular(path.to_owned())),
            Err(error) => return Err(failed(path, error.into())),
        }
    }
}

fn failed(path: &Path, source: io::Error) -> TrustError {
    TrustError::Io { path: path.to_owned(), source }
}

/// The path as seen from the root, if it has a plain one.
fn below(root: &Path, path: &Path) -> Result<PathBuf, TrustError> {
    // An agent may name the place by its real name, where ours is a link.
    let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let below = if path.is_absolute() {
        path.strip_prefix(root).or_else(|_| path.strip_prefix(&real)).map_err(|_| outside(root, path))?
    } else {
        path
    };
    let plain = below.components().all(|part| matches!(part, Component::Normal(_)));
    if plain && !below.as_os_str().is_empty() { Ok(below.to_owned()) } else { Err(outside(root, path)) }
}

fn outside(root: &Path, path: &Path) -> TrustError {
    TrustError::Outside { path: path.to_owned(), root: root.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "inside").unwrap();
        fs::write(dir.path().join("secret"), "outside").unwrap();
        symlink(dir.path().join("secret"), root.join("a/link")).unwrap();
        symlink("b/file", root.join("a/near")).unwrap();
        symlink(dir.path(), root.join("out")).unwrap();
        dir
    }

    #[test]
    fn a_plain_file_beneath_the_root_is_opened() {
        let dir = tree();
        let root = dir.path().join("root");
        for path in [PathBuf::from("a/b/file"), root.join("a/b/file"), root.join("a//b/./file")] {
            let mut text = String::new();
            open_beneath(&root, &path).unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, "inside", "{}", path.display());
        }
    }

    #[test]
    fn a_root_that_is_a_link_is_known_by_both_names() {
        let dir = tree();
        let link = dir.path().join("link");
        symlink(dir.path().join("root"), &link).unwrap();
        let real = dir.path().canonicalize().unwrap().join("root/a/b/file");
        open_beneath(&link, &link.join("a/b/file")).unwrap();
        open_beneath(&link, &real).unwrap();
    }

    #[test]
    fn nothing_leads_out() {
        let dir = tree();
        let root = dir.path().join("root");
        let refused = |path: &Path| open_beneath(&root, path).unwrap_err();
        for path in ["../secret", "a/../../secret", "/etc/passwd", "", ".", "a/b/../b/file"] {
            let error = refused(Path::new(path));
            assert!(matches!(error, TrustError::Outside { .. }), "{path}: {error}");
        }
        assert!(matches!(refused(&dir.path().join("rootless")), TrustError::Outside { .. }));
        assert!(matches!(refused(&root), TrustError::Outside { .. }));
        for path in ["a/link", "a/near", "out/secret", "out/root/a/b/file"] {
            let error = refused(Path::new(path));
            assert!(matches!(error, TrustError::Link(_)), "{path}: {error}");
        }
    }

    #[test]
    fn only_regular_files_are_opened_and_opening_never_blocks() {
        let dir = tree();
        let root = dir.path().join("root");
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
        for path in ["pipe", "socket", "a/b"] {
            let error = open_beneath(&root, Path::new(path)).unwrap_err();
            assert!(matches!(error, TrustError::NotRegular(_)), "{path}: {error}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_yet_is_told_apart() {
        let dir = tree();
        let root = dir.path().join("root");
        assert!(open_beneath(&root, Path::new("a/later")).unwrap_err().is_missing());
        assert!(!open_beneath(&root, Path::new("a/link")).unwrap_err().is_missing());
        assert!(!open_beneath(&root, Path::new("../x")).unwrap_err().is_missing());
    }

    #[test]
    fn a_file_of_another_user_is_refused() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let dir = tree();
        let root = dir.path().join("root");
        std::os::unix::fs::chown(root.join("a/b/file"), Some(12_345), None).unwrap();
        let error = open_beneath(&root, Path::new("a/b/file")).unwrap_err();
        assert!(matches!(error, TrustError::NotOurs(_)), "{error}");
    }
}
