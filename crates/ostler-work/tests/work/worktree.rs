//! Work trees of their own.

use std::fs;

use ostler_work::Exclude;
use ostler_work::worktree::{
    Removal, WorkTree, WorkTreeError, add, commit, list, made as all_made, prune, remove, standing,
};

use crate::support::{Project, git_in};

async fn made(project: &Project, under: &tempfile::TempDir) -> WorkTree {
    add(project.dir.path(), under.path(), "Fix it", "1a").await.unwrap()
}

#[tokio::test]
async fn a_task_has_a_tree_and_a_branch_of_its_own() {
    let (project, under) = (Project::new(), tempfile::tempdir().unwrap());
    project.write("a", "a of the user\n");
    let sprung = under.path().join("sprung");
    project.script(".git/hooks/post-checkout", &format!("touch {}", sprung.display()));
    project.git(["config", "filter.upper.smudge", "tr a-z A-Z"]);
    project.write(".git/info/attributes", "b filter=upper\n");

    let tree = add(&project.path("dir"), under.path(), "Fix it", "1a").await.unwrap();
    assert_eq!(tree.path, under.path().canonicalize().unwrap().join("fix-it-1a"));
    assert_eq!(tree.dir, tree.path.join("dir"));
    assert_eq!(tree.branch, "ostler/fix-it-1a");
    assert_eq!(tree.commit, project.git(["rev-parse", "HEAD"]).trim());
    assert_eq!(git_in(&tree.path, &["branch", "--show-current"]).trim(), tree.branch);
    // As committed, with the user's filters and without the user's hooks.
    assert_eq!(fs::read_to_string(tree.path.join("a")).unwrap(), "a at first\n");
    assert_eq!(fs::read_to_string(tree.path.join("b")).unwrap(), "B AT FIRST\n");
    assert!(!sprung.exists());
    // The user's own tree has not noticed.
    assert_eq!(project.git(["branch", "--show-current"]).trim(), "main");
    assert_eq!(fs::read_to_string(project.path("a")).unwrap(), "a of the user\n");
    let listed = list(project.dir.path()).await.unwrap();
    assert_eq!((listed.len(), &listed[0].path, &listed[0].branch), (1, &tree.path, &tree.branch));
    // The same again is refused, and does no harm to the first.
    assert!(matches!(
        add(project.dir.path(), under.path(), "fix it", "1A").await,
        Err(WorkTreeError::Git(_))
    ));
    assert!(tree.path.join("a").exists());
    assert_eq!(list(&tree.path).await.unwrap().len(), 1);
}

#[tokio::test]
async fn work_is_never_removed_unasked() {
    let (project, under) = (Project::new(), tempfile::tempdir().unwrap());
    for spoil in ["untracked", "changed"] {
        let tree = made(&project, &under).await;
        fs::write(tree.path.join(if spoil == "changed" { "a" } else { "new" }), "work").unwrap();
        let error = remove(&tree, Removal::IfClean).await.unwrap_err();
        assert!(matches!(error, WorkTreeError::Dirty(_)), "{error}");
        assert!(tree.path.exists());
        remove(&tree, Removal::Always).await.unwrap();
        assert!(!tree.path.exists());
        assert_eq!(project.git(["branch", "--list", "ostler/*"]), "");
    }
    // What is committed stays on its branch; ignored files do not count.
    let tree = made(&project, &under).await;
    fs::write(tree.path.join(".gitignore"), "*.log\n").unwrap();
    git_in(&tree.path, &["add", "--all"]);
    git_in(&tree.path, &["commit", "--quiet", "-m", "work"]);
    fs::write(tree.path.join("x.log"), "x").unwrap();
    remove(&tree, Removal::IfClean).await.unwrap();
    assert!(!tree.path.exists());
    assert!(project.git(["branch", "--list", "ostler/*"]).contains("ostler/fix-it-1a"));
    assert!(list(project.dir.path()).await.unwrap().is_empty());
    // Once more changes nothing.
    remove(&tree, Removal::IfClean).await.unwrap();
}

#[tokio::test]
async fn a_tree_that_was_removed_by_hand_is_forgotten() {
    let (project, under) = (Project::new(), tempfile::tempdir().unwrap());
    let tree = made(&project, &under).await;
    fs::remove_dir_all(&tree.path).unwrap();
    assert!(list(project.dir.path()).await.unwrap()[0].is_gone);
    remove(&tree, Removal::IfClean).await.unwrap();
    assert!(list(project.dir.path()).await.unwrap().is_empty());

    let tree = made(&project, &under).await;
    fs::remove_dir_all(&tree.path).unwrap();
    prune(project.dir.path()).await.unwrap();
    assert!(list(project.dir.path()).await.unwrap().is_empty());
    remove(&tree, Removal::IfClean).await.unwrap();
}

