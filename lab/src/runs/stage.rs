//! A scene of a run, played inside its world.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ostler_testkit::model_server::{Entry, Event, Log, ModelServer, Play};
use regex::Regex;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::judge::{Evidence, RequestText, Seen, faults};
use super::scene::{Scene, Victim};
use crate::agent::{Agent, Places};
use crate::driver::home;
use crate::stage::{CWD, HOME, OUT, prepare_home, prepare_project};

/// How often it is looked whether something has happened.
const GLANCE: Duration = Duration::from_millis(100);
/// Seconds in which what is to be killed has to be there.
const DEED: u64 = 120;
/// After this a run that is not over is left alone.
const PATIENCE: Duration = Duration::from_mins(5);
/// How often screens are kept.
const LOOK: Duration = Duration::from_secs(2);
/// What came of the scene.
pub const OUTCOME: &str = "outcome.json";

/// What is to be played.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// The scene.
    pub scene: Scene,
    /// The agents in it.
    pub agents: Vec<Actor>,
    /// The agents' screens are kept, for people.
    pub watched: bool,
}

/// An agent in a scene.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Actor {
    /// Its name.
    pub name: String,
    /// Its release.
    pub version: String,
    /// All else.
    pub agent: Agent,
}

/// How a scene went.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// What is wrong.
    pub faults: Vec<String>,
    /// Seconds that the run took.
    pub seconds: f64,
    /// Seconds from the first failure of a provider to the next agent's first request, where there was a switch.
    pub switch: Option<f64>,
}

/// The world of a scene, with what serves it.
struct World<'a> {
    job: &'a Job,
    servers: Vec<(String, ModelServer)>,
    env: Vec<(String, String)>,
}

/// Plays the job described in a file and leaves the outcome beside it.
pub fn play(spec: &Path) -> Result<()> {
    let job: Job = serde_json::from_slice(&std::fs::read(spec)?)?;
    let out = Path::new(OUT);
    prepare_project()?;
    for (name, text) in &job.scene.files {
        std::fs::write(Path::new(CWD).join(name), text)?;
    }
    let mut world = World { job: &job, servers: Vec::new(), env: Vec::new() };
    for actor in &job.agents {
        world.set_up(actor)?;
    }
    let played = world.evidence();
    world.keep_traces(out);
    let evidence = played?;
    std::fs::write(out.join("evidence.json"), serde_json::to_vec_pretty(&evidence)?)?;
    let outcome = Outcome {
        faults: faults(&job.scene, &evidence),
        seconds: evidence.first.seconds,
        switch: world.switch(&evidence.told),
    };
    std::fs::write(out.join(OUTCOME), serde_json::to_vec_pretty(&outcome)?)?;
    Ok(())
}

