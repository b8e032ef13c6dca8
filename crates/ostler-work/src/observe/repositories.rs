//! What differs in a repository, and in those inside it, from where they stood.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::exclude::Exclude;
use crate::git::{GitError, Index, Repository, is_top};
use crate::names;

/// How many repositories inside a repository are looked at.
const MOST_NESTED: usize = 64;
/// The mode of an entry that stands for another repository.
const LINK_MODE: &str = "160000";

/// How a path differs from the commit that it is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// It is not in the commit.
    New,
    /// It is in the commit, and is not what it was.
    Other,
    /// It is in the commit and no more on the disk.
    Gone,
}

/// A path that differs.
#[derive(Debug, Clone)]
pub(super) struct Difference {
    pub(super) status: Status,
    /// Git's name for the content in the commit.
    pub(super) before: Option<String>,
}

/// Where repositories stood: their place in the first one, and their commit.
pub(super) type Heads = BTreeMap<String, Option<String>>;

/// The first repository and those inside it.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// Where they stand now.
    pub(super) heads: Heads,
    /// Every path that differs, by its escaped name as seen from the first one.
    pub(super) differences: BTreeMap<String, Difference>,
    /// What was left out.
    pub(super) notes: Vec<String>,
}

/// Compares repositories with where they stood; those that `since` does not know, with nothing at all. Without
/// `since`, they are compared with where they stand.
pub(super) async fn survey(
    first: &Repository,
    since: Option<&Heads>,
    exclude: &Exclude,
) -> Result<Survey, GitError> {
    let mut survey = Survey::default();
    let mut open = vec![PathBuf::new()];
    while let Some(place) = open.pop() {
        let result = if place.as_os_str().is_empty() {
            look(first, &place, since, exclude, &mut survey).await.map_err(Some)
        } else {
            look_inside(first, &place, since, exclude, &mut survey).await.map_err(|error| {
                survey.notes.push(format!("{} was left out: {error}", names::escaped(&place)));
                None
            })
        };
        match result {
            Ok(nested) => open.extend(nested.into_iter().rev()),
            Err(Some(error)) => return Err(error),
            Err(None) => {}
        }
        if survey.heads.len() > MOST_NESTED && !open.is_empty() {
            let left_out = open.len();
            survey.notes.push(format!("{left_out} repositories inside this one were left out"));
            break;
        }
    }
    Ok(survey)
}

async fn look_inside(
    first: &Repository,
    place: &Path,
    since: Option<&Heads>,
    exclude: &Exclude,
    survey: &mut Survey,
) -> Result<Vec<PathBuf>, GitError> {
    let repository = Repository::open(first.top().join(place)).await?;
    look(&repository, place, since, exclude, survey).await
}

/// Adds one repository to the survey; returns those inside it.
async fn look(
    repository: &Repository,
    place: &Path,
    since: Option<&Heads>,
    exclude: &Exclude,
    survey: &mut Survey,
) -> Result<Vec<PathBuf>, GitError> {
    let name = names::escaped(place);
    let head = repository.head().await?;
    let commit = match since {
        None => head.clone(),
        Some(since) => since.get(&name).cloned().flatten(),
    };
    let base = match commit {
        Some(commit) => commit,
        None => repository.line("hash-object", ["-t", "tree", "/dev/null"]).await?,
    };
    let index = repository.index().await?;
    let mut nested = linked(repository, &index).await?;
    let mut differences = changed(repository, &base, &index).await?;
    let untracked =
        repository.ask("ls-files", ["--others", "--exclude-standard", "-z"], Some(&index.path())).await?;
    let mut unlisted = Vec::new();
    for path in split(&untracked) {
        let new = Difference { status: Status::New, before: None };
        if let Some(inside) = path.strip_suffix(b"/") {
            nested.push(names::path(inside).to_owned());
        } else if differences.contains_key(names::path(path)) {
            unlisted.push(names::path(path).to_owned());
        } else {
            differences.insert(names::path(path).to_owned(), new);
        }
    }
    // In the commit and on the disk, but taken out of the index: git calls those gone.
    let contents = repository.contents(&unlisted).await?;
    for (path, content) in unlisted.iter().zip(contents) {
        match differences.get_mut(path) {
            Some(known) if known.before.is_none() || known.before != content => known.status = Status::Other,
            _ => drop(differences.remove(path)),
        }
    }
    let differences = differences.into_iter().map(|(path, difference)| (place.join(path), difference));
    survey.differences.extend(
        differences.filter(|(path, _)| !exclude.covers(path)).map(|(path, it)| (names::escaped(&path), it)),
    );
    survey.heads.insert(name, head);
    nested.retain(|path| {
        let inside = repository.top().join(path);
        inside.symlink_metadata().is_ok_and(|found| found.is_dir()) && is_top(&inside)
    });
    let nested = nested.into_iter().map(|path| place.join(path));
    Ok(nested.filter(|path| !exclude.covers(path)).collect())
}

/// Places where the index has other repositories.
async fn linked(repository: &Repository, index: &Index) -> Result<Vec<PathBuf>, GitError> {
    let staged = repository.ask("ls-files", ["--stage", "-z"], Some(&index.path())).await?;
    let links = split(&staged).filter_map(|entry| entry.strip_prefix(b"160000 "));
    Ok(links
        .filter_map(|entry| Some(names::path(entry.splitn(2, |byte| *byte == b'\t').nth(1)?).to_owned()))
        .collect())
}

/// Paths whose content on the disk differs from a commit, other repositories not among them.
async fn changed(
    repository: &Repository,
    commit: &str,
    index: &Index,
) -> Result<BTreeMap<PathBuf, Difference>, GitError> {
    let format = ["--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv"];
    let args = format.into_iter().chain(["--ignore-submodules=dirty", commit, "--"]);
    let answer = repository.ask("diff", args, Some(&index.path())).await?;
    let unclear = || GitError::Unclear { command: "diff".into() };
    let mut fields = split(&answer);
    let mut found = BTreeMap::new();
    while let Some(entry) = fields.next() {
        let entry = std::str::from_utf8(entry).map_err(|_| unclear())?;
        let words: Vec<&str> = entry.strip_prefix(':').ok_or_else(unclear)?.split(' ').collect();
        let [old_mode, new_mode, before, _, status] = words[..] else { return Err(unclear()) };
        let path = fields.next().ok_or_else(unclear)?;
        if old_mode == LINK_MODE || new_mode == LINK_MODE {
            continue;
        }
        let status = match status.as_bytes().first() {
            Some(b'A') => Status::New,
            Some(b'D') => Status::Gone,
            _ => Status::Other,
        };
        let before = (status != Status::New).then(|| before.to_owned());
        // A path in conflict is listed twice, the second time with what it is compared with.
        found.insert(names::path(path).to_owned(), Difference { status, before });
    }
    Ok(found)
}

fn split(answer: &[u8]) -> impl Iterator<Item = &[u8]> {
    answer.split(|byte| *byte == 0).filter(|part| !part.is_empty())
}
