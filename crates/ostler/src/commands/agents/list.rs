//! `ostler agents list`

use std::process::ExitCode;

use ostler_agents::choice::Installation;
use ostler_agents::{Agent, Capability, Cost};
use ostler_daemon::choice::environment_of;
use ostler_daemon::identity::{Identity, identify, remembered};
use serde::Serialize;
use tokio::task::JoinSet;

use super::{Here, runtime};
use crate::error::CommandError;
use crate::output;

/// One agent.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    title: String,
    installed: bool,
    program: Option<String>,
    /// Why its program cannot be used.
    problem: Option<String>,
    version: Option<String>,
    priority: i32,
    cost: Cost,
    /// The highest tier of which nothing is missing.
    tier: u8,
    capabilities: Vec<Capability>,
    hooks: bool,
    /// The files that say so, lowest first.
    files: Vec<String>,
}

pub(super) fn run(probe: bool, json: bool) -> Result<ExitCode, CommandError> {
    let here = Here::look()?;
    let mut rows: Vec<Row> = here.presets.registry.agents().map(|agent| row(&here, agent)).collect();
    if probe {
        ask(&here, &mut rows)?;
    }
    if json {
        output::json(&rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    rows.sort_by_key(|row| (!row.installed, std::cmp::Reverse(row.priority), row.name.clone()));
    output::print(&table(&rows))?;
    let unknown = rows.iter().any(|row| row.installed && row.version.is_none() && row.problem.is_none());
    if unknown && !probe {
        output::print("\nostler agents list --probe asks programs for their versions\n")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn row(here: &Here, agent: &Agent) -> Row {
    let (program, problem) = match here.standing(agent) {
        Installation::Installed(program) => (Some(program), None),
        Installation::Missing(reason) | Installation::Wrong { reason, .. } => (None, Some(reason)),
    };
    let known = program.as_ref().and_then(|program| remembered(&here.home, agent, program));
    let mut row = Row {
        name: agent.name.clone(),
        title: agent.title().to_owned(),
        installed: program.is_some(),
        program: program.map(|program| program.display().to_string()),
        problem,
        version: None,
        priority: agent.preset.priority,
        cost: agent.preset.cost,
        tier: agent.tier(),
        capabilities: agent.capabilities(),
        hooks: agent.preset.hooks.as_ref().is_some_and(|hooks| !hooks.informational),
        files: agent.files.clone(),
    };
    if let Some(identity) = known {
        row.set_identity(&identity);
    }
    row
}

impl Row {
    fn set_identity(&mut self, identity: &Identity) {
        self.version = identity.version.as_ref().map(ToString::to_string);
        self.problem = identity.complaint().map(|complaint| format!("not {}: {complaint}", self.title));
    }
}

/// Asks all programs, as many at once as the machine can run: they have a limited time to answer.
fn ask(here: &Here, rows: &mut [Row]) -> Result<(), CommandError> {
    let at_once = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    runtime()?.block_on(async {
        let mut asked = JoinSet::new();
        for index in 0..rows.len() {
            let agent = here.presets.registry.get(&rows[index].name).cloned();
            let Some((agent, program)) = agent.zip(rows[index].program.clone()) else { continue };
            let (home, cwd, env) = (here.home.clone(), here.cwd.clone(), environment_of(&agent, &here.env));
            asked.spawn(async move { (index, identify(&home, &agent, program.as_ref(), &env, &cwd).await) });
            if asked.len() >= at_once
                && let Some(Ok((index, identity))) = asked.join_next().await
            {
                rows[index].set_identity(&identity);
            }
        }
        while let Some(Ok((index, identity))) = asked.join_next().await {
            rows[index].set_identity(&identity);
        }
    });
    Ok(())
}

fn table(rows: &[Row]) -> String {
    let cells: Vec<[String; 6]> = rows.iter().map(cells).collect();
    let head = ["NAME", "TITLE", "VERSION", "TIER", "HOOKS", "PROGRAM"].map(str::to_owned);
    let width = |column: usize| {
        std::iter::once(&head).chain(&cells).map(|row| row[column].chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..5).map(width).collect();
    let line = |row: &[String; 6]| {
        let padded = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}  "));
        padded.collect::<String>() + &row[5] + "\n"
    };
    std::iter::once(&head).chain(&cells).map(line).collect()
}

fn cells(row: &Row) -> [String; 6] {
    let program = match (&row.program, &row.problem) {
        (Some(program), Some(problem)) => format!("{program} ({problem})"),
        (Some(program), None) => program.clone(),
        (None, _) => "not installed".into(),
    };
    let beyond = row.capabilities.iter().filter(|can| can.has && can.tier > row.tier).map(|can| can.name);
    let beyond: Vec<&str> = beyond.collect();
    let more = if beyond.is_empty() { String::new() } else { format!(" +{}", beyond.join(" +")) };
    let own: Vec<&str> = row.files.iter().map(String::as_str).filter(|file| file.starts_with('/')).collect();
    let from = if own.is_empty() { String::new() } else { format!("  [{}]", own.join(", ")) };
    [
        row.name.clone(),
        output::plain(&row.title),
        row.version.clone().unwrap_or_else(|| if row.installed { "?".into() } else { "-".into() }),
        format!("{}{more}", row.tier),
        if row.hooks { "yes" } else { "no" }.into(),
        output::plain(&format!("{program}{from}")),
    ]
}
