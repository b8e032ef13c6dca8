//! How a work tree stands, and that nothing in it is run to find out.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ostler_core::Wall;
use ostler_work::{GitError, TreeStatus, standing};
use tempfile::TempDir;

use crate::support::Project;

#[tokio::test]
async fn a_work_tree_tells_what_was_done_in_it() {
    let project = Project::unborn();
    let root = project.dir.path();
    let main = Some("main".to_owned());
    assert_eq!(standing(root, None).await.unwrap(), TreeStatus { branch: main, ..TreeStatus::default() });
    project.write("a", "1");
    project.commit("Begin the work");
    project.write("a", "22");
    project.write("sub/b", "1");
    let found = standing(root, Some(Wall(1))).await.unwrap();
    assert_eq!(found.files, ["a", "sub/"]);
    assert!(found.commit.as_deref().unwrap().ends_with(" Begin the work"));
    assert_eq!(found.commits, found.commit.into_iter().collect::<Vec<_>>());
}

/// A program that leaves a trace when it is run.
struct Trap(TempDir);

impl Trap {
    fn new() -> Self {
        let trap = Self(tempfile::tempdir().unwrap());
        let text = format!("#!/bin/sh\necho \"$0 $@\" >> {}\ncat\n", trap.traces().display());
        fs::write(trap.program(), text).unwrap();
        fs::set_permissions(trap.program(), fs::Permissions::from_mode(0o755)).unwrap();
        trap
    }

    fn program(&self) -> PathBuf {
        self.0.path().join("trap")
    }

    fn traces(&self) -> PathBuf {
        self.0.path().join("traces")
    }

    fn assert_not_sprung(&self, case: &str) {
        let traces = fs::read_to_string(self.traces()).unwrap_or_default();
        assert_eq!(traces, "", "{case}");
    }
}

#[tokio::test]
async fn a_work_tree_can_make_git_run_nothing() {
    let project = Project::new();
    project.write(".gitattributes", "* filter=evil\n");
    project.commit("attributes");
    let trap = Trap::new();
    let program = trap.program();
    let program = program.to_str().unwrap();
    for (key, value) in [
        ("core.fsmonitor", program),
        ("core.pager", program),
        ("core.sshCommand", program),
        ("filter.evil.clean", program),
        ("filter.evil.smudge", program),
        ("filter.evil.required", "true"),
        ("gpg.program", program),
        ("log.showSignature", "true"),
    ] {
        project.git(["config", key, value]);
    }
    project.write("a", "3");
    let found = standing(project.dir.path(), None).await.unwrap();
    assert!(found.files.contains(&"a".to_owned()), "{found:?}");
    trap.assert_not_sprung("a filter with an ordinary name");
}

/// A repository with filters of these names, of which the last one is for all files.
fn with_filters(names: &[&[u8]], program: &Path) -> Project {
    let project = Project::new();
    let last = names.last().unwrap();
    fs::write(project.path(".gitattributes"), [b"* filter=", *last, b"\n"].concat()).unwrap();
    project.commit("attributes");
    let config = project.path(".git/config");
    let mut settings = fs::read(&config).unwrap();
    for name in names {
        settings.extend(
            [b"[filter \"", *name, b"\"]\nclean = ", program.as_os_str().as_encoded_bytes(), b"\n"].concat(),
        );
    }
    fs::write(config, settings).unwrap();
    // Of the same length as before: git has to read it to know.
    project.write("a", "a at last!\n");
    project
}

#[tokio::test]
async fn a_repository_with_filters_that_cannot_be_switched_off_is_not_asked() {
    let trap = Trap::new();
    let many: Vec<String> = (0..3_000).map(|number| format!("{number:030}")).collect();
    let many: Vec<&[u8]> = many.iter().map(String::as_bytes).collect();
    let table: [(&str, &[&[u8]]); 3] = [("equals", &[b"a=b"]), ("bytes", &[b"\xff"]), ("many", &many)];
    for (case, names) in table {
        let project = with_filters(names, &trap.program());
        let refused = standing(project.dir.path(), None).await;
        let is_refused = matches!(refused, Err(GitError::OddFilter(_) | GitError::TooManyFilters));
        assert!(is_refused, "{case}: {refused:?}");
        // Nor is an attempt in it observed by asking git.
        let before = project.snapshot().await;
        project.write("a", "a once more\n");
        assert_eq!(project.changes(&before).await.updated, ["a"], "{case}");
        trap.assert_not_sprung(case);
    }
}

#[tokio::test]
async fn without_a_repository_nothing_is_told() {
    let plain = Project::plain();
    assert!(matches!(standing(plain.dir.path(), None).await, Err(GitError::Failed { .. })));
}
