//! How a work tree stands: what its people would say of it.

use std::path::Path;
use std::time::Duration;

use ostler_core::Wall;

use crate::git::{GitError, Repository};

/// How long one question may take.
const LIMIT: Duration = Duration::from_secs(3);
/// How much of an answer is read: it is good as far as it goes.
const MOST: usize = 64 << 10;
/// Commits that are looked at.
const COMMITS: &str = "-n11";

/// A work tree at one moment; empty where git does not say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TreeStatus {
    /// The branch, if one is checked out.
    pub branch: Option<String>,
    /// The last commit: its short name and its subject.
    pub commit: Option<String>,
    /// The commits since a moment, newest first.
    pub commits: Vec<String>,
    /// Files that differ from the last commit, and new ones.
    pub files: Vec<String>,
}

/// Asks git how the work tree that begins at `root` stands, and what was committed `since` a moment. Takes seconds at
/// most. A repository that cannot be kept from running programs, or that belongs to another user, is not asked.
pub async fn standing(root: &Path, since: Option<Wall>) -> Result<TreeStatus, GitError> {
    let repository = Repository::open_trusted(root.to_owned(), LIMIT).await?;
    let words = ["--porcelain=v2", "--branch", "-z", "--no-renames", "--ignore-submodules=all"];
    // Each may fail alone: before the first commit there is no log.
    let status = repository.ask_first("status", words, MOST).await.unwrap_or_default();
    let words = [COMMITS, "--no-show-signature", "--format=%ct %h %s"];
    let log = repository.ask_first("log", words, MOST).await.unwrap_or_default();
    let (branch, files) = read_status(&status);
    let (commit, commits) = read_log(&log, since);
    Ok(TreeStatus { branch, commit, commits, files })
}

/// The branch and the changed files in `git status --porcelain=v2 --branch -z`.
fn read_status(status: &[u8]) -> (Option<String>, Vec<String>) {
    let mut branch = None;
    let mut files = Vec::new();
    // Behind the last entry there is nothing, or an entry that was cut.
    let Some(end) = status.iter().rposition(|byte| *byte == 0) else { return (None, files) };
    for entry in status[..end].split(|byte| *byte == 0).map(String::from_utf8_lossy) {
        let fields = |count: usize| entry.splitn(count, ' ').nth(count - 1).map(str::to_owned);
        match entry.split(' ').next() {
            Some("#") => {
                let head = entry.strip_prefix("# branch.head ");
                branch = branch.or(head.filter(|head| *head != "(detached)").map(str::to_owned));
            }
            Some("1") => files.extend(fields(9)),
            Some("u") => files.extend(fields(11)),
            Some("?") => files.extend(fields(2)),
            _ => {}
        }
    }
    (branch, files)
}

/// The last commit and those since a moment, in `git log --format='%ct %h %s'`.
fn read_log(log: &[u8], since: Option<Wall>) -> (Option<String>, Vec<String>) {
    let log = String::from_utf8_lossy(log);
    let commits: Vec<(u64, &str)> = log
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(seconds, commit)| Some((seconds.parse().ok()?, commit)))
        .collect();
    let is_since = |seconds: u64| {
        since.is_some_and(|since| seconds.saturating_mul(1_000).saturating_add(999) >= since.0)
    };
    let made =
        commits.iter().filter(|(seconds, _)| is_since(*seconds)).map(|(_, commit)| (*commit).to_owned());
    (commits.first().map(|(_, commit)| (*commit).to_owned()), made.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_far_as_they_go() {
        let status = b"# branch.oid abc\0# branch.head main\0\
            1 .M N... 100644 100644 100644 a b src/a b.rs\0\
            u UU N... 1 2 3 4 a b c both.rs\0? new\n.rs\0? cu";
        assert_eq!(
            read_status(status),
            (Some("main".into()), vec!["src/a b.rs".into(), "both.rs".into(), "new\n.rs".into()])
        );
        assert_eq!(read_status(b"# branch.head (detached)\0"), (None, vec![]));
        assert_eq!(read_status(b""), (None, vec![]));
        let log = b"20 b22 Second one\n10 a11 First\nnonsense\n";
        let commits = |since| read_log(log, since);
        assert_eq!(commits(None), (Some("b22 Second one".into()), vec![]));
        assert_eq!(commits(Some(Wall(15_000))).1, ["b22 Second one"]);
        assert_eq!(commits(Some(Wall(10_500))).1.len(), 2);
        let distant = format!("{} c33 In a distant future\n", u64::MAX);
        assert_eq!(read_log(distant.as_bytes(), Some(Wall(1))).1.len(), 1);
    }
}
