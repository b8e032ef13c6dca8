//! All parts for all agents that were asked for.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::job::{Effort, Job, OUTCOME, Outcome, Part};
use super::refused;
use crate::agent::AgentFile;
use crate::install;
use crate::namespace::{self, World};
use crate::pool;

/// What to try.
#[derive(Debug, Clone)]
pub struct Request {
    /// Agents; all if empty.
    pub agents: Vec<String>,
    /// Only this release.
    pub version: Option<String>,
    /// The parts.
    pub parts: Vec<Part>,
    /// How much.
    pub effort: Effort,
    /// How many parts at a time.
    pub jobs: usize,
    /// A part with a fault is played once more, and that counts; both are told.
    pub again: bool,
    /// Where everything is kept.
    pub keep: Option<PathBuf>,
    /// The directory with the programs.
    pub bins: PathBuf,
    /// The repository.
    pub repository: PathBuf,
}

/// How one part went for one agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// The agent.
    pub agent: String,
    /// Its release.
    pub version: String,
    /// The part.
    pub part: Part,
    /// How it went, as far as it went.
    pub outcome: Outcome,
    /// Where its messages came from.
    pub seed: u64,
    /// Why it did not go to its end.
    pub error: Option<String>,
}

impl Row {
    /// It went to its end, and nothing is wrong.
    pub fn passes(&self) -> bool {
        self.error.is_none() && self.outcome.tally.passes()
    }
}

/// Plays everything and tells how each part went as soon as it is over. A program that cannot be had is told too, and
/// left out: it proves nothing about ostler.
pub fn run(request: &Request, tell: &(dyn Fn(&Row) + Sync), tell_missing: &dyn Fn(&str)) -> Result<Vec<Row>> {
    let mut queue = queue(request, tell_missing)?;
    // Taken from the end: the longest first, so that none is left over when the others are done.
    queue.sort_by_key(|(job, _)| job.length());
    let mut rows = pool::drain(request.jobs, queue, |(job, installed)| {
        let mut row = play(request, &job, &installed);
        tell(&row);
        if request.again && !row.passes() {
            row = play(request, &job, &installed);
            tell(&row);
        }
        row
    });
    rows.sort_by(|a, b| (&a.agent, &a.version, a.part).cmp(&(&b.agent, &b.version, b.part)));
    Ok(rows)
}

fn queue(request: &Request, tell_missing: &dyn Fn(&str)) -> Result<Vec<(Job, PathBuf)>> {
    let dir = request.repository.join("conformance/agents");
    let names = if request.agents.is_empty() { AgentFile::names(&dir)? } else { request.agents.clone() };
    let mut jobs = Vec::new();
    for name in names {
        let file = AgentFile::read(&dir, &name)?;
        let mut versions = file.versions()?;
        versions.retain(|version| request.version.as_ref().is_none_or(|wanted| wanted == version));
        if request.agents.len() == 1 && versions.is_empty() {
            // One that is not played usually.
            versions.extend(request.version.clone());
        }
        for version in versions {
            let install = file.resolve_delivery(&version, Part::Messages)?.install;
            let installed = match install::installed(&name, &version, &install) {
                Ok(installed) => installed,
                Err(error) => {
                    tell_missing(&format!("{name} {version} is left out: {error:#}"));
                    continue;
                }
            };
            for &part in &request.parts {
                let agent = file.resolve_delivery(&version, part)?;
                let asks_nothing = part == Part::Starts && agent.starts.is_empty();
                let refuses_nothing = part == Part::Refused && !agent.commands.contains_key(refused::COMMAND);
                let has_no_tools = part == Part::Mcp && !agent.delivery.tools;
                if asks_nothing || refuses_nothing || has_no_tools || agent.skip.contains_key(&part.scene()) {
                    continue;
                }
                let (name, version, effort) = (name.clone(), version.clone(), request.effort.clone());
                jobs.push((Job { name, version, part, agent, effort }, installed.clone()));
            }
        }
    }
    Ok(jobs)
}

fn play(request: &Request, job: &Job, installed: &Path) -> Row {
    let (outcome, error) = match try_play(request, job, installed) {
        Ok(outcome) => outcome,
        Err(error) => (Outcome::default(), Some(format!("{error:#}"))),
    };
    let (agent, version, seed) = (job.name.clone(), job.version.clone(), job.effort.seed);
    Row { agent, version, part: job.part, outcome, seed, error }
}

fn try_play(request: &Request, job: &Job, installed: &Path) -> Result<(Outcome, Option<String>)> {
    let temporary = tempfile::Builder::new().prefix("ostler-deliver-").tempdir()?;
    let out = match &request.keep {
        Some(keep) => keep.join(&job.name).join(&job.version).join(job.part.name()),
        None => temporary.path().to_owned(),
    };
    if out.exists() && request.keep.is_some() {
        std::fs::remove_dir_all(&out)?;
    }
    std::fs::create_dir_all(&out)?;
    let out = out.canonicalize()?;
    std::fs::write(out.join("job.json"), serde_json::to_vec(job)?)?;
    let played = namespace::play(&World {
        bins: &request.bins,
        agents: &[(&job.name, installed)],
        out: &out,
        trap: &request.repository.join("conformance/trap.txt"),
        mute: false,
        command: "deliver-stage",
    });
    // A part that broke off has an outcome as far as it went.
    match (std::fs::read(out.join(OUTCOME)), played) {
        (Ok(outcome), played) => {
            let outcome = serde_json::from_slice(&outcome).context("the outcome is broken")?;
            Ok((outcome, played.err().map(|error| format!("{error:#}"))))
        }
        (Err(_), Err(error)) => Err(error),
        (Err(error), Ok(())) => Err(error).context("there is no outcome"),
    }
}
