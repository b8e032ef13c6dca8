//! Before and after.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::repositories::{self, Difference, Heads, Status, Survey};
use super::{
    Changes, Limits, ObserveError, Observed, Renamed, Seen, Snapshot, git_snapshot, of_survey, read_prints,
};
use crate::exclude::Exclude;
use crate::git::Repository;
use crate::names;
use crate::print::Print;
use crate::tree::Found;

/// More files than this are not searched for renames.
const MOST_RENAMES: usize = 1000;

/// Whether a path was looked at, both before and after.
fn is_known(path: &str, cuts: &[Option<&str>]) -> bool {
    cuts.iter().flatten().all(|cut| names::unescaped(path) < names::unescaped(cut))
}

/// Compares two looks at a directory without git.
pub(super) fn trees(before: &BTreeMap<String, Print>, found: &Found, cut: Option<&str>) -> Changes {
    let cuts = [cut, found.cut.as_deref()];
    let paths: BTreeSet<&String> = before.keys().chain(found.files.keys()).collect();
    let mut changes = Changes { notes: found.notes.clone(), ..Changes::default() };
    for path in paths.into_iter().filter(|path| is_known(path, &cuts)) {
        add(&mut changes, path, before.get(path), found.files.get(path));
    }
    let hash = |print: Option<&Print>| content(print).map(str::to_owned);
    let from = changes.deleted.iter().map(|path| (path.clone(), hash(before.get(path)))).collect();
    let to = changes.created.iter().map(|path| (path.clone(), hash(found.files.get(path)))).collect();
    changes.renamed = pair(from, to);
    changes
}

fn add(changes: &mut Changes, path: &str, before: Option<&Print>, after: Option<&Print>) {
    let list = match (before, after) {
        (None, Some(_)) => &mut changes.created,
        (Some(_), None) => &mut changes.deleted,
        (Some(before), Some(after)) if !before.is_same(after) => &mut changes.updated,
        _ => return,
    };
    list.push(path.to_owned());
}

fn content(print: Option<&Print>) -> Option<&str> {
    match print {
        Some(Print::File { hash, .. }) => hash.as_deref(),
        _ => None,
    }
}

/// Compares a repository, and those inside it, with the snapshot.
pub(super) async fn with_git(
    repository: &Repository,
    heads: &Heads,
    differing: &BTreeMap<String, Option<Print>>,
    cut: Option<&str>,
    exclude: &Exclude,
    limits: Limits,
) -> Result<Observed, ObserveError> {
    let mut survey = repositories::survey(repository, Some(heads), exclude).await?;
    let now = if survey.heads == *heads {
        of_survey(repository, &survey, differing, limits).await?
    } else {
        // It stands elsewhere than before, and what differs from there is another question. What comes in between is
        // told twice, and not never.
        let now = git_snapshot(repository, exclude, limits).await?;
        survey = repositories::survey(repository, Some(heads), exclude).await?;
        now
    };
    let changes = since(repository, heads, differing, cut, survey, &now, limits).await?;
    Ok(Observed { changes, now })
}

/// What a survey says has changed since repositories stood there.
async fn since(
    repository: &Repository,
    heads: &Heads,
    differing: &BTreeMap<String, Option<Print>>,
    cut: Option<&str>,
    survey: Survey,
    now: &Snapshot,
    limits: Limits,
) -> Result<Changes, ObserveError> {
    let mut changes = Changes { notes: survey.notes, ..Changes::default() };
    // What differed before is compared by its print; all else stood as in the commit.
    let printed = |path: &String| match &now.seen {
        Seen::Git { differing, .. } => differing.get(path),
        Seen::Tree { .. } => None,
    };
    let (there, left): (Vec<_>, Vec<_>) = differing.iter().partition(|(path, _)| printed(path).is_some());
    let wanted = left.into_iter().map(|(path, print)| (path.clone(), print.clone())).collect();
    let mut now = read_prints(repository.top().to_owned(), wanted, limits.hashed).await?;
    now.extend(there.into_iter().filter_map(|(path, _)| Some((path.clone(), printed(path)?.clone()))));
    let paths: BTreeSet<&String> = survey.differences.keys().chain(differing.keys()).collect();
    for path in paths.into_iter().filter(|path| is_known(path, &[cut])) {
        match (differing.get(path), survey.differences.get(path)) {
            (Some(before), _) => {
                let after = now.get(path).and_then(Option::as_ref);
                add(&mut changes, path, before.as_ref(), after);
            }
            (None, Some(difference)) => match difference.status {
                Status::New => changes.created.push(path.clone()),
                Status::Other => changes.updated.push(path.clone()),
                Status::Gone => changes.deleted.push(path.clone()),
            },
            (None, None) => {}
        }
    }
    let gone = heads.keys().filter(|place| !survey.heads.contains_key(*place));
    let gone = gone.filter(|place| !repository.top().join(names::unescaped(place)).join(".git").exists());
    changes.deleted.extend(gone.cloned());
    changes.deleted.sort();
    if let Some(Some(start)) = heads.get("") {
        changes.commits = count_commits(repository, start).await;
    }
    changes.renamed = renames(repository, &changes, differing, &survey.differences).await;
    Ok(changes)
}

