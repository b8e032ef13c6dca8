//! `ostler agents check`

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ostler_agents::choice::Installation;
use ostler_agents::hooks::session_hooks;
use ostler_agents::{Agent, FirstPrompt, GENERIC, Launch, session_tools};
use ostler_core::{State, environment};
use ostler_daemon::identity::Identity;
use semver::Version;

use super::report::{Dialog, Hooks, Plan, Recorded, Report, Rules};
use super::{Here, own_files, runtime};
use crate::commands::hooks;
use crate::error::{CommandError, Kind};
use crate::{client, output};

pub(super) fn run(names: &[String], json: bool) -> Result<ExitCode, CommandError> {
    let here = Here::look()?;
    let mut reports = Vec::new();
    let runtime = runtime()?;
    if names.is_empty() {
        for agent in here.presets.registry.agents() {
            reports.push(runtime.block_on(check(&here, agent))?);
        }
        reports.sort_by_key(|report| !report.installed);
    }
    for name in names {
        let known = here.presets.registry.get(name).filter(|agent| agent.name != GENERIC);
        reports.push(match known {
            Some(agent) => runtime.block_on(check(&here, agent))?,
            None => Report::unknown(name),
        });
    }
    if json {
        output::json(&reports)?;
    } else {
        let texts: Vec<String> = reports.iter().map(Report::text).collect();
        output::print(&texts.join("\n"))?;
    }
    let Some(bad) = reports.iter().find(|report| !report.usable).filter(|_| !names.is_empty()) else {
        return Ok(ExitCode::SUCCESS);
    };
    let problem = bad.problem.clone().unwrap_or_default();
    let hint = if bad.known {
        "install it, or put the right program first on the PATH"
    } else {
        "ostler agents list shows those that are known; a preset adds one"
    };
    Err(CommandError::new(Kind::Failed, format!("{} cannot be used: {problem}", bad.name)).hint(hint))
}

async fn check(here: &Here, agent: &Agent) -> Result<Report, CommandError> {
    let mut report = Report {
        name: agent.name.clone(),
        title: agent.title().to_owned(),
        known: true,
        files: own_files(agent).into_iter().map(str::to_owned).collect(),
        tier: agent.tier(),
        capabilities: agent.capabilities(),
        recorded: Recorded::of(&agent.name, None),
        ..Report::default()
    };
    let program = match here.standing(agent) {
        Installation::Installed(program) => program,
        Installation::Missing(reason) | Installation::Wrong { reason, .. } => {
            report.problem = Some(reason);
            return Ok(report);
        }
    };
    let identity = here.identify(agent, &program).await;
    report.installed = true;
    report.program = Some(program.display().to_string());
    report.usable = identity.is_agent;
    report.problem =
        identity.complaint().map(|complaint| format!("it is not {}: {complaint}", agent.title()));
    report.said = identity.said.lines().find(|line| !line.trim().is_empty()).map(str::to_owned);
    report.asked = agent.preset.run.identity.as_ref().is_some_and(|identity| !identity.args.is_empty());
    if identity.is_agent {
        describe(here, agent, &identity, &mut report)?;
    }
    Ok(report)
}

/// What is known about an agent that is there.
fn describe(
    here: &Here,
    agent: &Agent,
    identity: &Identity,
    report: &mut Report,
) -> Result<(), CommandError> {
    let found = identity.version.as_ref();
    report.version = found.map(ToString::to_string);
    report.tells_status = agent.expectations(found).status;
    report.version_checked = found.and_then(|found| agent.preset.was_checked(found));
    report.checked = agent.preset.run.identity.as_ref().and_then(|identity| identity.checked.clone());
    report.recorded = Recorded::of(&agent.name, found);
    report.rules = Some(rules(here, agent, found)?);
    let standing = match &agent.preset.hooks {
        Some(spec) => Some(Hooks { informational: spec.informational, settings: hooks::standing(agent)? }),
        None => None,
    };
    report.hooks = standing;
    report.start = Some(plan(here, agent, found));
    Ok(())
}

