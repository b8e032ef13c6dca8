//! `ostler worktrees`

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ostler_protocol::{Request, Response, RunInfo};
use ostler_work::worktree::{Removal, WorkTree, WorkTreeStatus, made, remove, standing};
use serde_json::json;

use crate::cli::Worktrees;
use crate::error::{CommandError, Kind};
use crate::{client, output};

pub(crate) fn run(command: &Worktrees) -> Result<ExitCode, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match command {
            Worktrees::List { json } => list(*json).await,
            Worktrees::Remove { names, force } => {
                let removal = if *force { Removal::Always } else { Removal::IfClean };
                for name in names {
                    remove_one(&named(name)?, removal).await?;
                }
                Ok(())
            }
            Worktrees::Prune => prune().await,
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

fn all() -> Result<Vec<WorkTree>, CommandError> {
    let under = client::home()?.worktrees();
    Ok(under.canonicalize().map(|under| made(&under)).unwrap_or_default())
}

fn name(tree: &WorkTree) -> String {
    tree.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The work tree that a name, a branch or a path means.
fn named(wanted: &str) -> Result<WorkTree, CommandError> {
    let path = Path::new(wanted).canonicalize().ok();
    let found = all()?
        .into_iter()
        .find(|tree| name(tree) == wanted || tree.branch == wanted || Some(&tree.path) == path.as_ref());
    found.ok_or_else(|| {
        CommandError::new(Kind::Usage, format!("ostler made no work tree {wanted:?}"))
            .hint("ostler worktrees list shows those that it made")
    })
}

async fn list(as_json: bool) -> Result<(), CommandError> {
    let mut rows = Vec::new();
    for tree in all()? {
        let stands = standing(&tree).await.map_err(|error| error.to_string());
        rows.push((name(&tree), tree, stands));
    }
    if as_json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(name, tree, stands)| {
                let stands = stands.as_ref();
                json!({
                    "name": name,
                    "branch": tree.branch,
                    "path": tree.path,
                    "repository": tree.repository,
                    "commits": stands.ok().map(|stands| stands.commits),
                    "merged": stands.ok().map(|stands| stands.is_merged),
                    "uncommitted": stands.ok().map(|stands| &stands.uncommitted),
                    "gone": stands.ok().map(|stands| stands.is_gone),
                    "problem": stands.err(),
                })
            })
            .collect();
        return output::json(&rows);
    }
    let mut text = String::new();
    for (name, tree, stands) in &rows {
        let stands = stands.as_ref().map_or_else(Clone::clone, describe);
        let _ = writeln!(text, "{name}  {stands}\n  branch {} of {}", tree.branch, tree.repository.display());
        let _ = writeln!(text, "  {}", tree.path.display());
    }
    output::print(if rows.is_empty() { "ostler made no work trees\n" } else { &text })
}

fn describe(stands: &WorkTreeStatus) -> String {
    let WorkTreeStatus { uncommitted, commits, is_merged, is_gone } = stands;
    if *is_gone {
        return "its directory is gone".into();
    }
    let commits = match (commits, is_merged) {
        (0, _) => "no commits".to_owned(),
        (commits, true) => format!("{commits} commits, merged"),
        (commits, false) => format!("{commits} commits, not merged"),
    };
    match uncommitted.len() {
        0 => commits,
        files => format!("{commits}, {files} files not committed"),
    }
}

async fn remove_one(tree: &WorkTree, removal: Removal) -> Result<(), CommandError> {
    if let Some(run) = runs()?.iter().find(|run| works_in(run, &tree.path)) {
        return Err(CommandError::new(Kind::Failed, format!("run {} works in {}", run.id, name(tree)))
            .hint(format!("ostler runs cancel {}", run.id)));
    }
    remove(tree, removal).await.map_err(|error| {
        let hint = "ostler worktrees remove --force removes it with what is not committed";
        CommandError::new(Kind::Failed, error.to_string()).hint(hint)
    })
}

/// Removes those of which nothing would be lost: no run works there, and all is committed and merged.
async fn prune() -> Result<(), CommandError> {
    let runs = runs()?;
    let mut text = String::new();
    for tree in all()? {
        let stands = standing(&tree).await;
        let is_done = stands
            .as_ref()
            .is_ok_and(|stands| stands.is_gone || (stands.is_merged && stands.uncommitted.is_empty()));
        if !is_done || runs.iter().any(|run| works_in(run, &tree.path)) {
            continue;
        }
        let line = match remove(&tree, Removal::IfClean).await {
            Ok(()) => format!("removed {}\n", name(&tree)),
            Err(error) => format!("kept {}: {error}\n", name(&tree)),
        };
        text.push_str(&line);
    }
    output::print(&text)
}

/// The runs that go on.
fn runs() -> Result<Vec<RunInfo>, CommandError> {
    match client::call(&Request::Runs { all: false })? {
        Response::Runs { runs } => Ok(runs),
        _ => Err(super::unexpected()),
    }
}

fn works_in(run: &RunInfo, path: &Path) -> bool {
    PathBuf::from(&run.cwd).starts_with(path)
}
