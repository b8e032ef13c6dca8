//! Work trees of their own for tasks, so that attempts do not get in the user's way or in each other's.

mod made;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::git::{GitError, Repository, is_top};
use crate::names;

pub use made::{WorkTreeStatus, commit, made, standing};

/// Where the branches of work trees are.
const BRANCHES: &str = "ostler/";
/// How much of a task's name is in its branch.
const LONGEST: usize = 40;
/// How long it may take to write out a whole tree.
const LIMIT: Duration = Duration::from_mins(10);

/// A work tree that was made for a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkTree {
    /// Where the repository is that it belongs to: the work tree it was made from.
    pub repository: PathBuf,
    /// Where it begins.
    pub path: PathBuf,
    /// The directory in it that the task was asked for in.
    pub dir: PathBuf,
    /// Its branch.
    pub branch: String,
    /// The commit that it was made from.
    pub commit: String,
    /// Files of the work tree it was made from that were not committed, and so are not in it.
    #[serde(default)]
    pub left_out: Vec<String>,
}

/// A work tree as git lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedWorkTree {
    /// Where it begins, or did.
    pub path: PathBuf,
    /// Its branch.
    pub branch: String,
    /// The commit that is checked out.
    pub commit: String,
    /// Whether its directory is gone.
    pub is_gone: bool,
}

/// When a work tree is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// If everything in it is committed. Ignored files do not count.
    IfClean,
    /// In any case: what is not committed is lost.
    Always,
}

/// Why a work tree could not be made or removed.
#[derive(Debug, thiserror::Error)]
pub enum WorkTreeError {
    /// There is no repository.
    #[error("{} is not in a git repository; make one (git init), or run without a work tree", .0.display())]
    NoRepository(PathBuf),
    /// There is no commit to begin with.
    #[error("the repository {} has no commit yet; make the first one, or run without a work tree", .0.display())]
    NoCommit(PathBuf),
    /// It would be part of the tree that it is to be apart from.
    #[error("{} lies in the work tree {}; choose a directory outside", place.display(), tree.display())]
    Inside {
        /// Where it was to be made.
        place: PathBuf,
        /// What that is part of.
        tree: PathBuf,
    },
    /// There is work in it that is not committed.
    #[error("{} has changes that are not committed; commit them, or remove it with what is in it", .0.display())]
    Dirty(PathBuf),
    /// It belongs to somebody else.
    #[error("{} is not a work tree that ostler made", .0.display())]
    NotOurs(PathBuf),
    /// Git refuses.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The directory for work trees cannot be used.
    #[error("{}: {source}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// The reason, for people.
        source: io::Error,
    },
}

/// Makes a work tree of the repository that `dir` is in, in a new directory below `under`, on a new branch
/// `ostler/<task>-<id>` from the commit that is checked out.
///
/// No hook is run. Filters are (large files would be missing otherwise), as when the user checks out a branch.
/// What is not committed stays where it is, and submodules stay empty.
pub async fn add(dir: &Path, under: &Path, task: &str, id: &str) -> Result<WorkTree, WorkTreeError> {
    let around = Repository::around(dir).await?;
    let repository = around.ok_or_else(|| WorkTreeError::NoRepository(dir.to_owned()))?;
    let top = repository.top().to_owned();
    let commit = repository.head().await?.ok_or_else(|| WorkTreeError::NoCommit(top.clone()))?;
    let failed = |source| WorkTreeError::Io { path: under.to_owned(), source };
    std::fs::create_dir_all(under).map_err(failed)?;
    let under = under.canonicalize().map_err(failed)?;
    if under.starts_with(&top) {
        return Err(WorkTreeError::Inside { place: under, tree: top });
    }
    let name = format!("{}-{}", slug(task), slug(id));
    let (path, branch) = (under.join(&name), format!("{BRANCHES}{name}"));
    let repository = repository.patient(LIMIT).with_filters();
    let words = ["add", "--quiet", "--no-track", "-b", &branch].map(Path::new);
    let words = words.into_iter().chain([path.as_path(), Path::new(&commit)]);
    let (tree_existed, branch_existed) = (path.exists(), tip(&repository, &branch).await.is_some());
    if let Err(error) = repository.ask("worktree", words, None).await {
        // Half a tree is none.
        if !tree_existed {
            let _ = remove_tree(&repository, &path, true).await;
        }
        if !branch_existed {
            let _ = delete_branch(&repository, &branch, &commit).await;
        }
        return Err(error.into());
    }
    let below = dir.canonicalize().ok().and_then(|dir| dir.strip_prefix(&top).map(Path::to_owned).ok());
    let dir =
        Some(path.join(below.unwrap_or_default())).filter(|dir| dir.is_dir()).unwrap_or_else(|| path.clone());
    let left_out = made::uncommitted(&top).await.unwrap_or_default();
    let tree = WorkTree { repository: top, path, dir, branch, commit, left_out };
    made::record(&tree).map_err(failed)?;
    Ok(tree)
}