/// Which rules hold for the version at hand.
fn rules(here: &Here, agent: &Agent, found: Option<&Version>) -> Result<Rules, CommandError> {
    let book = here.presets.registry.rulebook(agent, found);
    let book = book.map_err(|error| CommandError::new(Kind::Internal, error.to_string()))?;
    let active: BTreeSet<&str> = book.rule_ids().collect();
    let left_out = agent.preset.rules.iter().filter(|(id, rule)| !rule.off && !active.contains(id.as_str()));
    Ok(Rules { active: active.len(), other_versions: left_out.map(|(id, _)| id.clone()).collect() })
}

/// What a start would do.
fn plan(here: &Here, agent: &Agent, found: Option<&Version>) -> Plan {
    let preset = &agent.preset;
    let dir = here.home.sessions().join("ID");
    let spec = preset.hooks.as_ref();
    let own = spec.and_then(|spec| session_hooks(&agent.name, spec, &client::executable().ok()?, &dir));
    let version = found.map(ToString::to_string);
    let tools = preset
        .mcp
        .as_ref()
        .and_then(|spec| session_tools(spec, version.as_deref(), &client::executable().ok()?, &dir));
    let mut launch = Launch::new(preset, false, own.as_ref());
    if let Some(tools) = &tools {
        launch.give_tools(tools);
    }
    let mut command = vec![preset.run.command.clone()];
    command.extend(launch.args.iter().cloned());
    let is_dropped = |name: &std::ffi::OsString, value: &std::ffi::OsString| {
        environment::is_dropped(name.as_bytes(), value.as_bytes())
    };
    let dropped = here.env.iter().filter(|(name, value)| is_dropped(name, value));
    let unset_here = here.env.iter().filter(|(name, _)| launch.takes_away(name));
    let unset_here = unset_here.map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    let dialogs = preset.rules.iter().filter(|(_, rule)| rule.state == Some(State::Blocked) && !rule.off);
    Plan {
        command,
        unattended: preset.run.unattended.clone(),
        set: launch.set,
        dropped: dropped.map(|(name, _)| name.to_string_lossy().into_owned()).collect(),
        unset_here,
        unset: launch.unset,
        session_hooks: own.is_some(),
        session_tools: tools.is_some(),
        tools_note: preset.mcp.as_ref().and_then(|spec| spec.note.clone()),
        files: own
            .iter()
            .flat_map(|hooks| &hooks.files)
            .chain(tools.iter().flat_map(|tools| &tools.files))
            .map(|(name, _)| name.clone())
            .collect(),
        first_prompt: match (preset.prompt.first, &preset.prompt.flag) {
            (FirstPrompt::Arg, _) => "as the last argument".into(),
            (FirstPrompt::Flag, Some(flag)) => format!("behind {flag}"),
            (FirstPrompt::Flag | FirstPrompt::None, _) => "typed, once it is ready".into(),
        },
        config_dir: config_dir(here, agent).map(|dir| dir.display().to_string()),
        instructions: preset.instructions.clone(),
        dialogs: dialogs
            .map(|(id, rule)| Dialog {
                id: id.clone(),
                kind: rule.kind.clone(),
                answer: rule.answer.is_some(),
            })
            .collect(),
    }
}

/// Where the agent keeps its settings.
fn config_dir(here: &Here, agent: &Agent) -> Option<PathBuf> {
    let config = &agent.preset.config;
    let variable = |wanted: &str| {
        let found = here.env.iter().find(|(name, _)| name == wanted).map(|(_, value)| PathBuf::from(value));
        found.filter(|value| value.is_absolute())
    };
    let moved = config.env.as_deref().and_then(variable);
    moved.or_else(|| {
        let dir = Path::new(config.dir.as_deref()?);
        match dir.strip_prefix("~") {
            Ok(below) => Some(variable("HOME")?.join(below)),
            Err(_) => Some(dir.to_owned()),
        }
    })
}
