//! Work trees that were made, and what became of the work in them.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{LIMIT, WorkTree, WorkTreeError, tip};
use crate::exclude::Exclude;
use crate::git::{GitError, Repository};
use crate::names;

/// What is written beside a work tree.
const RECORD: &str = "json";

/// How a work tree stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkTreeStatus {
    /// Files in it that are not committed.
    pub uncommitted: Vec<String>,
    /// Commits on its branch.
    pub commits: u32,
    /// All of them are in what the repository has checked out.
    pub is_merged: bool,
    /// Its directory is gone.
    pub is_gone: bool,
}

/// The work trees that were made in a directory, by name.
pub fn made(under: &Path) -> Vec<WorkTree> {
    let entries = fs::read_dir(under).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut records: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == RECORD)).collect();
    records.sort_unstable();
    let read = |path: &PathBuf| serde_json::from_slice::<WorkTree>(&fs::read(path).ok()?).ok();
    // A record names the tree beside it, or it is none.
    let own = |(record, tree): (&PathBuf, WorkTree)| (record_of(&tree) == *record).then_some(tree);
    records.iter().filter_map(|path| own((path, read(path)?))).collect()
}

fn record_of(tree: &WorkTree) -> PathBuf {
    tree.path.with_extension(RECORD)
}

pub(super) fn record(tree: &WorkTree) -> io::Result<()> {
    fs::write(record_of(tree), serde_json::to_vec_pretty(tree)?)
}

pub(super) fn forget(tree: &WorkTree) {
    let _ = fs::remove_file(record_of(tree));
}

/// How a work tree that was made stands.
///
/// # Errors
///
/// Where git does not say.
pub async fn standing(tree: &WorkTree) -> Result<WorkTreeStatus, WorkTreeError> {
    let is_gone = !crate::git::is_top(&tree.path);
    let uncommitted = if is_gone { Vec::new() } else { uncommitted(&tree.path).await? };
    let repository = Repository::open(tree.repository.clone()).await?;
    let Some(tip) = tip(&repository, &tree.branch).await else {
        return Ok(WorkTreeStatus { uncommitted, commits: 0, is_merged: true, is_gone });
    };
    let count = async |range: String| -> Result<u32, GitError> {
        let count = repository.line("rev-list", ["--count", range.as_str(), "--"]).await?;
        Ok(count.parse().unwrap_or(u32::MAX))
    };
    let commits = count(format!("{}..{tip}", tree.commit)).await?;
    let is_merged = count(format!("HEAD..{tip}")).await? == 0;
    Ok(WorkTreeStatus { uncommitted, commits, is_merged, is_gone })
}

/// Files in a work tree that are not committed. Ignored ones do not count.
pub(super) async fn uncommitted(path: &Path) -> Result<Vec<String>, GitError> {
    let repository = Repository::open(path.to_owned()).await?;
    let index = repository.index().await?;
    let words = ["--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty"];
    let status = repository.ask("status", words, Some(&index.path())).await?;
    let entries = status.split(|byte| *byte == 0).filter_map(|entry| entry.get(3..));
    Ok(entries.map(|path| names::escaped(names::path(path))).collect())
}

/// Commits what is in a work tree on its branch, but for what is excluded; returns the commit, none if there is nothing to
/// commit.
///
/// No hook is run and nothing is signed. Filters are run: large files would be committed as they are otherwise.
///
/// # Errors
///
/// Where git refuses.
pub async fn commit(path: &Path, exclude: &Exclude, message: &str) -> Result<Option<String>, WorkTreeError> {
    let found = uncommitted(path).await?;
    let paths: Vec<PathBuf> = found.iter().map(|path| names::unescaped(path)).collect();
    let paths: Vec<&OsStr> =
        paths.iter().filter(|path| !exclude.covers(path)).map(|path| path.as_os_str()).collect();
    if paths.is_empty() {
        return Ok(None);
    }
    let repository = Repository::open(path.to_owned()).await?.patient(LIMIT).with_filters();
    repository.add(&paths).await?;
    repository.commit(message).await?;
    Ok(repository.head().await?)
}
