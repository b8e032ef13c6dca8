//! All the scenes that were asked for, a few at a time.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::agent::AgentFile;
use crate::install;
use crate::namespace::{self, World};
use crate::pool;
use crate::recording;
use crate::scene::{Scene, Variant, directory};
use crate::stage::{HARM, Job, LIVE};

/// What to play.
#[derive(Debug, Clone)]
pub struct Request {
    /// Agents; all if empty.
    pub agents: Vec<String>,
    /// Scenes; all if empty.
    pub scenes: Vec<Scene>,
    /// Only this release.
    pub version: Option<String>,
    /// The terminal's manners.
    pub variants: Vec<Variant>,
    /// How many at a time.
    pub jobs: usize,
    /// Where raw results are kept.
    pub keep: Option<PathBuf>,
    /// A scene fails if something harmful was said while it was played.
    pub check: bool,
    /// Recordings of scenes that went well replace those in the repository.
    pub update: bool,
    /// The directory with the programs.
    pub bins: PathBuf,
    /// The repository.
    pub repository: PathBuf,
}

/// How one scene went.
#[derive(Debug)]
pub struct Outcome {
    /// `agent version scene`
    pub title: String,
    /// Seconds it took.
    pub seconds: f64,
    /// Why there is no recording.
    pub error: Option<String>,
    /// What ostler said while it was played, against the truth.
    pub live: Option<String>,
    /// It was not played, because the program cannot be had.
    pub skipped: bool,
}

impl Outcome {
    /// A line about it.
    pub fn line(&self) -> String {
        let said = self.error.as_deref().or(self.live.as_deref()).unwrap_or("ok");
        format!("{:40} {:5.1} s  {said}", self.title, self.seconds)
    }
}

/// Plays everything and tells how each scene went as soon as it is over.
pub fn run(request: &Request, tell: &(dyn Fn(&Outcome) + Sync)) -> Result<Vec<Outcome>> {
    Ok(pool::drain(request.jobs, queue(request, tell)?, |(job, dir)| {
        let began = Instant::now();
        let mut played = play(request, &job, &dir);
        if played.is_err() && request.check {
            // A busy machine may have been too slow for the scene; twice is no accident.
            played = play(request, &job, &dir);
        }
        let (live, error) = match played {
            Ok(live) => (live, None),
            Err(error) => (None, Some(format!("{error:#}"))),
        };
        let seconds = began.elapsed().as_secs_f64();
        let outcome = Outcome { title: title(&job), seconds, error, live, skipped: false };
        tell(&outcome);
        outcome
    }))
}

/// Lists the scenes that do not apply: agent, scene, why.
pub fn skipped(dir: &Path) -> Result<Vec<(String, String, String)>> {
    let mut skipped = Vec::new();
    for name in AgentFile::names(dir)? {
        let file = AgentFile::read(dir, &name)?;
        for version in file.versions()? {
            for (scene, why) in file.resolve(&version, Scene::Reply)?.skip {
                skipped.push((format!("{name} {version}"), scene.name().to_owned(), why));
            }
        }
    }
    Ok(skipped)
}

fn title(job: &Job) -> String {
    format!("{} {} {}", job.name, job.version, directory(job.scene, job.variant))
}

/// The jobs, the longest last: they are taken from the end.
fn queue(request: &Request, tell: &(dyn Fn(&Outcome) + Sync)) -> Result<Vec<(Job, PathBuf)>> {
    let dir = request.repository.join("conformance/agents");
    let names = if request.agents.is_empty() { AgentFile::names(&dir)? } else { request.agents.clone() };
    let scenes = if request.scenes.is_empty() { Scene::all().to_vec() } else { request.scenes.clone() };
    let mut jobs = Vec::new();
    for name in names {
        let file = AgentFile::read(&dir, &name)?;
        let mut versions = file.versions()?;
        if let Some(wanted) = &request.version {
            // A release that no file names is tried where it is clear whose it is.
            let is_its = versions.contains(wanted) || request.agents.len() == 1;
            versions = is_its.then(|| wanted.clone()).into_iter().collect();
        }
        for version in versions {
            let plain = file.resolve(&version, Scene::Reply)?;
            let installed = match install::installed(&name, &version, &plain.install) {
                Ok(dir) => dir,
                Err(error) => {
                    tell(&Outcome {
                        title: format!("{name} {version}"),
                        seconds: 0.0,
                        error: Some(format!("{error:#}")),
                        live: None,
                        skipped: true,
                    });
                    continue;
                }
            };
            for &scene in &scenes {
                let agent = file.resolve(&version, scene)?;
                let is_had = Scene::USUAL.contains(&scene) || agent.more_scenes.contains(&scene);
                if !is_had || agent.skip.contains_key(&scene) {
                    continue;
                }
                for &variant in &request.variants {
                    let secrets = recording::secrets(&[&installed, &request.bins, &request.repository]);
                    let (name, version, agent) = (name.clone(), version.clone(), agent.clone());
                    jobs.push((Job { name, version, scene, variant, agent, secrets }, installed.clone()));
                }
            }
        }
    }
    jobs.sort_by_key(|(job, _)| (length(job.scene), job.name.clone()));
    Ok(jobs)
}

fn length(scene: Scene) -> u32 {
    match scene {
        Scene::Idle60 => 3,
        Scene::Silence | Scene::RateLimit | Scene::LongTool | Scene::Menus | Scene::Retries => 2,
        _ => 1,
    }
}

fn play(request: &Request, job: &Job, installed: &Path) -> Result<Option<String>> {
    let place = Path::new(&job.name).join(&job.version).join(directory(job.scene, job.variant));
    let temporary = tempfile::Builder::new().prefix("ostler-scene-").tempdir()?;
    let out = match &request.keep {
        Some(keep) => keep.join(&place),
        None => temporary.path().to_owned(),
    };
    if out.exists() && request.keep.is_some() {
        std::fs::remove_dir_all(&out)?;
    }
    std::fs::create_dir_all(&out)?;
    let out = out.canonicalize()?;
    std::fs::write(out.join("job.json"), serde_json::to_vec(job)?)?;
    namespace::play(&World {
        bins: &request.bins,
        agents: &[(&job.name, installed)],
        out: &out,
        trap: &request.repository.join("conformance/trap.txt"),
        mute: job.variant == Variant::Mute,
        command: "stage",
    })?;
    if request.update {
        let target = request.repository.join("recordings").join(&place);
        std::fs::create_dir_all(&target)?;
        for file in [recording::FILE, recording::TRUTH] {
            std::fs::copy(out.join(file), target.join(file))
                .with_context(|| format!("cannot keep {file}"))?;
        }
    }
    if let Some(harm) = std::fs::read_to_string(out.join(HARM)).ok().filter(|_| request.check) {
        bail!("ostler was wrong: {harm}");
    }
    Ok(std::fs::read_to_string(out.join(LIVE)).ok())
}