/// Removes a work tree. Its branch stays if there are commits on it.
pub async fn remove(tree: &WorkTree, removal: Removal) -> Result<(), WorkTreeError> {
    if !tree.branch.starts_with(BRANCHES) {
        return Err(WorkTreeError::NotOurs(tree.path.clone()));
    }
    if !is_top(&tree.repository) {
        return Err(WorkTreeError::NoRepository(tree.repository.clone()));
    }
    let repository = Repository::open(tree.repository.clone()).await?.patient(LIMIT);
    let listed = listed(&repository).await?;
    match listed.iter().find(|listed| listed.path == tree.path) {
        // Removed by hand, or before: only what git remembers of it is left.
        None if !tree.path.exists() => {}
        None => return Err(WorkTreeError::NotOurs(tree.path.clone())),
        Some(listed) if listed.is_gone => prune(&tree.repository).await?,
        Some(_) => {
            if removal == Removal::IfClean && !is_clean(&tree.path).await? {
                return Err(WorkTreeError::Dirty(tree.path.clone()));
            }
            remove_tree(&repository, &tree.path, removal == Removal::Always).await?;
        }
    }
    delete_branch(&repository, &tree.branch, &tree.commit).await?;
    made::forget(tree);
    Ok(())
}

/// Whether everything in a work tree is committed.
async fn is_clean(path: &Path) -> Result<bool, WorkTreeError> {
    Ok(made::uncommitted(path).await?.is_empty())
}

async fn remove_tree(repository: &Repository, path: &Path, force: bool) -> Result<(), GitError> {
    // Twice is also for one that was locked.
    let force = if force { &["--force", "--force"][..] } else { &[] };
    let words = std::iter::once("remove").chain(force.iter().copied()).map(Path::new).chain([path]);
    repository.ask("worktree", words, None).await.map(drop)
}

/// Deletes a branch that is still where it began.
async fn delete_branch(repository: &Repository, branch: &str, commit: &str) -> Result<(), GitError> {
    if tip(repository, branch).await.as_deref() != Some(commit) {
        return Ok(());
    }
    let reference = format!("refs/heads/{branch}");
    repository.ask("update-ref", ["-d", reference.as_str(), commit], None).await.map(drop)
}

/// The commit that a branch is at, if there is one.
async fn tip(repository: &Repository, branch: &str) -> Option<String> {
    let reference = format!("refs/heads/{branch}");
    repository.line("rev-parse", ["--verify", "--quiet", &reference]).await.ok()
}

/// Lists the work trees that were made here for tasks of the repository that `dir` is in.
pub async fn list(dir: &Path) -> Result<Vec<ListedWorkTree>, WorkTreeError> {
    let around = Repository::around(dir).await?;
    Ok(listed(&around.ok_or_else(|| WorkTreeError::NoRepository(dir.to_owned()))?).await?)
}

/// Makes git forget work trees whose directories are gone.
pub async fn prune(dir: &Path) -> Result<(), WorkTreeError> {
    let around = Repository::around(dir).await?;
    let repository = around.ok_or_else(|| WorkTreeError::NoRepository(dir.to_owned()))?;
    Ok(repository.ask("worktree", ["prune"], None).await.map(drop)?)
}

async fn listed(repository: &Repository) -> Result<Vec<ListedWorkTree>, GitError> {
    let answer = repository.ask("worktree", ["list", "--porcelain"], None).await?;
    let mut found = Vec::new();
    let (mut path, mut commit) = (PathBuf::new(), String::new());
    for line in answer.split(|byte| *byte == b'\n') {
        let (key, value) = line.split_at(line.iter().position(|byte| *byte == b' ').unwrap_or(line.len()));
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match key {
            b"worktree" => names::path(value).clone_into(&mut path),
            b"HEAD" => commit = String::from_utf8_lossy(value).into_owned(),
            b"branch" => {
                let branch = String::from_utf8_lossy(value);
                if let Some(branch) =
                    branch.strip_prefix("refs/heads/").filter(|name| name.starts_with(BRANCHES))
                {
                    found.push(ListedWorkTree {
                        path: path.clone(),
                        branch: branch.to_owned(),
                        commit: commit.clone(),
                        is_gone: !is_top(&path),
                    });
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// A name that can be part of a branch and of a path.
fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.chars() {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => slug.push(c),
            _ if !slug.ends_with('-') => slug.push('-'),
            _ => {}
        }
    }
    let slug: String = slug.trim_matches('-').chars().take(LONGEST).collect();
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "task".to_owned() } else { slug.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_makes_a_branch() {
        let table = [
            ("Fix the parser!", "fix-the-parser"),
            ("../../etc", "etc"),
            ("--force", "force"),
            ("a.lock", "a-lock"),
            ("\u{e9}\u{e9}", "task"),
            ("", "task"),
        ];
        for (name, expected) in table {
            assert_eq!(slug(name), expected, "{name:?}");
        }
        assert_eq!(slug(&"word ".repeat(30)).len(), LONGEST - 1);
    }
}
