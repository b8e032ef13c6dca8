//! A copy of a work tree, for commands that are not trusted with the tree itself.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use tempfile::TempDir;

use super::SandboxError;
use super::entry::NOBODY;
use crate::exclude::Exclude;

/// How large a copy may get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyLimits {
    /// Files and directories.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
}

impl Default for CopyLimits {
    fn default() -> Self {
        Self { files: 100_000, bytes: 1 << 30 }
    }
}

/// A copy of a work tree with a place for temporary files. Both go with this value.
#[derive(Debug)]
pub struct Copy {
    dir: TempDir,
}

impl Copy {
    /// Where the copy of the tree is.
    pub fn tree(&self) -> PathBuf {
        self.dir.path().join("tree")
    }

    pub(super) fn tmp(&self) -> PathBuf {
        self.dir.path().join("tmp")
    }

    pub(super) fn home(&self) -> PathBuf {
        self.tmp().join("home")
    }

    pub(super) fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    /// Copies a tree. Links stay links, wherever they point; pipes, sockets and devices are left out.
    pub(super) fn make(
        tree: &Path,
        scratch: &Path,
        exclude: &Exclude,
        limits: CopyLimits,
    ) -> Result<Self, SandboxError> {
        let failed = |source| SandboxError::Copy { path: scratch.to_owned(), source };
        let mut builder = tempfile::Builder::new();
        builder.prefix("ostler-sandbox-").permissions(Permissions::from_mode(0o700));
        let copy = Self { dir: builder.tempdir_in(scratch).map_err(failed)? };
        let owner = rustix::process::geteuid().is_root().then_some(NOBODY);
        if owner.is_some() && !is_reachable(scratch).map_err(failed)? {
            let reason = "commands of root are run by nobody, who cannot reach this directory";
            return Err(failed(io::Error::other(reason)));
        }
        let places = [copy.tmp(), copy.home(), copy.root()];
        for place in places.iter().map(PathBuf::as_path).chain([copy.dir.path()]) {
            fs::create_dir_all(place).and_then(|()| give(place, owner)).map_err(failed)?;
        }
        Copier { exclude, limits, used: CopyLimits { files: 0, bytes: 0 }, owner }.run(tree, &copy.tree())?;
        Ok(copy)
    }
}

impl Drop for Copy {
    /// Also removes what a command made unreadable.
    fn drop(&mut self) {
        let mut open = vec![self.dir.path().to_owned()];
        while let Some(dir) = open.pop() {
            let _ = fs::set_permissions(&dir, Permissions::from_mode(0o700));
            let entries = fs::read_dir(&dir).into_iter().flatten().flatten();
            let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            open.extend(below.map(|entry| entry.path()));
        }
    }
}

/// Whether everybody may go to a directory.
fn is_reachable(dir: &Path) -> io::Result<bool> {
    let may_enter = |dir: &Path| dir.metadata().is_ok_and(|found| found.mode() & 0o001 != 0);
    Ok(dir.canonicalize()?.ancestors().all(may_enter))
}

fn give(path: &Path, owner: Option<u32>) -> io::Result<()> {
    match owner {
        Some(owner) => lchown(path, Some(owner), Some(owner)),
        None => Ok(()),
    }
}

struct Copier<'a> {
    exclude: &'a Exclude,
    limits: CopyLimits,
    used: CopyLimits,
    owner: Option<u32>,
}

impl Copier<'_> {
    fn run(&mut self, from: &Path, to: &Path) -> Result<(), SandboxError> {
        let mut open = vec![PathBuf::new()];
        // Times of directories last: they change while files are put into them.
        let mut directories = Vec::new();
        while let Some(place) = open.pop() {
            let failed = |source| SandboxError::Copy { path: from.join(&place), source };
            let found = from.join(&place).symlink_metadata().map_err(failed)?;
            self.used.files += 1;
            self.check()?;
            let target = to.join(&place);
            if found.is_dir() {
                DirBuilder::new().mode(0o700).create(&target).map_err(failed)?;
                for entry in fs::read_dir(from.join(&place)).map_err(failed)? {
                    let below = place.join(entry.map_err(failed)?.file_name());
                    if !self.exclude.covers(&below) && !is_hook(&below) {
                        open.push(below);
                    }
                }
                directories.push((target, found));
            } else if found.is_symlink() {
                let goal = fs::read_link(from.join(&place)).map_err(failed)?;
                symlink(goal, &target).and_then(|()| give(&target, self.owner)).map_err(failed)?;
            } else if found.is_file() {
                self.used.bytes += found.len();
                self.check()?;
                self.file(&from.join(&place), &target, is_git_config(&place)).map_err(failed)?;
            }
        }
        for (target, found) in directories.into_iter().rev() {
            let failed = |source| SandboxError::Copy { path: target.clone(), source };
            let finish = || -> io::Result<()> {
                give(&target, self.owner)?;
                File::open(&target)?.set_modified(found.modified()?)?;
                fs::set_permissions(&target, Permissions::from_mode(found.mode() & 0o777 | 0o700))
            };
            finish().map_err(failed)?;
        }
        Ok(())
    }

    fn check(&self) -> Result<(), SandboxError> {
        let (used, limits) = (self.used, self.limits);
        if used.files > limits.files || used.bytes > limits.bytes {
            return Err(SandboxError::TooLarge { files: limits.files, bytes: limits.bytes });
        }
        Ok(())
    }

    fn file(&self, from: &Path, to: &Path, only_format: bool) -> io::Result<()> {
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let mut source = OpenOptions::new().read(true).custom_flags(flags).open(from)?;
        let found = source.metadata()?;
        if !found.is_file() {
            return Ok(());
        }
        let mut target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
        if only_format {
            target.write_all(format_settings(&io::read_to_string(source)?).as_bytes())?;
        } else if rustix::fs::ioctl_ficlone(&target, &source).is_err() {
            // It may have grown; what is copied is what was counted.
            io::copy(&mut io::Read::take(&mut source, found.len()), &mut target)?;
        }
        // Build tools go by times. No copy may run as somebody else.
        target.set_modified(found.modified()?)?;
        target.set_permissions(Permissions::from_mode(found.mode() & 0o777 | 0o400))?;
        give(to, self.owner)
    }
}

/// Whether a path is a program that git would run.
fn is_hook(path: &Path) -> bool {
    path.ends_with(".git/hooks")
}

/// Whether a path is a repository's settings, which may hold passwords.
fn is_git_config(path: &Path) -> bool {
    path.ends_with(".git/config")
}

/// What of a repository's settings says how it is stored.
fn format_settings(text: &str) -> String {
    let mut kept = String::new();
    let mut is_format = false;
    for line in text.lines() {
        let trimmed = line.trim_start();
        if trimmed.starts_with('[') {
            let section = trimmed.trim_start_matches('[').to_ascii_lowercase();
            is_format = ["core]", "extensions]"].iter().any(|name| section.starts_with(name));
        }
        let key = trimmed.split('=').next().unwrap_or("").trim().to_ascii_lowercase();
        let is_command = ["worktree", "fsmonitor", "hookspath", "sshcommand", "askpass", "gitproxy"]
            .contains(&key.as_str());
        if is_format && !is_command {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_settings_only_the_format_is_kept() {
        let text = "[core]\n\tbare = false\n\tsshCommand = x\n\tworktree = /\n[remote \"origin\"]\n\turl = \
                    https://me:token@host/x\n[Extensions]\n\tobjectFormat = sha256\n[credential]\n\thelper = y\n";
        assert_eq!(format_settings(text), "[core]\n\tbare = false\n[Extensions]\n\tobjectFormat = sha256\n");
    }
}