impl World<'_> {
    /// Starts the model of an agent, and puts its program and its files where it finds them.
    fn set_up(&mut self, actor: &Actor) -> Result<()> {
        let Actor { name, version, agent } = actor;
        let mut settings = agent.server.clone();
        settings.recitals.clone_from(&self.job.scene.recitals);
        let plays = self.job.scene.plays.iter().filter(|play| play.agent == *name);
        let of_task = &self.job.scene.task;
        settings.plays = plays
            .map(|play| Play {
                prompt: play.prompt.as_ref().unwrap_or(of_task).trim().to_owned(),
                script: play.script.clone(),
                aside: false,
            })
            .collect();
        let log = Path::new(OUT).join(format!("model-{name}.jsonl"));
        let server = ModelServer::start(0, settings, Some(&log))?;
        let install = format!("/opt/agents/{name}");
        let places = Places { port: server.address().port(), home: HOME, cwd: CWD, agent: &install, version };
        prepare_home(agent, &places)?;
        let bin = Path::new(HOME).join("bin");
        std::fs::create_dir_all(&bin)?;
        std::os::unix::fs::symlink(places.fill(&agent.launch.program), bin.join(name))?;
        let env = agent.launch.env.iter().map(|(name, value)| (name.clone(), places.fill(value)));
        self.env
            .extend(env.filter(|(name, value)| !value.is_empty() && !self.job.scene.without.contains(name)));
        self.servers.push((name.clone(), server));
        Ok(())
    }

    fn evidence(&self) -> Result<Evidence> {
        let scene = &self.job.scene;
        let mut evidence = Evidence { first: self.run(&scene.check, true)?, ..Evidence::default() };
        evidence.told = self.told()?;
        evidence.at = self.log()?.now();
        kill_process(self.daemon()?, Signal::KILL)?;
        evidence.providers_after = self.json(&["providers", "--json"])?;
        if let Some(then) = &scene.then {
            evidence.second = Some(self.run(&then.check, false)?);
        }
        Ok(evidence)
    }

    /// Gives the task to `ostler run` and waits for the end.
    fn run(&self, check: &str, first: bool) -> Result<Seen> {
        let scene = &self.job.scene;
        let agents = scene.agents.join(",");
        let mut command = self.command(&["run", "--agent", &agents, "--unattended"]);
        if scene.criteria.is_empty() {
            command.args([&scene.task, "--check", check]);
        } else {
            let task = serde_json::json!({
                "id": "scene", "instructions": scene.task, "criteria": scene.criteria, "checks": [check],
            });
            let file = Path::new(HOME).join("task.json");
            std::fs::write(&file, serde_json::json!({ "tasks": [task] }).to_string())?;
            command.arg("--task").arg(file);
        }
        let began = Instant::now();
        let child = command.args(&scene.args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        if first && scene.kill.is_some() {
            self.kill()?;
        }
        let done = self.finish(child)?;
        let seconds = began.elapsed().as_secs_f64();
        let runs = self.json(&["runs", "list", "--all", "--json"])?;
        let run = runs.as_array().and_then(|runs| runs.last()).cloned().unwrap_or_default();
        let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        Ok(Seen { run, said, seconds, providers: self.json(&["providers", "--json"])? })
    }

    /// Waits for a command that may not end by itself.
    fn finish(&self, mut child: Child) -> Result<Output> {
        let (began, mut looks) = (Instant::now(), 0);
        while child.try_wait()?.is_none() {
            if began.elapsed() > PATIENCE {
                child.kill()?;
                break;
            }
            if self.job.watched && began.elapsed() > LOOK * looks {
                looks += 1;
                let _ = self.look();
            }
            std::thread::sleep(GLANCE);
        }
        Ok(child.wait_with_output()?)
    }

    /// Adds the screens of all agents to a file.
    fn look(&self) -> Result<()> {
        let mut file =
            std::fs::File::options().create(true).append(true).open(Path::new(OUT).join("screens.txt"))?;
        let sessions = self.json(&["list", "--json"])?;
        for session in sessions.as_array().into_iter().flatten() {
            let id = session["id"].as_str().unwrap_or_default();
            let screen = crate::driver::output(&mut self.command(&["screen", id]))?;
            let rows = screen.lines().filter(|row| !row.trim().is_empty()).collect::<Vec<_>>().join("\n");
            writeln!(file, "== {:.1} {} {}\n{rows}", self.log()?.now(), session["agent"], session["state"])?;
        }
        Ok(())
    }

    /// Kills what the scene says, when it says.
    fn kill(&self) -> Result<()> {
        let Some(kill) = &self.job.scene.kill else { return Ok(()) };
        let (_, server) =
            self.servers.iter().find(|(name, _)| *name == kill.agent).context("no such agent")?;
        let asked = |entry: &Entry| matches!(entry.event, Event::Received { turn: Some(_), .. });
        let deadline = Instant::now() + Duration::from_secs(DEED);
        while server.log().entries().into_iter().filter(asked).count() < kill.requests {
            if Instant::now() > deadline {
                bail!("{} did not ask its model {} times", kill.agent, kill.requests);
            }
            std::thread::sleep(GLANCE);
        }
        let victim = match kill.what {
            Victim::Daemon => self.daemon()?,
            Victim::Agent => {
                let sessions = self.json(&["list", "--json"])?;
                let session = sessions.as_array().and_then(|sessions| sessions.first()).cloned();
                pid(&session.unwrap_or_default()).context("there is no agent to kill")?
            }
        };
        Ok(kill_process(victim, Signal::KILL)?)
    }

    fn daemon(&self) -> Result<Pid> {
        pid(&self.json(&["daemon", "status", "--json"])?).context("there is no daemon to kill")
    }

    /// What models were told, in order, without what the agents add. A request that is tried again tells nothing new.
    fn told(&self) -> Result<Vec<RequestText>> {
        let mut all = Vec::new();
        for (name, server) in &self.servers {
            let actor = self.job.agents.iter().find(|actor| actor.name == *name);
            let adds = actor.map(|actor| &actor.agent.delivery.adds).into_iter().flatten();
            let adds: Vec<Regex> = adds.map(|add| Regex::new(add)).collect::<Result<_, _>>()?;
            let bare = |text: String, add: &Regex| add.replace_all(&text, "").into_owned();
            let mut last = None;
            for entry in server.log().entries() {
                let Event::Received { turn: Some(turn), fresh, prompts, .. } = entry.event else { continue };
                let Some(text) = fresh.last().cloned() else { continue };
                let text = adds.iter().fold(text, bare);
                if last.replace((turn, prompts, text.clone())) != Some((turn, prompts, text.clone())) {
                    all.push(RequestText { at: entry.at, agent: name.clone(), text });
                }
            }
        }
        all.sort_by(|a, b| a.at.total_cmp(&b.at));
        Ok(all)
    }

    /// Seconds from a model's first failure to the first request to another.
    fn switch(&self, told: &[RequestText]) -> Option<f64> {
        let failures = self.servers.iter().filter_map(|(name, server)| {
            let failed =
                |entry: &Entry| matches!(entry.event, Event::LastByte { status, .. } if status != 200);
            server.log().entries().into_iter().find(failed).map(|entry| (name.clone(), entry.at))
        });
        let (name, at) = failures.min_by(|a, b| a.1.total_cmp(&b.1))?;
        told.iter().find(|told| told.agent != name && told.at > at).map(|told| told.at - at)
    }

    fn log(&self) -> Result<&Log> {
        Ok(self.servers.first().context("there is no model")?.1.log())
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("/opt/bin/ostler");
        let path = std::env::var("PATH").unwrap_or_default();
        command.args(args).current_dir(CWD).stdin(Stdio::null());
        command.env("OSTLER_HOME", home()).env("PATH", format!("{HOME}/bin:{path}"));
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    fn json(&self, args: &[&str]) -> Result<Value> {
        let text = crate::driver::output(&mut self.command(args))?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Copies what helps to understand a failure.
    fn keep_traces(&self, out: &Path) {
        for (args, file) in [
            (&["runs", "list", "--all", "--json"][..], "runs.json"),
            (&["messages", "list", "--all", "--json"], "messages.json"),
            (&["events", "--json"], "events.jsonl"),
            (&["daemon", "stop"], "stop.txt"),
        ] {
            if let Ok(done) = self.command(args).output() {
                let _ = std::fs::write(out.join(file), [done.stdout, done.stderr].concat());
            }
        }
        for dir in [home(), Path::new(HOME).to_owned()] {
            let _ = Command::new("cp").arg("-r").arg(dir).arg(out).stderr(Stdio::null()).status();
        }
    }
}

fn pid(told: &Value) -> Option<Pid> {
    told["pid"].as_i64().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?))
}
