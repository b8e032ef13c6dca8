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
    folder.ancestors().any(|folder| known.contains(folder))
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
