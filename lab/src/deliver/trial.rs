//! One part of a trial, played inside its world.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ostler_testkit::model_server::ModelServer;
use regex::Regex;

use super::job::{Job, OUTCOME, Outcome, Part};
use super::message::{self, Message};
use super::session::{await_heard, await_rest, send, send_with_request, start};
use super::tally::{Manners, Said, Sent, Tally, fates, tally};
use super::timing::{to_idle, turn_end, unfolded};
use super::{carry_on, context, kills, race, refused, resume, starts, talk, tools};
use crate::agent::{Agent, Dialog, Places};
use crate::driver::{Driver, home};
use crate::stage::{CWD, HOME, OUT, prepare_home, prepare_project};

/// Seconds in which a message has to arrive.
const TIMEOUT: u32 = 60;
/// Seconds a dialog is left alone.
const HOLD: f64 = 4.0;
/// Messages that may fail before nothing more is tried.
const PATIENCE: usize = 12;
/// Seconds that the log is watched for what comes late.
const AFTERMATH: f64 = 3.0;

/// How the agent is launched.
#[derive(Debug, Clone)]
pub struct Stage {
    /// Its name.
    pub agent: String,
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment.
    pub env: Vec<(String, String)>,
    /// Its requests offer no tools.
    pub without_tools: bool,
}

impl Stage {
    /// The stage of an agent.
    pub fn new(name: &str, agent: &Agent, places: &Places<'_>) -> Self {
        let launch = &agent.launch;
        Self {
            agent: name.to_owned(),
            program: places.fill(&launch.program),
            args: launch.args.iter().chain(&launch.more_args).map(|arg| places.fill(arg)).collect(),
            env: launch.env.iter().map(|(name, value)| (name.clone(), places.fill(value))).collect(),
            without_tools: agent.server.without_tools,
        }
    }
}

/// Plays the job described in a file and leaves the outcome beside it.
pub fn play(spec: &Path) -> Result<()> {
    let job: Job = serde_json::from_slice(&std::fs::read(spec)?)?;
    let out = Path::new(OUT);
    let mut settings = job.agent.server.clone();
    settings.watch = match job.part {
        Part::Context => context::tokens(&job.effort, job.effort.rounds),
        Part::Resume => resume::tokens(&job.effort),
        Part::Mcp => tools::tokens(&job.effort),
        Part::Questions => talk::WATCHED.map(str::to_owned).to_vec(),
        Part::Starts => context::tokens(&job.effort, job.agent.starts.len() * 2),
        _ => settings.watch,
    };
    settings.recitals.extend(carry_on::recitals());
    let server = ModelServer::start(0, settings, Some(&out.join("model.jsonl")))?;
    let install = format!("/opt/agents/{}", job.name);
    let places = Places {
        port: server.address().port(),
        home: HOME,
        cwd: CWD,
        agent: &install,
        version: &job.version,
    };
    prepare_home(&job.agent, &places)?;
    prepare_project()?;
    if let Some(layer) = &job.effort.layer {
        let dir = home().join("config/agents");
        std::fs::create_dir_all(&dir)?;
        std::fs::write(dir.join(format!("{}.toml", job.name)), layer)?;
    }
    let stage = Stage::new(&job.name, &job.agent, &places);
    let mut driver = Driver::new("/opt/bin/ostler".into(), out.to_owned(), server.log().clone());
    let mut trial = Trial {
        job: &job,
        stage: &stage,
        sent: Vec::new(),
        answered: 0,
        restless: 0,
        notes: Vec::new(),
        turns: Vec::new(),
    };
    let mut more = Tally::default();
    let mut outcome = Outcome::default();
    let played = match job.part {
        Part::Messages => trial.messages(&mut driver),
        Part::Cold => trial.cold(&mut driver),
        Part::Busy => trial.busy(&mut driver),
        Part::Dialog => trial.dialog(&mut driver),
        Part::Ack => trial.ack(&mut driver),
        Part::Context => context::run(&mut driver, &job, &stage, &mut more),
        Part::Starts => starts::run(&mut driver, &job, &places, &mut more)
            .map(|starts::Played { sent, turns }| (trial.sent, trial.turns) = (sent, turns)),
        Part::Refused => refused::run(&mut driver, &job, &stage, &mut more).map(|sent| trial.sent = sent),
        Part::CarryOn => carry_on::run(&mut driver, &job, &stage, &mut more),
        Part::Mcp => tools::run(&mut driver, &job, &stage, &mut more).map(|sent| trial.sent = sent),
        Part::Resume => resume::run(&mut driver, &job, &stage, &mut more).map(|sent| trial.sent = sent),
        Part::Talk | Part::Questions | Part::Trust => {
            talk::run(&mut driver, &job, &places, &stage, &mut more)
        }
        Part::Kills => kills::run(&mut driver, &job, &stage, &mut more).map(|sent| trial.sent = sent),
        Part::Race => race::run(&mut driver, &job, &stage, &mut outcome).map(|sent| trial.sent = sent),
    };
    driver.snapshot("end");
    keep_traces(&driver, out);
    outcome.load = load();
    trial.judge(&driver, &mut outcome)?;
    outcome.tally.add(&more);
    std::fs::write(out.join(OUTCOME), serde_json::to_vec_pretty(&outcome)?)?;
    let _ = driver.stop_session();
    let _ = driver.command(&["daemon", "stop"]).output();
    played
}

