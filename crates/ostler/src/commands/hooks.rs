//! `ostler hooks`

mod made;
mod outcome;
mod place;
mod settings_file;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ostler_agents::hooks::{Found, HookSpec, by_hand, inspect, install, remove};
use ostler_agents::{Agent, Registry};
use ostler_daemon::presets;

use self::made::Made;
use self::outcome::{Outcome, State};
use self::place::Place;
use self::settings_file::{SettingsError, SettingsFile};
use crate::cli::{HookPlaces, Hooks};
use crate::error::{CommandError, Kind};
use crate::{client, output};

/// How often a file that somebody else changes meanwhile is tried.
const TRIES: u32 = 5;

pub(crate) fn run(command: &Hooks) -> Result<ExitCode, CommandError> {
    let (Hooks::Install(args) | Hooks::Status(args) | Hooks::Remove(args)) = command;
    let home = client::home()?;
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let registry = presets::load(&home, &here).registry;
    let agents = chosen(&registry, args)?;
    let work = Work { ostler: place::own_path()?, project: project(args)?, dry_run: args.dry_run };
    // One at a time, so that many that start at once do not undo each other's work.
    let changes = !matches!(command, Hooks::Status(_)) && !args.dry_run;
    let mut made = if changes { Some(Made::locked(home.path())?) } else { None };
    let mut outcomes = Vec::new();
    for agent in agents {
        let outcome = match command {
            Hooks::Status(_) => work.status(agent),
            Hooks::Install(_) => work.install(agent, made.as_mut()),
            Hooks::Remove(_) => work.remove(agent, made.as_mut()),
        };
        // What was not asked for by name and is not there is not worth a line.
        if !(args.agents.is_empty() && changes && outcome.state == State::NoDirectory) {
            outcomes.push(outcome);
        }
    }
    if args.json {
        output::json(&outcomes)?;
    } else {
        output::print(&outcome::table(&outcomes))?;
    }
    let failed = outcomes.iter().filter(|outcome| outcome.is_failure(!args.agents.is_empty())).count();
    if failed == 0 || matches!(command, Hooks::Status(_)) {
        return Ok(ExitCode::SUCCESS);
    }
    Ok(Kind::Failed.exit_code())
}

/// How an agent's hooks in the user's settings stand, for other commands to tell.
pub(super) fn standing(agent: &Agent) -> Result<serde_json::Value, CommandError> {
    let work = Work { ostler: place::own_path()?, project: None, dry_run: true };
    serde_json::to_value(work.status(agent))
        .map_err(|error| CommandError::new(Kind::Internal, error.to_string()))
}

/// The agents that the command is about.
fn chosen<'a>(registry: &'a Registry, args: &HookPlaces) -> Result<Vec<&'a Agent>, CommandError> {
    if args.agents.is_empty() {
        return Ok(registry
            .agents()
            .map(AsRef::as_ref)
            .filter(|agent| agent.preset.hooks.is_some())
            .collect());
    }
    let known = |name: &String| {
        registry.get(name).map(AsRef::as_ref).ok_or_else(|| {
            CommandError::new(Kind::Usage, format!("no agent is called {name:?}"))
                .hint("`ostler agents list` names those that are known")
        })
    };
    args.agents.iter().map(known).collect()
}

fn project(args: &HookPlaces) -> Result<Option<PathBuf>, CommandError> {
    let Some(dir) = &args.project else { return Ok(None) };
    dir.canonicalize().ok().filter(|dir| dir.is_dir()).map(Some).ok_or_else(|| {
        CommandError::new(Kind::Usage, format!("there is no directory {}", dir.display()))
            .hint("give the root of a project with --project")
    })
}

/// What all agents have in common.
struct Work {
    ostler: PathBuf,
    project: Option<PathBuf>,
    dry_run: bool,
}

