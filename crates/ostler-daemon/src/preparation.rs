//! What has to be found and made before an agent is started.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostler_agents::hooks::{HookSpec, session_hooks};
use ostler_agents::{Agent, FirstPrompt, Launch, McpSpec, SessionTools, session_tools, version};
use ostler_core::start_plan::Abilities;
use ostler_hold::create_private;
use ostler_protocol::{Code, ErrorKind, OsText, Problem};
use ostler_store::{NewEvent, NewSession, StoreHandle};
use serde_json::json;

use crate::identity::Identity;
use crate::{Home, clock, presets, programs};

/// The program to start.
#[derive(Debug)]
pub(crate) struct Found {
    /// Its file.
    pub(crate) program: PathBuf,
    /// The name it is called by.
    pub(crate) argv0: OsString,
    /// The agent it may be.
    pub(crate) agent: Option<Candidate>,
}

/// An agent that a program may be.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) agent: Arc<Agent>,
    pub(crate) why: Why,
}

/// Why a program may be an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// The agent was asked for by its name: any other program will not do.
    Named,
    /// The program is called like the agent's.
    Called,
    /// The user says so: it may be behind a wrapper, whose arguments and answers are its own.
    Told,
}

/// Finds what was asked for: an agent by its name, or any program.
pub(crate) fn find(
    home: &Home,
    asked: &OsText,
    told: Option<&str>,
    path: &OsStr,
    cwd: &Path,
) -> Result<Found, Problem> {
    let registry = presets::load(home, cwd).registry;
    let asked = OsString::from(asked.clone());
    let name = asked.to_str().unwrap_or_default();
    let agent = if let Some(told) = told {
        let unknown = || {
            Problem::new(ErrorKind::Usage, format!("no agent is called {told:?}"))
                .code(Code::AgentUnknown)
                .about("agent", told)
        };
        Some(Candidate { agent: registry.get(told).ok_or_else(unknown)?.clone(), why: Why::Told })
    } else if let Some(agent) = registry.get(name).filter(|_| !name.contains('/')) {
        Some(Candidate { agent: agent.clone(), why: Why::Named })
    } else {
        let file = Path::new(&asked).file_name().and_then(OsStr::to_str).unwrap_or_default();
        registry.by_command(file).map(|agent| Candidate { agent: agent.clone(), why: Why::Called })
    };
    let argv0 = match &agent {
        Some(Candidate { agent, why: Why::Named }) => OsString::from(&agent.preset.run.command),
        _ => asked,
    };
    let program = programs::find(&argv0, path, cwd).map_err(|error| {
        let problem = Problem::new(ErrorKind::Failed, error.to_string());
        match &agent {
            Some(Candidate { agent, why: Why::Named }) => problem
                .code(Code::AgentNotInstalled)
                .about("agent", &agent.name)
                .about("title", &agent.preset.title),
            _ => problem.code(Code::ProgramNotFound).about("program", argv0.to_string_lossy()),
        }
    })?;
    Ok(Found { program, argv0, agent })
}

/// Another program bears the agent's name.
pub(crate) fn wrong_program(agent: &Agent, program: &Path, identity: &Identity) -> Problem {
    let title = agent.title();
    let message =
        format!("{} is not {title}: {}", program.display(), identity.complaint().unwrap_or_default());
    Problem::new(ErrorKind::Failed, message)
        .code(Code::WrongProgram)
        .about("title", title)
        .about("program", program.to_string_lossy())
}

/// How an agent is to be started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    /// Its hooks are set up for this session.
    pub(crate) hooks: bool,
    /// It works without a person who approves.
    pub(crate) unattended: bool,
    /// The user trusts the folder.
    pub(crate) trusted: bool,
    /// It is told of ostler's tools.
    pub(crate) tools: bool,
}

/// In the directory of a session whose user said that it works without a person who approves.
const UNATTENDED: &str = "unattended";

/// Whether the user said of a session that it works without a person who approves.
pub(crate) fn is_unattended(dir: &Path) -> bool {
    dir.join(UNATTENDED).is_file()
}

