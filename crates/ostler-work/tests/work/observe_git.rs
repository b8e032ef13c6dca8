//! Changes in repositories.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ostler_work::{Limits, ObserveError, Renamed};

use crate::support::{Project, exclude, git_in, shown, snapshot_of};

type Act = fn(&Project);

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn what_an_attempt_did_is_seen_however_it_was_done() {
    // What was there before, what the agent did, what is to be seen.
    let nothing: Act = |_| {};
    let dirty: Act = |project| {
        project.write("a", "a of the user\n");
        project.write("notes", "notes of the user\n");
        project.remove("b");
    };
    let table: &[(&str, Act, Act, &str)] = &[
        ("nothing", nothing, nothing, ""),
        (
            "plain edits",
            nothing,
            |p| {
                p.write("new/file", "x");
                p.write("a", "other\n");
                p.remove("dir/c");
            },
            "+new/file ~a -dir/c",
        ),
        (
            "committed edits",
            nothing,
            |p| {
                p.write("new", "x");
                p.write("a", "other\n");
                p.remove("b");
                p.commit("work");
            },
            "+new ~a -b",
        ),
        (
            "some committed, some not",
            nothing,
            |p| {
                p.write("a", "other\n");
                p.commit("work");
                p.write("b", "other\n");
            },
            "~a ~b",
        ),
        (
            "committed and taken back",
            nothing,
            |p| {
                p.write("a", "other\n");
                p.commit("work");
                p.write("a", "a at first\n");
            },
            "",
        ),
        (
            "staged and taken back",
            nothing,
            |p| {
                p.write("a", "other\n");
                p.git(["add", "a"]);
                p.write("a", "a at first\n");
            },
            "",
        ),
        ("taken out of the index only", nothing, |p| drop(p.git(["rm", "--quiet", "--cached", "a"])), ""),
        (
            "taken out of the index and changed",
            nothing,
            |p| {
                p.git(["rm", "--quiet", "--cached", "a"]);
                p.write("a", "other\n");
            },
            "~a",
        ),
        (
            "touched",
            nothing,
            |p| {
                fs::File::options()
                    .write(true)
                    .open(p.path("a"))
                    .unwrap()
                    .set_modified(SystemTime::now())
                    .unwrap();
            },
            "",
        ),
        ("written again as it was", nothing, |p| p.write("a", "a at first\n"), ""),
        (
            "made to run",
            nothing,
            |p| fs::set_permissions(p.path("a"), fs::Permissions::from_mode(0o755)).unwrap(),
            "~a",
        ),
        (
            "turned into a link",
            nothing,
            |p| {
                p.remove("a");
                symlink("b", p.path("a")).unwrap();
            },
            "~a",
        ),
        (
            "another branch",
            nothing,
            |p| {
                p.git(["switch", "--quiet", "--create", "side"]);
                p.write("a", "other\n");
                p.commit("work");
            },
            "~a",
        ),
        (
            "another history",
            nothing,
            |p| {
                p.git(["switch", "--quiet", "--orphan", "side"]);
                p.write("fresh", "x");
                p.commit("work");
            },
            "+fresh -a -b -dir/c",
        ),
        (
            "ignored from now on",
            nothing,
            |p| {
                p.write(".gitignore", "*.log\n");
                p.write("x.log", "x");
            },
            "+.gitignore",
        ),
        (
            "scratch of the agent, and of ostler",
            nothing,
            |p| {
                p.write(".scratch.history", "x");
                p.write(".ostler/config.toml", "");
            },
            "",
        ),
        ("the user's changes are not the agent's", dirty, nothing, ""),
        (
            "on top of the user's changes",
            dirty,
            |p| {
                p.write("a", "a of the agent\n");
                p.write("notes", "notes of the agent\n");
                p.write("b", "back\n");
            },
            "+b ~a ~notes",
        ),
        ("the user's changes committed as they are", dirty, |p| p.commit("work"), ""),
        ("the user's changes thrown away", dirty, |p| drop(p.git(["reset", "--quiet", "--hard"])), "+b ~a"),
        (
            "the user's changes stashed away",
            dirty,
            |p| drop(p.git(["stash", "--quiet", "--include-untracked"])),
            "+b ~a -notes",
        ),
        ("the user's notes removed", dirty, |p| p.remove("notes"), "-notes"),
        ("the user's notes ignored", dirty, |p| p.write(".gitignore", "notes\n"), "+.gitignore"),
    ];
    for (name, before, act, expected) in table {
        let project = Project::new();
        before(&project);
        let snapshot = project.snapshot().await;
        act(&project);
        let changes = project.changes(&snapshot).await;
        assert_eq!(shown(&changes), *expected, "{name}: {changes:?}");
        assert!(changes.notes.is_empty(), "{name}: {changes:?}");
    }
}

