//! All scenes that were asked for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Serialize;

use super::scene::Scene;
use super::stage::{Actor, Job, OUTCOME, Outcome};
use crate::agent::AgentFile;
use crate::install;
use crate::namespace::{self, World};
use crate::pool;

/// What to try.
#[derive(Debug, Clone)]
pub struct Request {
    /// Scenes; all if empty.
    pub scenes: Vec<String>,
    /// Releases to use of agents, where not the newest.
    pub releases: Vec<(String, String)>,
    /// How many at a time.
    pub jobs: usize,
    /// A scene that fails is played once more: the machine may have been too busy.
    pub twice: bool,
    /// Where everything is kept.
    pub keep: Option<PathBuf>,
    /// The directory with the programs.
    pub bins: PathBuf,
    /// The repository.
    pub repository: PathBuf,
}

/// How one scene went.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The scene.
    pub scene: String,
    /// What it shows.
    pub shows: String,
    /// Agents and their releases.
    pub agents: Vec<String>,
    /// How it went, as far as it went.
    pub outcome: Outcome,
    /// Why it did not go to its end.
    pub error: Option<String>,
    /// It was not played, because a program cannot be had.
    pub skipped: bool,
}

impl Row {
    /// It went to its end, and nothing is wrong.
    pub fn passes(&self) -> bool {
        self.error.is_none() && self.outcome.faults.is_empty()
    }

    /// What is wrong, if anything is.
    pub fn complaints(&self) -> impl Iterator<Item = &String> {
        self.outcome.faults.iter().chain(&self.error)
    }
}

/// Plays everything and tells how each scene went as soon as it is over.
pub fn run(request: &Request, tell: &(dyn Fn(&Row) + Sync)) -> Result<Vec<Row>> {
    let mut scenes = Scene::all(&request.repository.join("conformance/runs"))?;
    if let Some(unknown) = request.scenes.iter().find(|name| !scenes.contains_key(*name)) {
        bail!(
            "there is no scene {unknown:?}; there are {}",
            scenes.into_keys().collect::<Vec<_>>().join(", ")
        );
    }
    scenes.retain(|name, _| request.scenes.is_empty() || request.scenes.contains(name));
    let mut rows = pool::drain(request.jobs, scenes.into_iter().collect(), |(name, scene)| {
        let mut row = play(request, &name, &scene);
        if !row.passes() && !row.skipped && request.twice {
            row = play(request, &name, &scene);
        }
        tell(&row);
        row
    });
    rows.sort_by(|a, b| a.scene.cmp(&b.scene));
    Ok(rows)
}

fn play(request: &Request, name: &str, scene: &Scene) -> Row {
    let mut row = Row {
        scene: name.to_owned(),
        shows: scene.shows.clone(),
        agents: Vec::new(),
        outcome: Outcome::default(),
        error: None,
        skipped: false,
    };
    let (actors, places) = match actors(request, scene) {
        Ok(found) => found,
        Err(error) => {
            (row.error, row.skipped) = (Some(format!("{error:#}")), true);
            return row;
        }
    };
    row.agents = actors.iter().map(|actor| format!("{} {}", actor.name, actor.version)).collect();
    let job = Job { scene: scene.clone(), agents: actors, watched: request.keep.is_some() };
    match try_play(request, name, &job, &places) {
        Ok(outcome) => row.outcome = outcome,
        Err(error) => row.error = Some(format!("{error:#}")),
    }
    row
}

/// The agents of a scene, and where they are installed.
fn actors(request: &Request, scene: &Scene) -> Result<(Vec<Actor>, Vec<PathBuf>)> {
    let dir = request.repository.join("conformance/agents");
    let names: BTreeSet<&String> =
        scene.agents.iter().chain(scene.plays.iter().map(|play| &play.agent)).collect();
    let mut found = (Vec::new(), Vec::new());
    for name in names {
        let file = AgentFile::read(&dir, name)?;
        let wanted = request.releases.iter().find(|(agent, _)| agent == name);
        let version = wanted
            .map_or_else(|| Ok(file.versions()?.remove(0)), |(_, version)| anyhow::Ok(version.clone()))?;
        let agent = file.resolve_run(&version, scene.fresh)?;
        found.1.push(install::installed(name, &version, &agent.install)?);
        found.0.push(Actor { name: name.clone(), version, agent });
    }
    Ok(found)
}

fn try_play(request: &Request, name: &str, job: &Job, places: &[PathBuf]) -> Result<Outcome> {
    let temporary = tempfile::Builder::new().prefix("ostler-runs-").tempdir()?;
    let out = request.keep.as_ref().map_or_else(|| temporary.path().to_owned(), |keep| keep.join(name));
    if out.exists() && request.keep.is_some() {
        std::fs::remove_dir_all(&out)?;
    }
    std::fs::create_dir_all(&out)?;
    let out = out.canonicalize()?;
    std::fs::write(out.join("job.json"), serde_json::to_vec(job)?)?;
    let agents: Vec<(&str, &Path)> =
        job.agents.iter().zip(places).map(|(actor, place)| (actor.name.as_str(), place.as_path())).collect();
    namespace::play(&World {
        bins: &request.bins,
        agents: &agents,
        out: &out,
        trap: &request.repository.join("conformance/trap.txt"),
        mute: false,
        command: "runs-stage",
    })?;
    let outcome = std::fs::read(out.join(OUTCOME)).context("there is no outcome")?;
    serde_json::from_slice(&outcome).context("the outcome is broken")
}
