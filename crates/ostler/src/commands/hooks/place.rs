//! Where an agent's hooks are written down.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use ostler_agents::ConfigDir;
use ostler_agents::hooks::HookSpec;

use crate::client;
use crate::error::CommandError;

/// A file for hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The agent's directory, or the project's: what is above it is not ours to make.
    pub(super) dir: PathBuf,
    /// The file.
    pub(super) file: PathBuf,
    /// Whether links may lead out of the directory. They may in what is the user's own, for the sake of those who
    /// keep their settings elsewhere; a project may have been written by anybody.
    pub(super) links_lead_out: bool,
}

/// The file in the agent's config directory.
pub(super) fn of_user(
    config: &ConfigDir,
    spec: &HookSpec,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Option<Place> {
    let given = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let moved = config.env.as_deref().and_then(given).filter(|dir| dir.is_absolute());
    let usual = || {
        let dir = config.dir.as_deref()?;
        match dir.strip_prefix("~/") {
            Some(below) => Some(given("HOME")?.join(below)),
            None => Some(PathBuf::from(dir)).filter(|dir| dir.is_absolute()),
        }
    };
    let dir = moved.or_else(usual)?;
    Some(Place { file: below(&dir, spec.file.as_deref()?)?, dir, links_lead_out: true })
}

/// The file in a project.
pub(super) fn in_project(spec: &HookSpec, project: &Path) -> Option<Place> {
    let file = below(project, spec.project_file.as_deref()?)?;
    Some(Place { dir: project.to_owned(), file, links_lead_out: false })
}

/// A file beneath a directory: presets are data that others may have written.
fn below(dir: &Path, file: &str) -> Option<PathBuf> {
    let plain = |part| matches!(part, Component::Normal(_));
    (!file.is_empty() && Path::new(file).components().all(plain)).then(|| dir.join(file))
}

/// The path of this program that will hold longest: the one on the `PATH`, if it leads here. A package manager
/// puts the real file elsewhere with every version.
pub(super) fn own_path() -> Result<PathBuf, CommandError> {
    let executable = client::executable()?;
    let real = executable.canonicalize().unwrap_or_else(|_| executable.clone());
    let name = executable.file_name().unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let first = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file());
    let leads_here =
        |file: &PathBuf| file.is_absolute() && file.canonicalize().is_ok_and(|file| file == real);
    Ok(first.filter(leads_here).unwrap_or(executable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_in_the_directory_that_the_environment_says() {
        let config = ConfigDir { dir: Some("~/.a".into()), env: Some("A_HOME".into()) };
        let spec = HookSpec { file: Some("sub/settings.json".into()), ..HookSpec::default() };
        let place = |moved: &str| {
            let variable = |name: &str| match name {
                "HOME" => Some("/home/u".into()),
                "A_HOME" => Some(moved.into()),
                _ => None,
            };
            of_user(&config, &spec, variable).map(|place| place.file.display().to_string())
        };
        assert_eq!(place("").unwrap(), "/home/u/.a/sub/settings.json");
        assert_eq!(place("/x").unwrap(), "/x/sub/settings.json");
        assert_eq!(place("relative").unwrap(), "/home/u/.a/sub/settings.json");
        for file in ["../x", "/etc/passwd", "", "a/../b"] {
            assert_eq!(below(Path::new("/d"), file), None, "{file}");
        }
    }
}