#[tokio::test]
async fn trees_of_others_are_let_be() {
    let (project, under) = (Project::new(), tempfile::tempdir().unwrap());
    let path = under.path().canonicalize().unwrap().join("users");
    project.git(["worktree", "add", "--quiet", "-b", "users", path.to_str().unwrap()]);
    assert!(list(project.dir.path()).await.unwrap().is_empty());
    let tree = made(&project, &under).await;
    let users = WorkTree { path: path.clone(), branch: "users".into(), ..tree.clone() };
    assert!(matches!(remove(&users, Removal::Always).await, Err(WorkTreeError::NotOurs(_))));
    let plain = WorkTree { path: project.dir.path().to_owned(), ..tree };
    assert!(matches!(remove(&plain, Removal::Always).await, Err(WorkTreeError::NotOurs(_))));
    assert!(path.exists() && project.path("a").exists());
}

#[tokio::test]
async fn what_is_missing_is_said() {
    let under = tempfile::tempdir().unwrap();
    let plain = Project::plain();
    let error = add(plain.dir.path(), under.path(), "t", "1").await.unwrap_err();
    assert!(error.to_string().contains("is not in a git repository"), "{error}");
    assert!(matches!(list(plain.dir.path()).await, Err(WorkTreeError::NoRepository(_))));
    let unborn = Project::unborn();
    let error = add(unborn.dir.path(), under.path(), "t", "1").await.unwrap_err();
    assert!(error.to_string().contains("has no commit yet"), "{error}");
    let project = Project::new();
    let error = add(project.dir.path(), &project.path("trees"), "t", "1").await.unwrap_err();
    assert!(matches!(error, WorkTreeError::Inside { .. }), "{error}");
    // A place that cannot be written leaves no branch behind.
    fs::write(under.path().join("t-1"), "in the way").unwrap();
    assert!(matches!(add(project.dir.path(), under.path(), "t", "1").await, Err(WorkTreeError::Git(_))));
    assert_eq!(project.git(["branch", "--list", "ostler/*"]), "");
}

#[tokio::test]
async fn the_work_is_committed_on_its_branch_and_the_tree_is_known() {
    let (project, under) = (Project::new(), tempfile::tempdir().unwrap());
    project.write("a", "of the user\n");
    project.write("new of the user", "x");
    let sprung = under.path().join("sprung");
    for hook in ["pre-commit", "commit-msg"] {
        project.script(&format!(".git/hooks/{hook}"), &format!("touch {}; exit 1", sprung.display()));
    }
    let tree = made(&project, &under).await;
    assert_eq!(tree.left_out, ["a", "new of the user"]);
    assert_eq!(all_made(under.path()), std::slice::from_ref(&tree));
    let exclude = Exclude::new(["scratch*"]);
    assert_eq!(commit(&tree.path, &exclude, "none").await.unwrap(), None);
    assert!(standing(&tree).await.unwrap().is_merged, "there is nothing to merge");

    fs::write(tree.path.join("a"), "work\n").unwrap();
    fs::write(tree.path.join("new\nfile"), "work\n").unwrap();
    fs::write(tree.path.join("scratch.log"), "x").unwrap();
    fs::remove_file(tree.path.join("b")).unwrap();
    let made = commit(&tree.path, &exclude, "task: done").await.unwrap().unwrap();
    assert_eq!(git_in(&tree.path, &["log", "-1", "--format=%H %s"]).trim(), format!("{made} task: done"));
    let files = git_in(&tree.path, &["show", "--name-status", "--format=", "-z"]);
    assert_eq!(files, "M\0a\0D\0b\0A\0new\nfile\0");
    assert!(!sprung.exists());
    let found = standing(&tree).await.unwrap();
    assert_eq!(
        (found.uncommitted, found.commits, found.is_merged),
        (vec!["scratch.log".to_owned()], 1, false)
    );

    project.git(["stash", "--quiet", "--include-untracked"]);
    project.git(["merge", "--quiet", &tree.branch]);
    assert!(standing(&tree).await.unwrap().is_merged);
    remove(&tree, Removal::Always).await.unwrap();
    assert!(all_made(under.path()).is_empty());
}
