//! `ostler agents`

mod check;
mod list;
mod report;
mod show;
mod trust;
mod which;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use ostler_agents::Agent;
use ostler_agents::choice::{Installation, Step};
use ostler_daemon::identity::{Identity, identify};
use ostler_daemon::presets::{self, Presets};
use ostler_daemon::settings::{self, Settings};
use ostler_daemon::{Home, choice, judge};
use ostler_protocol::SessionInfo;

use crate::cli::Agents;
use crate::error::{CommandError, Kind};
use crate::{client, output};

pub(crate) fn run(command: &Agents) -> Result<ExitCode, CommandError> {
    match command {
        Agents::List { probe, json } => list::run(*probe, *json),
        Agents::Show { agent, json } => show::run(agent, *json),
        Agents::Which { role, agent, json } => which::run(agent.as_deref(), role.as_deref(), *json),
        Agents::Check { agents, json } => check::run(agents, *json),
        Agents::Trust { dir, json } => trust::run(dir, *json),
    }
}

/// What holds in the directory that the command was given in.
struct Here {
    home: Home,
    cwd: PathBuf,
    env: Vec<(OsString, OsString)>,
    presets: Presets,
    settings: Settings,
}

impl Here {
    /// Looks around, and tells what is wrong with the files that were found.
    fn look() -> Result<Self, CommandError> {
        Self::look_in(std::env::current_dir()?)
    }

    fn look_in(cwd: PathBuf) -> Result<Self, CommandError> {
        let home = client::home()?;
        let presets = presets::load(&home, &cwd);
        let settings = settings::load(&home, &cwd);
        for problem in unusable(&presets, &settings) {
            print_note(&problem);
        }
        if settings.judge.enabled
            && let Err(reason) = judge::appoint(&settings.judge.agent, &presets.registry)
        {
            print_note(&format!("{}: judge.agent: {reason}", home.settings().display()));
        }
        for untrusted in &presets.untrusted {
            let file = untrusted.file.display();
            print_note(&format!(
                "{file}: not used, because it is not trusted; read it, then run: ostler agents trust"
            ));
        }
        Ok(Self { home, cwd, env: client::environment(), presets, settings })
    }

    /// The agent of this name.
    fn agent(&self, name: &str) -> Result<&Arc<Agent>, CommandError> {
        self.presets.registry.get(name).ok_or_else(|| {
            CommandError::new(Kind::Usage, format!("no agent is called {name:?}"))
                .hint("ostler agents list shows those that are known")
        })
    }

    /// Where its program is.
    fn standing(&self, agent: &Agent) -> Installation {
        choice::standing(agent, &self.env, &self.cwd)
    }

    /// What its program is, asking it if need be.
    async fn identify(&self, agent: &Agent, program: &std::path::Path) -> Identity {
        identify(&self.home, agent, program, &choice::environment_of(agent, &self.env), &self.cwd).await
    }
}

fn unusable(presets: &Presets, settings: &Settings) -> Vec<String> {
    presets.registry.problems().iter().chain(&settings.problems).map(ToString::to_string).collect()
}

/// What is wrong with files of the user and of a project, so that they are not used.
pub(super) fn problems(home: &Home, cwd: &Path) -> Vec<String> {
    unusable(&presets::load(home, cwd), &settings::load(home, cwd))
}

/// The agent that runs in a directory where nobody names one.
pub(super) fn chosen(role: Option<&str>, cwd: &Path) -> Result<String, CommandError> {
    let here = Here::look_in(cwd.to_owned())?;
    let ask = choice::Ask { agent: None, role, env: &here.env, cwd: &here.cwd };
    let choice = runtime()?.block_on(choice::choose(&here.home, &here.presets.registry, &here.settings, ask));
    match choice {
        Ok(chosen) => Ok(chosen.choice.agent.name.clone()),
        Err(none) => Err(CommandError::new(Kind::Failed, none.reason).hint(none.hint)),
    }
}

/// The agents that a run may use where nobody names them: the one that `ostler agents which` says, then the others that are
/// installed, the best first. Where a tier decides, the others are of that tier too.
pub(super) fn for_run(cwd: &Path) -> Result<Vec<String>, CommandError> {
    let here = Here::look_in(cwd.to_owned())?;
    let ask = choice::Ask { agent: None, role: None, env: &here.env, cwd: &here.cwd };
    let chosen = runtime()?.block_on(choice::choose(&here.home, &here.presets.registry, &here.settings, ask));
    let chosen = chosen.map_err(|none| CommandError::new(Kind::Failed, none.reason).hint(none.hint))?.choice;
    let cost = Some(chosen.agent.preset.cost).filter(|_| chosen.step == Step::Tier);
    let other = |agent: &&Arc<Agent>| {
        agent.name != chosen.agent.name
            && cost.is_none_or(|cost| agent.preset.cost == cost)
            && matches!(here.standing(agent), Installation::Installed(_))
    };
    let others = here.presets.registry.agents().filter(other);
    let mut others: Vec<(i32, &str)> =
        others.map(|agent| (-agent.preset.priority, agent.name.as_str())).collect();
    others.sort_unstable();
    let others = others.into_iter().map(|(_, name)| name.to_owned());
    Ok(std::iter::once(chosen.agent.name.clone()).chain(others).collect())
}

/// Makes sure that there are agents or programs of these names: an agent whose preset is broken is no plain program.
pub(super) fn exist(cwd: &Path, names: &[String]) -> Result<(), CommandError> {
    let here = Here::look_in(cwd.to_owned())?;
    let registry = &here.presets.registry;
    let broken = |name: &str| registry.problems().iter().any(|problem| problem.agent == name);
    for name in names.iter().filter(|name| registry.get(name).is_none() && !name.contains('/')) {
        if broken(name) || !choice::is_on_path(name, &here.env, &here.cwd) {
            let (reason, hint) = choice::unknown(registry, name, "");
            return Err(CommandError::new(Kind::Usage, reason).hint(hint));
        }
    }
    Ok(())
}

/// Files other than those that come with ostler.
fn own_files(agent: &Agent) -> Vec<&str> {
    agent.files.iter().map(String::as_str).filter(|file| file.starts_with('/')).collect()
}

/// Tells something that is no part of the answer.
pub(super) fn print_note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", output::plain(text));
}

/// A line about the agent of a session, if it is newer than any version that was recorded.
pub(crate) fn newer_than_recorded(session: &SessionInfo) -> Option<String> {
    report::newer_than_recorded(session.preset.as_deref()?, session.agent_version.as_deref())
}

/// Tells that the agent of a session is newer than any version that was recorded, if it is.
pub(super) fn note_if_new(session: &SessionInfo) {
    if let Some(line) = newer_than_recorded(session) {
        print_note(&line);
    }
}

/// Something to wait for programs with.
fn runtime() -> Result<tokio::runtime::Runtime, CommandError> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
