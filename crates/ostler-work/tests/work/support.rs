//! A directory with a project in it, and git to work on it as an agent would.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ostler_work::{Changes, Exclude, Limits, Snapshot};
use tempfile::TempDir;

pub(crate) struct Project {
    pub(crate) dir: TempDir,
}

impl Project {
    /// A directory that is no repository.
    pub(crate) fn plain() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// A repository without a commit.
    pub(crate) fn unborn() -> Self {
        let project = Self::plain();
        project.git(["init", "--quiet", "--initial-branch=main"]);
        project
    }

    /// A repository with files `a`, `b` and `dir/c` in a commit.
    pub(crate) fn new() -> Self {
        let project = Self::unborn();
        for name in ["a", "b", "dir/c"] {
            project.write(name, &format!("{name} at first\n"));
        }
        project.commit("first");
        project
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap();
    }

    /// Writes a program.
    pub(crate) fn script(&self, name: &str, text: &str) {
        self.write(name, &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn git<const N: usize>(&self, args: [&str; N]) -> String {
        git_in(self.dir.path(), &args)
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(["add", "--all"]);
        self.git(["commit", "--quiet", "--allow-empty", "-m", message]);
    }

    pub(crate) async fn snapshot(&self) -> Snapshot {
        snapshot_of(self.dir.path()).await
    }

    pub(crate) async fn changes(&self, before: &Snapshot) -> Changes {
        let seen =
            ostler_work::changes(self.dir.path(), before, &exclude(), Limits::default()).await.unwrap();
        assert_eq!(seen.now, self.snapshot().await, "what there is now is what a fresh look finds");
        seen.changes
    }
}

/// A snapshot as it is after it was recorded and read again.
pub(crate) async fn snapshot_of(dir: &Path) -> Snapshot {
    let snapshot = ostler_work::snapshot(dir, &exclude(), Limits::default()).await.unwrap();
    let recorded = serde_json::to_string(&snapshot).unwrap();
    let read = serde_json::from_str(&recorded).unwrap();
    assert_eq!(snapshot, read);
    read
}

pub(crate) fn exclude() -> Exclude {
    Exclude::new([".scratch*"])
}

/// Runs git as an agent would: with its own name, and nobody's settings.
pub(crate) fn git_in(dir: &Path, args: &[&str]) -> String {
    let settings = ["user.name=Agent", "user.email=agent@example.invalid", "protocol.file.allow=always"];
    let mut command = Command::new("git");
    command.args(settings.iter().flat_map(|setting| ["-c", setting])).args(args).current_dir(dir);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What changed, in one line for tables.
pub(crate) fn shown(changes: &Changes) -> String {
    let lists = [("+", &changes.created), ("~", &changes.updated), ("-", &changes.deleted)];
    lists
        .iter()
        .flat_map(|(sign, list)| list.iter().map(move |path| format!("{sign}{path}")))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Waits on a thread of its own, while tasks go on.
pub(crate) async fn waiting<T: Send + 'static>(wait: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(wait).await.unwrap()
}
