//! Which agent runs here: what everybody says, what is on the PATH, and whether it is what it is called.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ostler_agents::choice::{self, Choice, Inputs, Installation, NoChoice};

pub use ostler_agents::choice::unknown;
use ostler_agents::{Agent, Launch, Registry};
use ostler_core::environment;
use ostler_hold::{DAEMON_MARK, SESSION_MARK};

use crate::identity::{Identity, identify};
use crate::settings::Settings;
use crate::{Home, programs};

/// Who asks for an agent, and where.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The agent that the command names.
    pub agent: Option<&'a str>,
    /// The role that it is for.
    pub role: Option<&'a str>,
    /// The environment of whoever asks.
    pub env: &'a [(OsString, OsString)],
    /// Where the agent is to run.
    pub cwd: &'a Path,
}

/// The agent that runs, and what its program said.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// Which, and why.
    pub choice: Choice,
    /// What its program is.
    pub identity: Identity,
}

/// Decides which agent runs, and makes sure that its program is that agent.
pub async fn choose(
    home: &Home,
    registry: &Registry,
    settings: &Settings,
    ask: Ask<'_>,
) -> Result<Chosen, NoChoice> {
    let mut standings: BTreeMap<String, Installation> =
        registry.agents().map(|agent| (agent.name.clone(), standing(agent, ask.env, ask.cwd))).collect();
    let (agent, tier) = (text(ask.env, "OSTLER_AGENT"), text(ask.env, "OSTLER_TIER"));
    // Each round rules out one program or is the last.
    loop {
        let choice = choice::choose(&Inputs {
            registry,
            standings: &standings,
            asked: ask.agent,
            agent_variable: agent.as_deref(),
            tier_variable: tier.as_deref(),
            role: ask.role,
            project: &settings.project,
            user: &settings.user,
        })?;
        let identity =
            identify(home, &choice.agent, &choice.program, &environment_of(&choice.agent, ask.env), ask.cwd)
                .await;
        match identity.complaint() {
            None => return Ok(Chosen { choice, identity }),
            Some(reason) => {
                let wrong = Installation::Wrong { program: choice.program, reason };
                standings.insert(choice.agent.name.clone(), wrong);
            }
        }
    }
}

/// Where an agent's program is, by name alone.
pub fn standing(agent: &Agent, env: &[(OsString, OsString)], cwd: &Path) -> Installation {
    let path = variable(env, "PATH").unwrap_or_default();
    match programs::find(OsStr::new(&agent.preset.run.command), path, cwd) {
        Ok(program) => Installation::Installed(program),
        Err(error) => Installation::Missing(error.to_string()),
    }
}

/// Whether a program of this name can be started.
pub fn is_on_path(name: &str, env: &[(OsString, OsString)], cwd: &Path) -> bool {
    programs::find(OsStr::new(name), variable(env, "PATH").unwrap_or_default(), cwd).is_ok()
}

/// The environment that an agent would get from this one, before anything that belongs to a session.
pub fn environment_of(agent: &Agent, env: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let marks = [SESSION_MARK, DAEMON_MARK];
    let stays = |(name, value): &&(OsString, OsString)| {
        !environment::is_dropped(name.as_bytes(), value.as_bytes())
            && !marks.iter().any(|mark| *name == **mark)
    };
    let inherited: Vec<_> = env.iter().filter(stays).cloned().collect();
    Launch::new(&agent.preset, false, None).environment(&inherited)
}

fn variable<'a>(env: &'a [(OsString, OsString)], wanted: &str) -> Option<&'a OsStr> {
    env.iter().rev().find(|(name, _)| name == wanted).map(|(_, value)| value.as_os_str())
}

fn text(env: &[(OsString, OsString)], name: &str) -> Option<String> {
    variable(env, name).map(|value| value.to_string_lossy().into_owned())
}
