//! Presets on disk: the user's, and those of a project that a person trusts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ostler_agents::{Layer, PresetError, Registry};
use ostler_work::Exclude;

use crate::Home;

/// Where a project keeps its presets, seen from its root.
const PROJECT_AGENTS: &str = ".ostler/agents";
/// Most files that are read from one directory.
const MAX_FILES: usize = 200;
/// Largest file that is read; presets are refused long before.
const MAX_BYTES: u64 = 4 << 20;

/// Files of a project that say how agents are run, and are not used because nobody trusted them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untrusted {
    /// The file.
    pub file: PathBuf,
}

/// All presets for work in a directory.
#[derive(Debug)]
pub struct Presets {
    /// The agents.
    pub registry: Registry,
    /// Files of the project that are not used.
    pub untrusted: Vec<Untrusted>,
}

/// Reads the presets of the user and of the project that `cwd` is in.
pub fn load(home: &Home, cwd: &Path) -> Presets {
    let (mut layers, mut unreadable) = read_layers(&home.agents());
    let mut untrusted = Vec::new();
    if let Some(project) = project_agents(cwd) {
        let (of_project, problems) = read_layers(&project);
        unreadable.extend(problems);
        for layer in of_project {
            let file = PathBuf::from(&layer.file);
            if is_trusted(home, &file, &layer.text) {
                layers.push(layer);
            } else {
                untrusted.push(Untrusted { file });
            }
        }
    }
    Presets { registry: Registry::new(&layers).with_problems(unreadable), untrusted }
}

/// Trusts the files of the project that `cwd` is in, as they are now; returns them. What cannot be read is not trusted.
pub fn trust(home: &Home, cwd: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(project) = project_agents(cwd) else { return Ok(Vec::new()) };
    let (layers, _) = read_layers(&project);
    ostler_hold::create_private(&home.trusted()).map_err(io::Error::other)?;
    let mut files = Vec::new();
    for layer in layers {
        let file = PathBuf::from(&layer.file);
        let copy = copy_of(home, &file);
        let fresh = copy.with_extension("new");
        fs::write(&fresh, &layer.text)?;
        fs::rename(&fresh, &copy)?;
        files.push(file);
    }
    Ok(files)
}

/// A file is trusted as long as it is, byte for byte, what a person looked at.
fn is_trusted(home: &Home, file: &Path, text: &str) -> bool {
    fs::read(copy_of(home, file)).is_ok_and(|copy| copy == text.as_bytes())
}

/// Where the trusted copy of a file is: its path, written so that it fits in one name.
fn copy_of(home: &Home, file: &Path) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    // Names have a limit; two paths of the same hash and the same bytes could be mistaken, and say the same.
    let hash = file.as_os_str().as_bytes().iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    home.trusted().join(format!("{hash:016x}.toml"))
}

/// The presets of the project that a directory is in.
pub(crate) fn project_agents(cwd: &Path) -> Option<PathBuf> {
    of_project(cwd, PROJECT_AGENTS).filter(|agents| agents.is_dir())
}

/// What the project that a directory is in has at a place: the nearest above it that has it, up to its repository.
pub(crate) fn of_project(cwd: &Path, place: &str) -> Option<PathBuf> {
    for dir in cwd.ancestors() {
        let found = dir.join(place);
        if found.exists() {
            return Some(found);
        }
        if dir.join(".git").exists() {
            return None;
        }
    }
    None
}

/// The preset files of a directory, in the order of their names, and those that cannot be read.
fn read_layers(dir: &Path) -> (Vec<Layer>, Vec<PresetError>) {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Default::default(),
        Err(error) => return (Vec::new(), vec![unreadable(dir, reason(&error))]),
    };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files.truncate(MAX_FILES);
    let (mut layers, mut problems) = (Vec::new(), Vec::new());
    for file in &files {
        match read(file) {
            Ok(text) => {
                layers.push(Layer { agent: agent_of(file), file: file.display().to_string(), text });
            }
            Err(reason) => problems.push(unreadable(file, reason)),
        }
    }
    (layers, problems)
}

/// The agent that a file is about.
fn agent_of(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn unreadable(file: &Path, reason: String) -> PresetError {
    PresetError { agent: agent_of(file), file: file.display().to_string(), line: None, field: None, reason }
}

/// The text of a file that a person wrote; never waits for a pipe.
pub(crate) fn read(file: &Path) -> Result<String, String> {
    match fs::metadata(file) {
        Ok(metadata) if metadata.is_dir() => Err("cannot be read: it is a directory".to_owned()),
        Ok(metadata) if !metadata.is_file() => Err("cannot be read: it is not a regular file".to_owned()),
        Ok(metadata) if metadata.len() > MAX_BYTES => {
            Err(format!("cannot be read: it is larger than {} MiB", MAX_BYTES >> 20))
        }
        Ok(_) => fs::read_to_string(file).map_err(|error| reason(&error)),
        Err(error) => Err(reason(&error)),
    }
}

/// Why a file cannot be read.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "cannot be read: permission denied".to_owned(),
        io::ErrorKind::InvalidData => "cannot be read: it is not UTF-8 text".to_owned(),
        _ => format!("cannot be read: {error}"),
    }
}

/// What agents leave in a tree that is no work of theirs.
pub(crate) fn exclude(home: &Home, cwd: &Path) -> Exclude {
    let registry = load(home, cwd).registry;
    let scratch = registry.agents().flat_map(|agent| agent.preset.run.scratch.clone());
    Exclude::new(scratch.chain([".ostler".to_owned()]))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_that_cannot_be_read_are_told_with_the_reason_and_harm_no_others() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("home");
        let home = Home::resolve(|name| (name == "OSTLER_HOME").then(|| root.clone().into())).unwrap();
        fs::create_dir_all(home.agents().join("directory.toml")).unwrap();
        fs::write(home.agents().join("good.toml"), "run.command = \"good\"\n").unwrap();
        fs::write(home.agents().join("latin.toml"), b"title = \"\xe9\"\n").unwrap();
        symlink("nowhere", home.agents().join("missing.toml")).unwrap();
        fs::write(home.agents().join("huge.toml"), " ".repeat(5 << 20)).unwrap();
        let registry = load(&home, dir.path()).registry;
        assert!(registry.get("good").is_some());
        let told: Vec<String> = registry.problems().iter().map(ToString::to_string).collect();
        let agents = home.agents().display().to_string();
        let reasons = [
            ("directory", "it is a directory"),
            ("huge", "it is larger than 4 MiB"),
            ("latin", "it is not UTF-8 text"),
            ("missing", "No such file or directory (os error 2)"),
        ];
        let expected =
            reasons.map(|(name, reason)| format!("{agents}/{name}.toml: cannot be read: {reason}"));
        assert_eq!(told, expected);
        assert_eq!(registry.problems()[0].agent, "directory");
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        assert_eq!(reason(&denied), "cannot be read: permission denied");
    }
}
