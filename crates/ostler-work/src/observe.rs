//! Which files an attempt created, updated and deleted: seen on the disk, not claimed by anybody.

mod compare;
mod repositories;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::exclude::Exclude;
use crate::git::{GitError, Repository};
use crate::names;
use crate::print::{Print, Reader};
use crate::tree;
use repositories::{Heads, Survey};

/// How far observing goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Files that are remembered: all of a tree without git; in a repository, those that differ from its commit.
    pub files: usize,
    /// How deep directories may lie (without git).
    pub depth: usize,
    /// Bytes that are read to tell contents apart; beyond that, times and inodes have to do.
    pub hashed: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { files: 20_000, depth: 32, hashed: 512 << 20 }
    }
}

/// What a tree was like before an attempt. Small enough to be recorded, so that it outlives the observer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The tree that was looked at, escaped.
    root: String,
    seen: Seen,
    /// The first path that was not looked at.
    cut: Option<String>,
    notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Seen {
    /// Where the repositories stood, and what was on the disk where that differed.
    Git { heads: Heads, differing: BTreeMap<String, Option<Print>> },
    /// Every file.
    Tree { files: BTreeMap<String, Print> },
}

/// What has changed. Paths are relative to the directory of the task, sorted, escaped (see [`names::escaped`]).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Changes {
    /// Files that were not there.
    pub created: Vec<String>,
    /// Files with another content, another target or another permission to run.
    pub updated: Vec<String>,
    /// Files that are no more there; a whole repository inside the tree is named once.
    pub deleted: Vec<String>,
    /// Files among the created that have the content of one among the deleted.
    pub renamed: Vec<Renamed>,
    /// Commits that were made on top of the one before.
    pub commits: u32,
    /// What was not looked at, for people.
    pub notes: Vec<String>,
}

impl Changes {
    /// Whether no file has changed. Commits alone do not count: they change no file.
    pub fn is_empty(&self) -> bool {
        self.created.is_empty() && self.updated.is_empty() && self.deleted.is_empty()
    }
}

/// A file under a new name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renamed {
    /// Its name before.
    pub from: String,
    /// Its name now.
    pub to: String,
}

/// What came of a look at a tree that was looked at before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// What has changed.
    pub changes: Changes,
    /// What the tree is like now. Whatever is not among the changes is among those of the next look.
    pub now: Snapshot,
}

/// Why a tree could not be observed.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// The directory cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The directory.
        path: PathBuf,
        /// The reason, for people.
        source: io::Error,
    },
    /// Git does not answer.
    #[error(transparent)]
    Git(#[from] GitError),
    /// What was a repository is none any more.
    #[error("{0} was a git repository when the attempt began and is none any more")]
    RepositoryGone(PathBuf),
    /// The observer was ended.
    #[error("observing was broken off")]
    BrokenOff,
}

/// Looks at the tree that `dir` is in before an attempt: the whole repository, else the directory.
///
/// In a repository, git says which files there are, and nothing of the repository is written: not the index, no
/// object, no lock. Where git does not answer (it is not installed, the repository is damaged), the directory is
/// looked at file by file, and a note says so.
pub async fn snapshot(dir: &Path, exclude: &Exclude, limits: Limits) -> Result<Snapshot, ObserveError> {
    let mut notes = Vec::new();
    match Repository::around(dir).await {
        Ok(Some(repository)) => match git_snapshot(&repository, exclude, limits).await {
            Err(ObserveError::Git(error)) => notes.push(format!("looked at file by file: {error}")),
            other => return other,
        },
        Ok(None) => {}
        Err(error) => notes.push(format!("looked at file by file: {error}")),
    }
    let root = canonical(dir)?;
    let found = survey_tree(root.clone(), exclude.clone(), limits, BTreeMap::new()).await?;
    notes.extend(found.notes);
    Ok(Snapshot {
        root: names::escaped(&root),
        seen: Seen::Tree { files: found.files },
        cut: found.cut,
        notes,
    })
}

async fn git_snapshot(
    repository: &Repository,
    exclude: &Exclude,
    limits: Limits,
) -> Result<Snapshot, ObserveError> {
    let survey = repositories::survey(repository, None, exclude).await?;
    of_survey(repository, &survey, &BTreeMap::new(), limits).await
}