/// Commits on top of `start`; none where history was rewritten beyond telling.
async fn count_commits(repository: &Repository, start: &str) -> u32 {
    let range = format!("{start}..HEAD");
    let count = repository.line("rev-list", ["--count", range.as_str(), "--"]).await;
    count.ok().and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// Finds created files with the content of deleted ones, by git's name for the content. Only a hint: where git
/// does not answer there are none.
async fn renames(
    repository: &Repository,
    changes: &Changes,
    differing: &BTreeMap<String, Option<Print>>,
    differences: &BTreeMap<String, Difference>,
) -> Vec<Renamed> {
    let few = |list: &[String]| (1..=MOST_RENAMES).contains(&list.len());
    if !few(&changes.created) || !few(&changes.deleted) {
        return Vec::new();
    }
    // Contents before are known by git's name for those in the commit, and by prints for all others.
    let blob = |path: &String| differences.get(path).and_then(|difference| difference.before.clone());
    let in_commit = changes.deleted.iter().filter(|path| !differing.contains_key(*path));
    let in_commit: Vec<_> = in_commit.map(|path| (path.clone(), blob(path))).collect();
    let printed = changes.deleted.iter().filter_map(|path| differing.get(path).map(|print| (path, print)));
    let printed: Vec<_> =
        printed.map(|(path, print)| (path.clone(), content(print.as_ref()).map(str::to_owned))).collect();
    let places: Vec<PathBuf> = changes.created.iter().map(|path| names::unescaped(path)).collect();
    let contents = repository.contents(&places).await.unwrap_or_default();
    let mut renamed = pair(in_commit, changes.created.iter().cloned().zip(contents).collect());
    if !printed.is_empty() {
        let wanted = changes.created.iter().map(|path| (path.clone(), None)).collect();
        let now = read_prints(repository.top().to_owned(), wanted, MOST_RENAMES as u64 * (1 << 20)).await;
        let now = now.unwrap_or_default().into_iter();
        let now = now.filter(|(path, _)| renamed.iter().all(|known| known.to != *path));
        renamed.extend(pair(
            printed,
            now.map(|(path, print)| (path, content(print.as_ref()).map(str::to_owned))).collect(),
        ));
    }
    renamed.sort_by(|a, b| a.to.cmp(&b.to));
    renamed
}

/// Pairs paths of equal content, each once.
fn pair(from: Vec<(String, Option<String>)>, to: Vec<(String, Option<String>)>) -> Vec<Renamed> {
    let mut by_content: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, content) in from.into_iter().rev() {
        if let Some(content) = content {
            by_content.entry(content).or_default().push(path);
        }
    }
    to.into_iter()
        .filter_map(|(to, content)| Some(Renamed { from: by_content.get_mut(&content?)?.pop()?, to }))
        .collect()
}

/// Turns paths of the tree into paths as seen from a directory in it.
pub(super) fn seen_from(dir: &Path, changes: &mut Changes) {
    if dir.as_os_str().is_empty() {
        return;
    }
    let turn = |path: &mut String| {
        let seen: PathBuf = names::relative(dir, &names::unescaped(path));
        *path = names::escaped(&seen);
    };
    let Changes { created, updated, deleted, renamed, .. } = changes;
    for list in [created, updated, deleted] {
        list.iter_mut().for_each(turn);
        list.sort();
    }
    for Renamed { from, to } in renamed {
        turn(from);
        turn(to);
    }
}
