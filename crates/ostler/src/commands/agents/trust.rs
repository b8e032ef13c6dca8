//! `ostler agents trust`

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ostler_daemon::presets;
use ostler_screen::SafeText;

use super::print_note;
use crate::error::{CommandError, Kind};
use crate::{client, output};

pub(super) fn run(dir: &Path, json: bool) -> Result<ExitCode, CommandError> {
    let home = client::home()?;
    let dir = dir.canonicalize().map_err(|error| {
        CommandError::new(Kind::Usage, format!("{}: {error}", dir.display()))
            .hint("give a directory of the project")
    })?;
    ostler_hold::create_private(home.path())?;
    let files = presets::trust(&home, &dir)?;
    if files.is_empty() {
        let message = format!("no project that has .ostler/agents/*.toml is at or above {}", dir.display());
        return Err(CommandError::new(Kind::Failed, message).hint("go to the project, or give its directory"));
    }
    for problem in presets::load(&home, &dir).registry.problems() {
        print_note(&problem.to_string());
    }
    if json {
        output::json(&files)?;
    } else {
        output::print(&shown(&files))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The files and what they say, so that nobody trusts what they have not seen.
fn shown(files: &[PathBuf]) -> String {
    let mut text = String::new();
    for file in files {
        let contents = std::fs::read_to_string(file).unwrap_or_default();
        let name = output::plain(&file.display().to_string());
        let _ = writeln!(text, "# {name}\n{}\n", SafeText::new(contents.trim_end()).as_str());
    }
    let _ = writeln!(text, "trusted as they are now: a change makes them untrusted again");
    text
}
