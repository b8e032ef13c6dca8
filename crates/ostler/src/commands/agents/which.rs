//! `ostler agents which`

use std::process::ExitCode;

use ostler_agents::choice::{Considered, NoChoice, Step};
use ostler_daemon::choice::{Ask, Chosen, choose};
use serde::Serialize;

use super::{Here, runtime};
use crate::error::{CommandError, Kind};
use crate::output;

/// What programs are told.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    agent: Option<&'a str>,
    program: Option<String>,
    version: Option<String>,
    step: Option<Step>,
    because: &'a [String],
    error: Option<&'a str>,
    hint: Option<&'a str>,
    considered: &'a [Considered],
}

pub(super) fn run(agent: Option<&str>, role: Option<&str>, json: bool) -> Result<ExitCode, CommandError> {
    let here = Here::look()?;
    let ask = Ask { agent, role, env: &here.env, cwd: &here.cwd };
    match runtime()?.block_on(choose(&here.home, &here.presets.registry, &here.settings, ask)) {
        Ok(chosen) => {
            tell_choice(&chosen, json)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(none) => {
            tell_none(&none, json)?;
            Err(CommandError::new(Kind::Failed, none.reason).hint(none.hint))
        }
    }
}

fn tell_choice(Chosen { choice, identity }: &Chosen, json: bool) -> Result<(), CommandError> {
    let version = identity.version.as_ref().map(ToString::to_string);
    if json {
        return output::json(&Answer {
            agent: Some(&choice.agent.name),
            program: Some(choice.program.display().to_string()),
            version,
            step: Some(choice.step),
            because: &choice.because,
            error: None,
            hint: None,
            considered: &choice.considered,
        });
    }
    let version = version.map(|version| format!(" {version}")).unwrap_or_default();
    let head =
        format!("{} ({}{version}), {}", choice.agent.name, choice.agent.title(), choice.program.display());
    output::print(&format!("{}\n\n{}", output::plain(&head), steps(&choice.considered)))
}

fn tell_none(none: &NoChoice, json: bool) -> Result<(), CommandError> {
    if json {
        return output::json(&Answer {
            agent: None,
            program: None,
            version: None,
            step: None,
            because: &[],
            error: Some(&none.reason),
            hint: Some(&none.hint),
            considered: &none.considered,
        });
    }
    output::print(&format!("none\n\n{}", steps(&none.considered)))
}

/// What everybody said, in the order in which they are asked.
fn steps(considered: &[Considered]) -> String {
    let line = |one: &Considered| {
        let mark = if one.decides { "=>" } else { "  " };
        format!("{mark} {:16} {}\n", name(one.step), output::plain(&one.said))
    };
    considered.iter().map(line).collect()
}

fn name(step: Step) -> &'static str {
    match step {
        Step::Command => "command",
        Step::Environment => "OSTLER_AGENT",
        Step::Tier => "OSTLER_TIER",
        Step::ProjectRole => "project role",
        Step::UserRole => "user role",
        Step::ProjectDefault => "project default",
        Step::UserDefault => "user default",
        Step::Installed => "installed",
    }
}