impl Work {
    /// An agent's hooks and the file they are in.
    fn place<'a>(&self, agent: &'a Agent) -> Result<(&'a HookSpec, Place), State> {
        let spec = agent.preset.hooks.as_ref().ok_or(State::NoHooks)?;
        let place = match &self.project {
            Some(project) => place::in_project(spec, project),
            None => place::of_user(&agent.preset.config, spec, |name| std::env::var_os(name)),
        };
        place.map(|place| (spec, place)).ok_or(State::NoPlace)
    }

    fn status(&self, agent: &Agent) -> Outcome {
        let (spec, place) = match self.place(agent) {
            Ok(place) => place,
            Err(state) => return Outcome::new(agent, state),
        };
        let found = SettingsFile::open(&place)
            .and_then(|file| Ok(inspect(spec, &agent.name, &self.ostler, file.text())?));
        let state = match found {
            Ok(Found::Current) => State::Installed,
            Ok(Found::Outdated) => State::Outdated,
            Ok(Found::Nothing) if place.dir.is_dir() => State::NotInstalled,
            Ok(Found::Nothing) => State::NoDirectory,
            Err(error) => return Outcome::new(agent, State::Broken).at(&place.file).because(&error),
        };
        Outcome::new(agent, state).at(&place.file)
    }

    fn install(&self, agent: &Agent, made: Option<&mut Made>) -> Outcome {
        let (spec, place) = match self.place(agent) {
            Ok(place) => place,
            Err(state) => return Outcome::new(agent, state),
        };
        if self.project.is_none() && !place.dir.is_dir() {
            return Outcome::new(agent, State::NoDirectory).at(&place.file);
        }
        let change = |before: Option<&str>| Ok(Some(install(spec, &agent.name, &self.ostler, before)?));
        match self.change(&place, change, made) {
            Ok(true) => {
                let state = if self.dry_run { State::WouldInstall } else { State::Installed };
                Outcome::new(agent, state).at(&place.file).noting(spec.note.as_deref())
            }
            Ok(false) => Outcome::new(agent, State::Unchanged).at(&place.file),
            Err(error) => {
                let outcome = Outcome::new(agent, State::Broken).at(&place.file).because(&error);
                if error.is_content() {
                    outcome.by_hand(by_hand(spec, &agent.name, &self.ostler))
                } else {
                    outcome
                }
            }
        }
    }

    fn remove(&self, agent: &Agent, made: Option<&mut Made>) -> Outcome {
        let (spec, place) = match self.place(agent) {
            Ok(place) => place,
            Err(state) => return Outcome::new(agent, state),
        };
        let is_ours = spec.own_file || made.as_ref().is_some_and(|made| made.has(&place.file));
        let change = |before: Option<&str>| {
            let Some(before) = before else { return Ok(None) };
            let removed = remove(spec, before)?;
            Ok(if removed.empty && is_ours { None } else { Some(removed.text) })
        };
        match self.change(&place, change, made) {
            Ok(true) => {
                let state = if self.dry_run { State::WouldRemove } else { State::Removed };
                Outcome::new(agent, state).at(&place.file)
            }
            Ok(false) => Outcome::new(agent, State::NotInstalled).at(&place.file),
            Err(error) => Outcome::new(agent, State::Broken).at(&place.file).because(&error),
        }
    }

    /// Changes a file; says whether there was anything to change.
    fn change(
        &self,
        place: &Place,
        change: impl Fn(Option<&str>) -> Result<Option<String>, SettingsError>,
        mut made: Option<&mut Made>,
    ) -> Result<bool, SettingsError> {
        let mut tries = TRIES;
        loop {
            let file = SettingsFile::open(place)?;
            let after = change(file.text())?;
            if after.as_deref() == file.text() {
                return Ok(false);
            }
            if self.dry_run {
                file.check_writable()?;
                return Ok(true);
            }
            match (file.replace(after.as_deref(), made.as_deref_mut()), tries) {
                (Err(SettingsError::Changed(_)), 1..) => tries -= 1,
                (result, _) => return result.map(|()| true),
            }
        }
    }
}

/// A path without a link in its last part, if it has one.
fn target(path: &Path) -> std::io::Result<PathBuf> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => path.canonicalize(),
        _ => Ok(path.to_owned()),
    }
}
