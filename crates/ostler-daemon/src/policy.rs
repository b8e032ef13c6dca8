//! Which folders the user trusts.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::Home;

/// Folders that the user said are trusted.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Folders {
    folders: BTreeSet<PathBuf>,
}

fn load(home: &Home) -> Folders {
    fs::read(home.trusted_folders())
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default()
}

/// Held from reading the trusted folders to writing them: of two starts at once, each would write what it read
/// without what the other one adds.
static CHANGING: Mutex<()> = Mutex::new(());

/// Remembers that a folder is trusted, with all that is below it.
pub(crate) fn trust_folder(home: &Home, folder: &Path) -> io::Result<()> {
    let folder = folder.canonicalize()?;
    let folder = project_of(home, &folder).unwrap_or(folder);
    let _changing = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut known = load(home);
    if known.folders.insert(folder) {
        let file = home.trusted_folders();
        let mut fresh = tempfile::NamedTempFile::new_in(home.path())?;
        serde_json::to_writer_pretty(&mut fresh, &known)?;
        fresh.as_file().sync_all()?;
        fresh.persist(file).map_err(|error| error.error)?;
    }
    Ok(())
}

/// Whether a folder, or one above it, is trusted.
pub(crate) fn is_trusted(home: &Home, folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    let known = load(home).folders;
    let is_known = |folder: &Path| folder.ancestors().any(|folder| known.contains(folder));
    is_known(&folder) || project_of(home, &folder).is_some_and(|project| is_known(&project))
}

/// The folder of a project that a folder in one of ostler's work trees stands for: it is trusted as that one is. What the
/// work tree belongs to says ostler's own record, never what is in it.
fn project_of(home: &Home, folder: &Path) -> Option<PathBuf> {
    let under = home.worktrees().canonicalize().ok()?;
    if !folder.starts_with(&under) {
        return None;
    }
    let trees = ostler_work::worktree::made(&under);
    let tree = trees.into_iter().find(|tree| folder.starts_with(&tree.path))?;
    let below = folder.strip_prefix(&tree.path).ok()?;
    Some(tree.repository.join(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_are_trusted_at_once_are_all_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let home =
            Home::resolve(|name| (name == "OSTLER_HOME").then(|| dir.path().join("home").into())).unwrap();
        fs::create_dir_all(home.path()).unwrap();
        let folders: Vec<PathBuf> = (0..32).map(|at| dir.path().join(format!("folder-{at}"))).collect();
        for folder in &folders {
            fs::create_dir(folder).unwrap();
        }
        std::thread::scope(|scope| {
            for folder in &folders {
                scope.spawn(|| trust_folder(&home, folder).unwrap());
            }
        });
        let lost: Vec<_> = folders.iter().filter(|folder| !is_trusted(&home, folder)).collect();
        assert!(lost.is_empty(), "{lost:?}");
    }

    #[test]
    fn a_work_tree_is_trusted_as_its_project_is() {
        let dir = tempfile::tempdir().unwrap();
        let home =
            Home::resolve(|name| (name == "OSTLER_HOME").then(|| dir.path().join("home").into())).unwrap();
        let project = dir.path().join("project");
        for folder in [project.join("src"), home.worktrees().join("t-1/src"), home.worktrees().join("t-2")] {
            fs::create_dir_all(folder).unwrap();
        }
        let (under, project) = (home.worktrees().canonicalize().unwrap(), project.canonicalize().unwrap());
        let tree = ostler_work::worktree::WorkTree {
            repository: project.clone(),
            path: under.join("t-1"),
            dir: under.join("t-1"),
            branch: "ostler/t-1".into(),
            commit: String::new(),
            left_out: Vec::new(),
        };
        fs::write(under.join("t-1.json"), serde_json::to_vec(&tree).unwrap()).unwrap();
        // A record that names another tree is none.
        fs::write(under.join("t-2.json"), serde_json::to_vec(&tree).unwrap()).unwrap();
        assert!(!is_trusted(&home, &under.join("t-1")));
        trust_folder(&home, &under.join("t-1/src")).unwrap();
        assert!(is_trusted(&home, &project.join("src")), "the project is what is trusted");
        assert!(is_trusted(&home, &under.join("t-1/src")) && !is_trusted(&home, &under.join("t-1")));
        trust_folder(&home, &project).unwrap();
        assert!(is_trusted(&home, &under.join("t-1")) && !is_trusted(&home, &under.join("t-2")));
    }

    #[test]
    fn trust_reaches_down_and_not_up() {
        let dir = tempfile::tempdir().unwrap();
        let home =
            Home::resolve(|name| (name == "OSTLER_HOME").then(|| dir.path().join("home").into())).unwrap();
        fs::create_dir_all(home.path()).unwrap();
        let project = dir.path().join("project");
        fs::create_dir_all(project.join("src")).unwrap();
        assert!(!is_trusted(&home, &project));
        trust_folder(&home, &project).unwrap();
        trust_folder(&home, &project).unwrap();
        assert!(is_trusted(&home, &project) && is_trusted(&home, &project.join("src")));
        assert!(!is_trusted(&home, dir.path()));
        fs::write(home.trusted_folders(), "broken").unwrap();
        assert!(!is_trusted(&home, &project), "what cannot be read grants nothing");
    }
}