/// Copies what helps to understand a failure.
fn keep_traces(driver: &Driver, out: &Path) {
    for (args, file) in [
        (&["messages", "list", "--all", "--json"][..], "messages.json"),
        (&["events", "--json"], "events.jsonl"),
        (&["explain", driver.name()], "explain.txt"),
    ] {
        if let Ok(done) = driver.command(args).output() {
            let _ = std::fs::write(out.join(file), [done.stdout, done.stderr].concat());
        }
    }
    for recording in recordings(&home()) {
        let session = recording.parent().and_then(Path::file_name).unwrap_or_default();
        let _ = std::fs::copy(&recording, out.join(session).with_extension("cast"));
    }
}

fn recordings(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    let found = |path: PathBuf| match path.is_dir() {
        true => recordings(&path),
        false if path.extension().is_some_and(|extension| extension == "cast") => vec![path],
        false => vec![],
    };
    entries.flat_map(|entry| found(entry.path())).collect()
}

fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or_default()
}

struct Trial<'a> {
    job: &'a Job,
    stage: &'a Stage,
    sent: Vec<Sent>,
    /// Dialogs that were gone before anybody answered them.
    answered: usize,
    /// How often the agent did not come to rest, or was gone.
    restless: usize,
    /// Why it did not come to rest, for people.
    notes: Vec<String>,
    /// Messages that should have waited for the turn of another: both by their place.
    turns: Vec<(usize, usize)>,
}

