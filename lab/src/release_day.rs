//! What is new in the newest releases: installed beside the old ones, played, and compared.
//!
//! The registries say which release is the newest. Every scene is played with it, and its recording is held against that
//! of the release before ([`traits`]); it is sent messages of every kind ([`crate::deliver`]); what both programs say of their options, and which tools they offer their models, is
//! asked of both ([`surface`]). On request the recordings are kept, and the files that name releases are changed ([`keep`]).

pub mod keep;
pub mod registry;
pub mod surface;
pub mod traits;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::agent::AgentFile;
use crate::deliver::{self, Effort, Part};
use crate::jobs::{self, Outcome};
use crate::recording;
use crate::scene::Scene;
use surface::Surface;
use traits::Traits;

/// Messages that a release is sent one after the other.
const MESSAGES: usize = 40;

/// What to do.
#[derive(Debug, Clone)]
pub struct Request {
    /// Agents; all if empty.
    pub agents: Vec<String>,
    /// Try this release instead of the newest.
    pub version: Option<String>,
    /// Scenes; all if empty.
    pub scenes: Vec<Scene>,
    /// How many scenes at a time.
    pub jobs: usize,
    /// Keep the recordings, and name the release in the files of the agent.
    pub keep: bool,
    /// Where everything that was written goes.
    pub out: PathBuf,
    /// The directory with the programs.
    pub bins: PathBuf,
    /// The repository.
    pub repository: PathBuf,
}

/// How it went with one agent.
#[derive(Debug, Default)]
pub struct Report {
    /// What people are told.
    pub text: String,
    /// Scenes that could not be played, or in which something harmful was said.
    pub failed: usize,
}

/// Tries the newest release of each agent, and tells of each as soon as it is known.
pub fn run(request: &Request, tell: &(dyn Fn(&str) + Sync)) -> Result<Vec<Report>> {
    let dir = request.repository.join("conformance/agents");
    let names = if request.agents.is_empty() { AgentFile::names(&dir)? } else { request.agents.clone() };
    let mut reports = Vec::new();
    for name in names {
        let report = one(request, &AgentFile::read(&dir, &name)?, tell)
            .unwrap_or_else(|error| Report { text: format!("{name}: {error:#}\n"), failed: 1 });
        tell(&report.text);
        reports.push(report);
    }
    Ok(reports)
}

fn one(request: &Request, file: &AgentFile, tell: &(dyn Fn(&str) + Sync)) -> Result<Report> {
    let name = &file.name;
    let known = file.versions()?;
    let newest = match &request.version {
        Some(version) => version.clone(),
        None => registry::newest(&file.resolve(&known[0], Scene::Reply)?.install)?,
    };
    if known[0] == newest && request.version.is_none() {
        return Ok(Report { text: format!("{name} {newest}: no newer release\n"), failed: 0 });
    }
    let before = known.iter().find(|version| **version != newest).unwrap_or(&known[0]);
    let mut report = Report { text: format!("{name} {newest}, against {before}\n"), failed: 0 };
    let play = |version: &str, scenes: Vec<Scene>| {
        let request = jobs::Request {
            agents: vec![name.clone()],
            scenes,
            version: Some(version.to_owned()),
            variants: vec![crate::scene::Variant::Status],
            jobs: request.jobs,
            keep: Some(request.out.clone()),
            check: true,
            update: request.keep && version == newest,
            bins: request.bins.clone(),
            repository: request.repository.clone(),
        };
        jobs::run(&request, &|outcome: &Outcome| tell(&outcome.line()))
    };
    for outcome in play(&newest, request.scenes.clone())? {
        if let Some(error) = &outcome.error {
            report.failed += 1;
            let _ =
                writeln!(report.text, "  {}: {}", outcome.title, error.lines().next().unwrap_or_default());
        }
    }
    play(before, vec![Scene::Reply])?;
    for row in messages(request, name, &newest)? {
        tell(&deliver::table::line(&row));
        if !row.passes() {
            report.failed += 1;
            let notes: Vec<&String> = row.outcome.tally.notes.iter().chain(&row.error).collect();
            let _ = writeln!(report.text, "  {}: {notes:?}", deliver::table::line(&row));
        }
    }
    let place = |version: &str| request.out.join(name).join(version);
    let surfaces = [before, &newest].map(|version| Surface::of(request, file, version, &place(version)));
    let [old, new] = surfaces;
    for line in surface::differences(&old?, &new?) {
        let _ = writeln!(report.text, "  {line}");
    }
    for (scene, lines) in scenes(request, name, before, &place(&newest))? {
        for line in lines {
            let _ = writeln!(report.text, "  {scene}: {line}");
        }
    }
    if request.keep && report.failed == 0 {
        keep::name_release(&request.repository, name, &newest)?;
        let _ = writeln!(report.text, "  kept; run `cargo lab score`");
    }
    Ok(report)
}

/// Sends the release what agents are sent: a new one may show or treat texts differently, which no scene tells.
fn messages(request: &Request, name: &str, newest: &str) -> Result<Vec<deliver::run::Row>> {
    let lookalikes = deliver::message::lookalikes(&request.repository)?;
    let trial = deliver::run::Request {
        agents: vec![name.to_owned()],
        version: Some(newest.to_owned()),
        parts: Part::USUAL.to_vec(),
        effort: Effort { seed: 1, messages: MESSAGES, cold: 2, rounds: 2, lookalikes, ..Effort::default() },
        jobs: request.jobs,
        again: true,
        keep: Some(request.out.clone()),
        bins: request.bins.clone(),
        repository: request.repository.clone(),
    };
    deliver::run::run(&trial, &|_| {}, &|_| {})
}

/// What differs in each scene from its recording of the release before.
fn scenes(request: &Request, name: &str, before: &str, played: &Path) -> Result<Vec<(String, Vec<String>)>> {
    let ostler = request.bins.join("ostler");
    let mut entries: Vec<PathBuf> = std::fs::read_dir(played)
        .with_context(|| format!("nothing was played: {}", played.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|dir| dir.join(recording::TRUTH).is_file())
        .collect();
    entries.sort();
    let mut all = Vec::new();
    for dir in entries {
        let scene = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let old = request.repository.join("recordings").join(name).join(before).join(&scene);
        let lines = if old.join(recording::TRUTH).is_file() {
            traits::differences(&Traits::of(&ostler, &old)?, &Traits::of(&ostler, &dir)?)
        } else {
            vec!["not recorded before".to_owned()]
        };
        all.push((scene, lines));
    }
    Ok(all)
}
