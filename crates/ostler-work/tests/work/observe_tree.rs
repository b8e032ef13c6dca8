//! Changes in directories without git.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::SystemTime;

use ostler_work::{Limits, Renamed};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::support::{Project, exclude, shown};

#[tokio::test]
async fn files_are_compared_by_what_is_in_them() {
    let project = Project::plain();
    for name in ["a", "b", "dir/c", "dir/d", "touched", "run", "same"] {
        project.write(name, &format!("{name} at first\n"));
    }
    let snapshot = project.snapshot().await;
    project.write("a", "a at last \n");
    project.remove("b");
    fs::rename(project.path("dir/c"), project.path("moved")).unwrap();
    project.write("new/e", "x");
    project.write("same", "same at first\n");
    fs::File::options()
        .write(true)
        .open(project.path("touched"))
        .unwrap()
        .set_modified(SystemTime::now())
        .unwrap();
    fs::set_permissions(project.path("run"), fs::Permissions::from_mode(0o755)).unwrap();
    project.write(".scratch/x", "x");
    // A repository is made where there was none: still the same directory.
    project.git(["init", "--quiet"]);
    let changes = project.changes(&snapshot).await;
    assert_eq!(shown(&changes), "+moved +new/e ~a ~run -b -dir/c");
    assert_eq!(changes.renamed, [Renamed { from: "dir/c".into(), to: "moved".into() }]);
    assert!(changes.notes.is_empty(), "{changes:?}");
}

#[tokio::test]
async fn links_and_pipes_are_not_opened() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "x").unwrap();
    let project = Project::plain();
    project.write("dir/file", "x");
    symlink(outside.path(), project.path("out")).unwrap();
    symlink("nowhere", project.path("dangling")).unwrap();
    mknodat(CWD, project.path("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let snapshot = project.snapshot().await;
    fs::write(outside.path().join("secret"), "y").unwrap();
    fs::remove_file(project.path("dangling")).unwrap();
    symlink("elsewhere", project.path("dangling")).unwrap();
    // A directory becomes a link: its files are no more there.
    fs::remove_dir_all(project.path("dir")).unwrap();
    symlink(outside.path(), project.path("dir")).unwrap();
    assert_eq!(shown(&project.changes(&snapshot).await), "+dir ~dangling -dir/file");
}

#[tokio::test]
async fn what_is_beyond_the_limits_is_said_and_not_guessed() {
    let project = Project::plain();
    for number in 0..30 {
        project.write(&format!("d{}/f{}", number / 10, number % 10), "x");
    }
    // Sorts before `d0/` as text and behind it as a path.
    project.write("d0-", "x");
    project.write("e/f/g/h", "x");
    let limits = Limits { files: 15, depth: 3, ..Limits::default() };
    let snapshot = ostler_work::snapshot(project.dir.path(), &exclude(), limits).await.unwrap();
    project.write("d0/f5", "y");
    project.write("d0-", "y");
    project.write("d0/a", "new, and pushes another one over the limit");
    project.write("d2/f5", "y");
    let changes =
        ostler_work::changes(project.dir.path(), &snapshot, &exclude(), limits).await.unwrap().changes;
    assert_eq!(shown(&changes), "+d0/a ~d0- ~d0/f5");
    assert!(changes.notes.iter().any(|note| note.contains("first 15 files")), "{changes:?}");

    let limits = Limits { depth: 3, ..Limits::default() };
    let snapshot = ostler_work::snapshot(project.dir.path(), &exclude(), limits).await.unwrap();
    let changes =
        ostler_work::changes(project.dir.path(), &snapshot, &exclude(), limits).await.unwrap().changes;
    assert_eq!(changes.notes, ["1 directories deeper than 3 were not looked at"]);
}

#[tokio::test]
async fn large_files_are_told_apart_without_reading_them() {
    let project = Project::plain();
    let large = fs::File::create(project.path("large")).unwrap();
    large.set_len(1 << 30).unwrap();
    let snapshot = project.snapshot().await;
    assert!(project.changes(&snapshot).await.is_empty());
    large.set_len((1 << 30) + 1).unwrap();
    assert_eq!(shown(&project.changes(&snapshot).await), "~large");
}

#[tokio::test]
async fn a_directory_that_is_not_there_is_an_error() {
    let error =
        ostler_work::snapshot("/no/such/place".as_ref(), &exclude(), Limits::default()).await.unwrap_err();
    assert!(error.to_string().contains("/no/such/place"), "{error}");
}
