//! A directory without git: every file in it, within limits.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::exclude::Exclude;
use crate::names;
use crate::observe::Limits;
use crate::print::{Print, Reader};

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Every file, by its escaped name.
    pub(crate) files: BTreeMap<String, Print>,
    /// The first path that was not looked at; all before it, in the order of paths, were.
    pub(crate) cut: Option<String>,
    /// What else was left out.
    pub(crate) notes: Vec<String>,
}

/// Looks at every file below `root`. `known` spares the reading of files that are still the same.
pub(crate) fn survey(
    root: &Path,
    exclude: &Exclude,
    limits: Limits,
    known: &BTreeMap<String, Print>,
) -> io::Result<Found> {
    let mut reader = Reader::new(root, limits.hashed)?;
    let mut found = Found::default();
    let mut too_deep = 0_u32;
    let mut unreadable = 0_u32;
    // The next path is the last of these: directories are opened in the order of paths.
    let mut open: Vec<PathBuf> = entries(root, Path::new(""), exclude)?;
    while let Some(path) = open.pop() {
        if found.files.len() >= limits.files {
            found.cut = Some(names::escaped(&path));
            found.notes.push(format!("only the first {} files were looked at", limits.files));
            break;
        }
        let name = names::escaped(&path);
        match reader.read(&path, known.get(&name)) {
            Ok(None) => {}
            Ok(Some(Print::Directory)) if path.components().count() >= limits.depth => too_deep += 1,
            Ok(Some(Print::Directory)) => match entries(root, &path, exclude) {
                Ok(below) => open.extend(below),
                Err(_) => unreadable += 1,
            },
            Ok(Some(print)) => drop(found.files.insert(name, print)),
            Err(_) => unreadable += 1,
        }
    }
    if too_deep > 0 {
        found.notes.push(format!("{too_deep} directories deeper than {} were not looked at", limits.depth));
    }
    if unreadable > 0 {
        found.notes.push(format!("{unreadable} files or directories cannot be read"));
    }
    Ok(found)
}

/// What is in a directory, last name first.
fn entries(root: &Path, dir: &Path, exclude: &Exclude) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(root.join(dir))? {
        let name = entry?.file_name();
        let path = dir.join(&name);
        if name != ".git" && !exclude.covers(&path) {
            paths.push(path);
        }
    }
    paths.sort_unstable_by(|a, b| b.cmp(a));
    Ok(paths)
}