/// A file that is as old as the index is looked at again by git, for it may have been written just behind it.
#[tokio::test]
async fn a_change_in_the_moment_of_a_commit_is_seen() {
    let project = Project::unborn();
    project.git(["config", "core.checkStat", "minimal"]);
    let stop_the_clock = |name: &str| {
        let file = fs::File::options().write(true).open(project.path(name)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)).unwrap();
    };
    project.write("a", "one");
    stop_the_clock("a");
    project.commit("first");
    stop_the_clock(".git/index");
    let snapshot = project.snapshot().await;
    project.write("a", "two");
    stop_the_clock("a");
    assert_eq!(shown(&project.changes(&snapshot).await), "~a");
}

#[tokio::test]
async fn the_index_of_the_user_stays_as_stale_as_it_was() {
    let project = Project::new();
    let touch = |name: &str| {
        let file = fs::File::options().write(true).open(project.path(name)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    };
    touch("b");
    let before = state(&project.path(".git"));
    let snapshot = project.snapshot().await;
    touch("a");
    assert!(project.changes(&snapshot).await.is_empty());
    assert_eq!(state(&project.path(".git")), before);
}

#[tokio::test]
async fn a_repository_without_a_commit_is_observed_too() {
    let project = Project::unborn();
    project.write("there", "x");
    let snapshot = project.snapshot().await;
    project.write("new", "y");
    project.commit("first");
    let changes = project.changes(&snapshot).await;
    assert_eq!(shown(&changes), "+new");
}

#[tokio::test]
async fn renames_and_commits_are_told() {
    let project = Project::new();
    project.write("loose", "content of its own\n");
    let snapshot = project.snapshot().await;
    fs::rename(project.path("a"), project.path("a2")).unwrap();
    fs::rename(project.path("loose"), project.path("tight")).unwrap();
    project.commit("one");
    project.commit("two");
    let changes = project.changes(&snapshot).await;
    assert_eq!(shown(&changes), "+a2 +tight -a -loose");
    let renamed = |from: &str, to: &str| Renamed { from: from.into(), to: to.into() };
    assert_eq!(changes.renamed, [renamed("a", "a2"), renamed("loose", "tight")]);
    assert_eq!(changes.commits, 2);
}

#[tokio::test]
async fn odd_names_are_one_line_each() {
    let project = Project::new();
    let snapshot = project.snapshot().await;
    for name in [&b"line\nbreak"[..], b"not\xffutf8", b"quote\"", b" blank ", b"-n", b"back\\slash"] {
        fs::write(project.dir.path().join(OsStr::from_bytes(name)), "x").unwrap();
    }
    let changes = project.changes(&snapshot).await;
    assert_eq!(
        changes.created,
        [" blank ", "-n", r"back\\slash", r"line\x0abreak", r"not\xffutf8", "quote\""]
    );
}

#[tokio::test]
async fn paths_are_those_of_the_directory_of_the_task() {
    let project = Project::new();
    let dir = project.path("dir");
    let snapshot = snapshot_of(&dir).await;
    project.write("dir/new", "x");
    project.write("a", "other\n");
    let changes = ostler_work::changes(&dir, &snapshot, &exclude(), Limits::default()).await.unwrap().changes;
    assert_eq!(shown(&changes), "+new ~../a");
}

#[tokio::test]
async fn repositories_inside_are_observed_each_on_its_own() {
    let library = Project::new();
    let project = Project::new();
    let library_path = library.dir.path().to_str().unwrap();
    project.git(["submodule", "--quiet", "add", library_path, "sub"]);
    git_in(project.dir.path(), &["init", "--quiet", "inner"]);
    project.write("inner/x", "x");
    git_in(project.dir.path(), &["clone", "--quiet", library_path, "doomed"]);
    project.git(["commit", "--quiet", "-m", "with a submodule"]);
    let snapshot = project.snapshot().await;

    project.write("sub/a", "other\n");
    git_in(&project.path("sub"), &["commit", "--quiet", "--all", "-m", "in the submodule"]);
    project.write("sub/new", "x");
    project.write("inner/x", "y");
    fs::remove_dir_all(project.path("doomed")).unwrap();
    git_in(project.dir.path(), &["clone", "--quiet", library_path, "fresh"]);
    let changes = project.changes(&snapshot).await;
    assert_eq!(
        shown(&changes),
        "+fresh/a +fresh/b +fresh/dir/c +sub/new ~inner/x ~sub/a -doomed",
        "{changes:?}"
    );
}

#[tokio::test]
async fn a_linked_work_tree_is_a_repository() {
    let project = Project::new();
    let other = tempfile::tempdir().unwrap();
    let tree = other.path().join("tree");
    project.git(["worktree", "add", "--quiet", tree.to_str().unwrap()]);
    let snapshot = snapshot_of(&tree).await;
    fs::write(tree.join("a"), "other\n").unwrap();
    let changes =
        ostler_work::changes(&tree, &snapshot, &exclude(), Limits::default()).await.unwrap().changes;
    assert_eq!(shown(&changes), "~a");
}

/// Every file with its content and times.
fn state(dir: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else {
                let modified = entry.metadata().unwrap().modified().unwrap();
                found.insert(entry.path(), (fs::read(entry.path()).unwrap(), modified));
            }
        }
    }
    found
}

