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
use ostler_agents::choice::Standing;
use ostler_daemon::identity::{Identity, identify};
use ostler_daemon::presets::{self, Presets};
use ostler_daemon::settings::{self, Settings};
use ostler_daemon::{Home, choice, judge};

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
            tell(&problem);
        }
        if settings.judge.enabled
            && let Err(reason) = judge::appoint(&settings.judge.agent, &presets.registry)
        {
            tell(&format!("{}: judge.agent: {reason}", home.settings().display()));
        }
        for untrusted in &presets.untrusted {
            let file = untrusted.file.display();
            tell(&format!(
                "{file}: not used, because nobody trusts it; read it, then run: ostler agents trust"
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
    fn standing(&self, agent: &Agent) -> Standing {
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

/// The agents that are installed, the best first.
pub(super) fn installed(cwd: &Path) -> Result<Vec<String>, CommandError> {
    let here = Here::look_in(cwd.to_owned())?;
    let mut found: Vec<(i32, String)> = here
        .presets
        .registry
        .agents()
        .filter(|agent| matches!(here.standing(agent), Standing::Installed(_)))
        .map(|agent| (-agent.preset.priority, agent.name.clone()))
        .collect();
    found.sort();
    if found.is_empty() {
        return Err(CommandError::new(Kind::Failed, "no agent is installed")
            .hint("install one, or name a program that ostler has a preset for with --agent"));
    }
    Ok(found.into_iter().map(|(_, name)| name).collect())
}

/// Files other than those that come with ostler.
fn own_files(agent: &Agent) -> Vec<&str> {
    agent.files.iter().map(String::as_str).filter(|file| file.starts_with('/')).collect()
}

/// Tells something that is no part of the answer.
pub(super) fn tell(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", output::plain(text));
}

/// Something to wait for programs with.
fn runtime() -> Result<tokio::runtime::Runtime, CommandError> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