/// Records that the hooks of a session, or the tools, are left out, and why.
async fn record_left_out(store: &StoreHandle, session: &NewSession, event: &'static str, reason: String) {
    tracing::info!(session = %session.name, event, reason);
    let event = NewEvent {
        at: clock::now(),
        session: Some(session.id.clone()),
        event,
        details: json!({ "reason": reason }),
    };
    if let Err(error) = store.run(move |store| store.record(&event)).await {
        tracing::error!(session = %session.name, %error, "not recorded");
    }
}

/// Why the agent is not told of ostler's tools, though it could be.
fn why_no_tools(
    tools: &SessionTools,
    spec: &McpSpec,
    dir: &Path,
    args: &[OsString],
    env: &[(OsString, OsString)],
) -> Option<String> {
    if let Some(said) = tools.contradicted_by(args, env) {
        return Some(format!("your arguments or your environment say something else: {said}"));
    }
    if let Some(file) = spec.replaces.as_ref().filter(|file| Path::new(file).exists()) {
        return Some(format!("it would not read {file} any more"));
    }
    let others_write = |metadata: &Metadata| metadata.uid() != 0 || metadata.mode() & 0o022 != 0;
    let is_open = |above: &&Path| fs::metadata(above).is_ok_and(|metadata| others_write(&metadata));
    let open = dir.ancestors().find(is_open).filter(|_| spec.file_of_root)?;
    Some(format!("it believes files of root only, and {} is not root's alone", open.display()))
}

/// Adds what the preset says to arguments and environment, and sets up the hooks of this session; returns what the
/// agent can take at its start.
pub(crate) async fn prepare(
    store: &StoreHandle,
    executable: &Path,
    agent: &Agent,
    session: &NewSession,
    args: &mut Vec<OsString>,
    env: &mut Vec<(OsString, OsString)>,
    manner: Manner,
) -> io::Result<Abilities> {
    let dir = PathBuf::from(&session.dir);
    let spec = agent.preset.hooks.as_ref().filter(|_| manner.hooks);
    let mut hooks = spec.and_then(|spec| session_hooks(&agent.name, spec, executable, &dir));
    // What the user says in so many words is not contradicted.
    if let Some(said) = hooks.as_ref().and_then(|hooks| hooks.contradicted_by(args)) {
        hooks = None;
        let reason = format!("your arguments say something else: {said}");
        record_left_out(store, session, "hooks.left_out", reason).await;
    }
    let mut tools = agent.preset.mcp.as_ref().filter(|_| manner.tools).and_then(|spec| {
        let tools = session_tools(spec, session.agent_version.as_deref(), executable, &dir)?;
        Some((tools, spec))
    });
    if let Some(reason) = tools.as_ref().and_then(|(tools, spec)| why_no_tools(tools, spec, &dir, args, env))
    {
        tools = None;
        record_left_out(store, session, "tools.left_out", reason).await;
    }
    let mut launch = Launch::new(&agent.preset, manner.unattended, hooks.as_ref());
    if manner.trusted {
        launch.trust(&agent.preset.startup, &session.cwd);
    }
    if let Some((tools, _)) = &tools {
        launch.give_tools(tools);
    }
    args.splice(0..0, launch.args.iter().map(OsString::from));
    *env = launch.environment(env);
    let version = session.agent_version.as_deref().and_then(version::read);
    let stays =
        manner.trusted && version.and_then(|version| agent.preset.was_checked(&version)) == Some(true);
    let abilities = if agent.preset.startup.restarts && !stays {
        Abilities::default()
    } else {
        let hook = spec.filter(|_| hooks.is_some()).and_then(HookSpec::context_at_start);
        Abilities { hook, argument: agent.preset.prompt.first != FirstPrompt::None }
    };
    let mut files: Vec<(String, String)> = hooks.map_or_else(Vec::new, |hooks| hooks.files);
    files.extend(tools.into_iter().flat_map(|(tools, _)| tools.files));
    if manner.unattended {
        files.push((UNATTENDED.into(), String::new()));
    }
    if files.is_empty() {
        return Ok(abilities);
    }
    let write = move || {
        create_private(&dir)?;
        files.into_iter().try_for_each(|(name, contents)| std::fs::write(dir.join(name), contents))
    };
    tokio::task::spawn_blocking(write).await.map_err(io::Error::other)??;
    Ok(abilities)
}
