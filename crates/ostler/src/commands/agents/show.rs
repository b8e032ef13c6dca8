//! `ostler agents show`

use std::process::ExitCode;

use ostler_agents::{Capability, Preset};
use serde::Serialize;

use super::Here;
use crate::error::{CommandError, Kind};
use crate::output;

#[derive(Debug, Serialize)]
struct Shown<'a> {
    name: &'a str,
    files: &'a [String],
    tier: u8,
    capabilities: Vec<Capability>,
    preset: &'a Preset,
}

pub(super) fn run(name: &str, json: bool) -> Result<ExitCode, CommandError> {
    let here = Here::look()?;
    let agent = here.agent(name)?;
    if json {
        output::json(&Shown {
            name: &agent.name,
            files: &agent.files,
            tier: agent.tier(),
            capabilities: agent.capabilities(),
            preset: &agent.preset,
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = agent.to_toml().map_err(|error| CommandError::new(Kind::Internal, error.to_string()))?;
    let files: Vec<String> =
        agent.files.iter().map(|file| format!("# from {}", output::plain(file))).collect();
    let files = files.join("\n");
    let change = here.home.agents().join(format!("{}.toml", agent.name));
    let hint = format!("# to change a field, write it to {}\n", output::plain(&change.display().to_string()));
    output::print(&format!("{files}\n{hint}\n{}", ostler_screen::SafeText::new(&text).as_str()))?;
    Ok(ExitCode::SUCCESS)
}