/// What a repository is like by a survey of where it stands now. Prints that are `known` may spare the reading.
async fn of_survey(
    repository: &Repository,
    survey: &Survey,
    known: &BTreeMap<String, Option<Print>>,
    limits: Limits,
) -> Result<Snapshot, ObserveError> {
    let mut paths: Vec<String> = survey.differences.keys().cloned().collect();
    let mut notes = survey.notes.clone();
    let mut cut = None;
    if paths.len() > limits.files {
        paths.sort_by_cached_key(|path| names::unescaped(path));
        cut = paths.get(limits.files).cloned();
        paths.truncate(limits.files);
        notes.push(format!(
            "only the first {} files that differ from the commit were looked at",
            limits.files
        ));
    }
    let with_known = |path: String| {
        let print = known.get(&path).cloned().flatten();
        (path, print)
    };
    let wanted = paths.into_iter().map(with_known).collect();
    let differing = read_prints(repository.top().to_owned(), wanted, limits.hashed).await?;
    let seen = Seen::Git { heads: survey.heads.clone(), differing };
    Ok(Snapshot { root: names::escaped(repository.top()), seen, cut, notes })
}

/// Looks again after the attempt. `dir` and `exclude` are those of the snapshot. What has changed and what there is now
/// come from one look, so that nothing falls between two.
pub async fn changes(
    dir: &Path,
    before: &Snapshot,
    exclude: &Exclude,
    limits: Limits,
) -> Result<Observed, ObserveError> {
    let root = names::unescaped(&before.root);
    let below = canonical(dir)?.strip_prefix(&root).map(Path::to_owned).unwrap_or_default();
    let cut = before.cut.as_deref();
    let Observed { mut changes, now } = match &before.seen {
        Seen::Git { heads, differing } => {
            if !crate::git::is_top(&root) {
                return Err(ObserveError::RepositoryGone(root));
            }
            let repository = Repository::open(root).await?;
            compare::with_git(&repository, heads, differing, cut, exclude, limits).await?
        }
        Seen::Tree { files } => {
            // A repository that was made meanwhile is looked at as one from now on. What comes in between is told
            // twice, and not never.
            let made = match Repository::around(dir).await {
                Ok(None) => None,
                Ok(Some(_)) | Err(_) => Some(snapshot(dir, exclude, limits).await),
            };
            let mut found = survey_tree(root, exclude.clone(), limits, files.clone()).await?;
            let changes = compare::trees(files, &found, cut);
            if let Some(Err(error)) = &made {
                found.notes.push(format!("looked at file by file: {error}"));
            }
            let now = made.and_then(Result::ok).unwrap_or_else(|| {
                let seen = Seen::Tree { files: found.files };
                Snapshot { root: before.root.clone(), seen, cut: found.cut, notes: found.notes }
            });
            Observed { changes, now }
        }
    };
    changes.notes.splice(0..0, before.notes.iter().cloned());
    let mut seen = std::collections::BTreeSet::new();
    changes.notes.retain(|note| seen.insert(note.clone()));
    compare::seen_from(&below, &mut changes);
    Ok(Observed { changes, now })
}

fn canonical(dir: &Path) -> Result<PathBuf, ObserveError> {
    dir.canonicalize().map_err(|source| ObserveError::Io { path: dir.to_owned(), source })
}

async fn survey_tree(
    root: PathBuf,
    exclude: Exclude,
    limits: Limits,
    known: BTreeMap<String, Print>,
) -> Result<tree::Found, ObserveError> {
    aside(move || {
        tree::survey(&root, &exclude, limits, &known)
            .map_err(|source| ObserveError::Io { path: root, source })
    })
    .await
}

/// Reads what is on the disk now under each name; the print that is known may spare the reading.
async fn read_prints(
    root: PathBuf,
    wanted: BTreeMap<String, Option<Print>>,
    hashed: u64,
) -> Result<BTreeMap<String, Option<Print>>, ObserveError> {
    aside(move || {
        let mut reader =
            Reader::new(&root, hashed).map_err(|source| ObserveError::Io { path: root.clone(), source })?;
        wanted
            .into_iter()
            .map(|(name, known)| {
                let path = names::unescaped(&name);
                let print = reader
                    .read(&path, known.as_ref())
                    .map_err(|source| ObserveError::Io { path: root.join(&path), source })?;
                Ok((name, print))
            })
            .collect()
    })
    .await
}

/// Runs what blocks where it may.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ObserveError> + Send + 'static,
) -> Result<T, ObserveError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| ObserveError::BrokenOff)?
}