#[tokio::test]
async fn nothing_in_the_repository_is_touched_and_nothing_it_names_is_run() {
    let project = Project::new();
    let proof = tempfile::tempdir().unwrap();
    let trap = proof.path().join("trap");
    fs::write(&trap, format!("#!/bin/sh\necho \"$0 $@\" >> {}/sprung\n", proof.path().display())).unwrap();
    fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
    let trap = trap.to_str().unwrap();
    let keys = [
        "core.fsmonitor",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.askPass",
        "gpg.program",
        "pager.diff",
        "alias.diff",
        "merge.evil.driver",
    ];
    project.write(".gitattributes", "* filter=evil diff=evil merge=evil\n");
    project.git(["add", "--all"]);
    project.git(["commit", "--quiet", "-m", "attributes"]);
    for key in keys {
        project.git(["config", key, trap]);
    }
    project.git(["config", "filter.evil.required", "true"]);
    for hook in
        ["post-index-change", "post-checkout", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman"]
    {
        fs::copy(trap, project.path(".git/hooks").join(hook)).unwrap();
    }
    // The work tree is somewhere else, says the repository.
    project.git(["config", "core.worktree", "/usr"]);
    // What git would refresh in the index if it could.
    fs::File::options()
        .write(true)
        .open(project.path("b"))
        .unwrap()
        .set_modified(SystemTime::UNIX_EPOCH)
        .unwrap();
    fs::write(project.path(".git/index.lock"), "").unwrap();
    let before = state(&project.path(".git"));

    let snapshot = project.snapshot().await;
    project.write("a", "other\n");
    project.write("new", "x");
    let changes = project.changes(&snapshot).await;

    assert_eq!(shown(&changes), "+new ~a");
    assert_eq!(state(&project.path(".git")), before);
    let sprung = fs::read_to_string(proof.path().join("sprung")).unwrap_or_default();
    assert_eq!(sprung, "");
}

#[tokio::test]
async fn more_than_the_limit_is_said_and_not_guessed() {
    let project = Project::new();
    for number in 0..20 {
        project.write(&format!("f{number:02}"), "x");
    }
    let limits = Limits { files: 10, ..Limits::default() };
    let snapshot = ostler_work::snapshot(project.dir.path(), &exclude(), limits).await.unwrap();
    project.write("f05", "y");
    project.write("f15", "y");
    let changes =
        ostler_work::changes(project.dir.path(), &snapshot, &exclude(), limits).await.unwrap().changes;
    assert_eq!(shown(&changes), "~f05");
    assert!(changes.notes.iter().any(|note| note.contains("only the first 10 files")), "{changes:?}");
}

#[tokio::test]
async fn a_repository_that_is_gone_or_damaged_is_said() {
    let project = Project::new();
    let snapshot = project.snapshot().await;
    fs::rename(project.path(".git"), project.path("was-git")).unwrap();
    let gone = ostler_work::changes(project.dir.path(), &snapshot, &exclude(), Limits::default()).await;
    assert!(matches!(gone, Err(ObserveError::RepositoryGone(_))), "{gone:?}");

    let damaged = Project::new();
    fs::write(damaged.path(".git/config"), "[this is no configuration").unwrap();
    let snapshot = damaged.snapshot().await;
    damaged.write("a", "other\n");
    let changes = damaged.changes(&snapshot).await;
    assert_eq!(shown(&changes), "~a");
    assert!(changes.notes.iter().any(|note| note.contains("file by file")), "{changes:?}");
}