impl Trial<'_> {
    fn messages(&mut self, driver: &mut Driver) -> Result<()> {
        let effort = &self.job.effort;
        let messages = message::messages(effort, &self.job.agent.delivery.marks);
        let mut random = fastrand::Rng::with_seed(effort.seed);
        let (mut failures, mut running) = (0, false);
        for (index, message) in messages.iter().enumerate() {
            if !running {
                start(driver, self.stage, &format!("agent-{index}"))?;
            }
            // Most are sent to an agent at rest, the others right behind the one before.
            let timed = !running || random.u8(..10) < 7;
            if let Some(error) = timed.then(|| await_rest(driver)).and_then(Result::err) {
                driver.snapshot(&format!("restless-{index:04}"));
                self.notes.push(format!("{} before it: {error:#}", message.id));
                failures += 1;
                self.restless += 1;
                let _ = driver.stop_session();
                start(driver, self.stage, &format!("agent-{index}-again"))?;
                await_rest(driver)?;
            }
            running = true;
            let mut sent = send(driver, message, TIMEOUT, timed)?;
            if matches!(&sent.said, Said::Waiting(why) if why.contains("has not read it")) {
                // Some hang for minutes over a long text before this one; to ask again is all that a person can do.
                self.notes.push(format!("{} waited {TIMEOUT} s: {:?}", message.id, sent.said));
                sent = Sent { at: sent.at, timed: false, ..send(driver, message, TIMEOUT * 5, false)? };
            }
            if sent.said != Said::Submitted {
                failures += 1;
                driver.snapshot(&format!("failed-{index:04}"));
                let _ = driver.command(&["explain", driver.name()]).output().map(|done| {
                    std::fs::write(Path::new(OUT).join(format!("failed-{index:04}.txt")), done.stdout)
                });
                // What is left in the composer would be in the way of all that follow.
                let _ = driver.stop_session();
                running = false;
            }
            self.sent.push(sent);
            if failures >= PATIENCE {
                break;
            }
        }
        Ok(())
    }

    fn cold(&mut self, driver: &mut Driver) -> Result<()> {
        for index in 0..self.job.effort.cold {
            let message = message::short(self.job.effort.seed, index, "right after the start");
            let began = driver.now();
            start(driver, self.stage, &format!("cold-{index}"))?;
            let sent = send(driver, &message, TIMEOUT * 2, true)?;
            if sent.said == Said::Submitted {
                // Some take long to begin their first turn.
                let _ = await_heard(driver, self.stage, &message, TIMEOUT.into());
                driver.rest(1.0);
            }
            driver.snapshot(&format!("cold-{index}"));
            self.sent.push(Sent { at: began, ..sent });
            driver.stop_session()?;
        }
        Ok(())
    }

    fn busy(&mut self, driver: &mut Driver) -> Result<()> {
        start(driver, self.stage, "busy")?;
        for round in 0..self.job.effort.rounds {
            let first = self.short(round * 2, "please [[say 30 words over 3s]]");
            let second = self.short(round * 2 + 1, "while it works");
            self.send(driver, &first)?;
            self.turns.push((self.sent.len() - 1, self.sent.len()));
            self.send(driver, &second)?;
        }
        Ok(())
    }

    fn dialog(&mut self, driver: &mut Driver) -> Result<()> {
        let names = self.job.agent.turn_dialogs.clone().unwrap_or_else(|| vec!["permission".into()]);
        let dialogs: Vec<Dialog> = names
            .iter()
            .map(|name| {
                self.job.agent.dialogs.get(name).cloned().with_context(|| format!("no dialog {name:?}"))
            })
            .collect::<Result<_>>()?;
        start(driver, self.stage, "dialog")?;
        for round in 0..self.job.effort.rounds {
            // In every other round the dialog opens when Enter was hardly pressed.
            let soon = round % 2 == 1;
            let script =
                if soon { "[[silence 200ms]] [[tool sh work.sh 1]]" } else { "[[tool sh work.sh 1]]" };
            let first = self.short(round * 2, &format!("please {script} [[say 3 words]]"));
            let second = self.short(round * 2 + 1, "while a dialog is open: y 1 2");
            let _ = std::fs::remove_file(Path::new(CWD).join("tool-begin"));
            self.send(driver, &first)?;
            if !soon {
                driver.await_screen("the dialog appears", &dialogs[0].appears, TIMEOUT.into())?;
            }
            self.turns.push((self.sent.len() - 1, self.sent.len()));
            let sending = std::thread::scope(|scope| {
                let sending = scope.spawn(|| send(driver, &second, TIMEOUT, false));
                let answered = answer_all(driver, &dialogs, round);
                let sent = sending.join().map_err(|_| anyhow::anyhow!("the sender broke"))?;
                Ok::<_, anyhow::Error>((sent, answered))
            });
            let (sent, answered) = sending?;
            self.sent.push(sent?);
            self.answered += usize::from(answered?);
        }
        Ok(())
    }

    fn ack(&mut self, driver: &mut Driver) -> Result<()> {
        start(driver, self.stage, "ack")?;
        for round in 0..self.job.effort.rounds {
            let message = self.short(round, "please say that you have it [[obey]]");
            let sent = send_with_request(driver, &message, TIMEOUT)?;
            if !sent.acknowledged {
                driver.snapshot(&format!("failed-{round:04}"));
            }
            self.sent.push(sent);
        }
        Ok(())
    }

    fn short(&self, index: usize, text: &str) -> Message {
        message::short(self.job.effort.seed, index, text)
    }

    fn send(&mut self, driver: &Driver, message: &Message) -> Result<()> {
        let sent = send(driver, message, TIMEOUT, false)?;
        if sent.said != Said::Submitted {
            driver.snapshot(&format!("failed-{:04}", self.sent.len()));
        }
        self.sent.push(sent);
        Ok(())
    }

    /// Waits for what is still to come, and counts.
    fn judge(&self, driver: &Driver, outcome: &mut Outcome) -> Result<()> {
        let agent = &self.job.agent;
        let manners = Manners::new(&agent.delivery, agent.server.without_tools)?.with_requests()?;
        let follow = || fates(&self.sent, &unfolded(driver.exchanges()), &manners);
        let missing = |said: &Said| matches!(said, Said::Submitted | Said::Waiting(_));
        let _ = driver.until("the last message is heard", 20.0, || {
            let all = self
                .sent
                .iter()
                .zip(follow())
                .all(|(sent, fate)| fate.heard.is_some() || !missing(&sent.said));
            Ok(all.then_some(()))
        });
        driver.rest(AFTERMATH);
        let fates = follow();
        outcome.tally = tally(&self.sent, &fates);
        outcome.tally.answered = self.answered;
        outcome.tally.restless = self.restless;
        outcome.tally.notes.extend(self.notes.iter().cloned());
        for &(first, second) in &self.turns {
            let (Some(first), Some(second)) = (fates.get(first), fates.get(second)) else { continue };
            let end = first.heard.and_then(|heard| turn_end(&driver.exchanges(), heard));
            if second.heard.zip(end).is_some_and(|(heard, end)| heard < end) {
                outcome.tally.early += 1;
            }
        }
        let events = driver.command(&["events", "--json"]).output()?;
        let events = String::from_utf8_lossy(&events.stdout);
        outcome.tally.to_idle = fates
            .iter()
            .filter_map(|fate| to_idle(&events, turn_end(&driver.exchanges(), fate.heard?)?))
            .collect();
        outcome.messages = self.sent.iter().cloned().zip(fates).collect();
        Ok(())
    }
}

/// Leaves each dialog alone for a while, then answers it; returns whether the first was answered before.
fn answer_all(driver: &Driver, dialogs: &[Dialog], round: usize) -> Result<bool> {
    let mut answered = false;
    for (index, dialog) in dialogs.iter().enumerate() {
        driver.await_screen("the dialog appears", &dialog.appears, TIMEOUT.into())?;
        if index == 0 {
            driver.rest(HOLD);
            let ran = Path::new(CWD).join("tool-begin").exists();
            answered = ran || !Regex::new(&dialog.appears)?.is_match(&driver.screen()?);
            driver.snapshot(&format!("dialog-{round}"));
        }
        driver.press(&dialog.answer)?;
    }
    Ok(answered)
}
