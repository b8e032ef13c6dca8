//! One scene, played inside its namespace.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use ostler_testkit::model_server::{Entry, Event, ModelServer};
use serde::{Deserialize, Serialize};

use crate::agent::{Agent, Places, Then};
use crate::driver::Driver;
use crate::live;
use crate::recording;
use crate::scene::{Mishap, Plan, Scene, Step, Variant, directory};
use crate::score;
use crate::truth::{self, Truth, What};

/// What is to be played.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// The agent's name.
    pub name: String,
    /// Its release.
    pub version: String,
    /// The scene.
    pub scene: Scene,
    /// The terminal's manners.
    pub variant: Variant,
    /// The agent, for this release and scene.
    pub agent: Agent,
    /// Texts that must not be in the recording.
    pub secrets: Vec<String>,
}

/// Where things are inside.
pub const OUT: &str = "/opt/out";
/// The line about what was said live.
pub const LIVE: &str = "live.txt";
/// There if something harmful was said live.
pub const HARM: &str = "harm.txt";
/// The home directory.
pub const HOME: &str = "/home/dev";
/// The project.
pub const CWD: &str = "/home/dev/project";
/// How long an agent may take to start on a busy machine.
const START: f64 = 60.0;
/// How long a turn may take beyond what its script says.
const TURN: f64 = 60.0;
/// How long an agent that does not give up is watched.
const WATCH: f64 = 12.0;
/// Seconds without a request after which nothing more is expected.
const QUIET: f64 = 3.0;
/// Seconds between a command and the key that gives it.
const GAP: f64 = 0.6;

/// Plays the job described in a file and leaves recording and truth beside it.
pub fn play(spec: &Path) -> Result<()> {
    let mut job: Job = serde_json::from_slice(&std::fs::read(spec)?)?;
    let out = Path::new(OUT);
    let trap = std::fs::read_to_string("/opt/trap.txt").context("the text of the trap is missing")?;
    job.agent.server.recitals.insert("trap".into(), trap);
    let server = ModelServer::start(0, job.agent.server.clone(), Some(&out.join("model.jsonl")))?;
    let port = server.address().port();
    let install = format!("/opt/agents/{}", job.name);
    let places = Places { port, home: HOME, cwd: CWD, agent: &install, version: &job.version };
    prepare_home(&job.agent, &places)?;
    prepare_project()?;
    let mut driver = Driver::new("/opt/bin/ostler".into(), out.to_owned(), server.log().clone());
    let launch = &job.agent.launch;
    let env: Vec<_> = launch.env.iter().map(|(name, value)| (name.clone(), places.fill(value))).collect();
    let args: Vec<_> = launch.args.iter().chain(&launch.more_args).map(|arg| places.fill(arg)).collect();
    let size = job.scene.plan().size;
    driver.start(CWD, &env, &job.name, &places.fill(&launch.program), &args, size)?;
    driver.follow_events()?;
    let played = act(&mut driver, &job);
    driver.snapshot("end");
    driver.mark(driver.now(), What::Over);
    let cast = driver.stop()?;
    std::fs::write(out.join("marks.json"), serde_json::to_vec_pretty(driver.marks())?)?;
    let raw = std::fs::read_to_string(&cast)?;
    std::fs::write(out.join("raw.cast"), &raw)?;
    played?;
    let zero = recording::zero(&cast, &raw)?;
    let mut truth = Truth {
        agent: job.name.clone(),
        version: job.version.clone(),
        scene: directory(job.scene, job.variant),
        intervals: truth::intervals(driver.marks(), &server.log().entries(), zero),
        notes: notes(&job, zero)?,
    };
    if let Some(last) = truth.intervals.last_mut().filter(|_| job.scene.plan().background) {
        last.any = vec!["idle".into(), "watching".into()];
    }
    tell_live(out, driver.name(), &truth, zero)?;
    recording::write(out, &raw, &truth, &job.secrets)
}

/// Leaves a line about what ostler said while the scene was played, if it said anything.
fn tell_live(out: &Path, session: &str, truth: &Truth, zero: f64) -> Result<()> {
    let said = live::timeline(&std::fs::read_to_string(out.join("live.jsonl"))?, Some(session), zero);
    if said.is_empty() {
        return Ok(());
    }
    let score = score::score(truth, &said);
    let line = format!(
        "live {:.1} % right, {:.1} s false idle, {} of {} dialogs missed",
        score.share() * 100.0,
        score.false_idle,
        score.missed,
        score.dialogs
    );
    if !score.is_harmless() {
        std::fs::write(out.join(HARM), &line)?;
    }
    Ok(std::fs::write(out.join(LIVE), line)?)
}

/// Writes the files that the agent needs in its home.
pub fn prepare_home(agent: &Agent, places: &Places<'_>) -> Result<()> {
    let put = |path: &str| -> Result<std::path::PathBuf> {
        let path = Path::new(HOME).join(path);
        std::fs::create_dir_all(path.parent().context("a file needs a directory")?)?;
        Ok(path)
    };
    for (path, text) in agent.files.iter().filter(|(_, text)| !text.is_empty()) {
        std::fs::write(put(path)?, places.fill(text))?;
    }
    for (path, target) in &agent.links {
        std::os::unix::fs::symlink(places.fill(target), put(path)?)?;
    }
    Ok(())
}

/// Makes a small repository to work in.
pub fn prepare_project() -> Result<()> {
    let dir = Path::new(CWD);
    std::fs::create_dir_all(dir)?;
    std::fs::write(dir.join("README.md"), "# A small project\n")?;
    std::fs::write(Path::new(HOME).join(".gitconfig"), "[user]\n\tname = Dev\n\temail = dev@example.com\n")?;
    for args in [&["init", "-q", "-b", "main"][..], &["add", "."], &["commit", "-q", "-m", "Begin"]] {
        let status = Command::new("git").args(args).current_dir(dir).status().context("git does not run")?;
        if !status.success() {
            bail!("git {args:?} failed: {status}");
        }
    }
    // Not committed: a prompt that names a file of the repository makes some agents offer to read it.
    let script = "date +%s.%N > tool-begin\nsleep \"$1\"\ndate +%s.%N > tool-end\necho worked for \"$1\" s\n";
    std::fs::write(dir.join("work.sh"), script)?;
    Ok(())
}

fn act(driver: &mut Driver, job: &Job) -> Result<()> {
    let (agent, plan) = (&job.agent, job.scene.plan());
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let hold = agent.hold.unwrap_or(plan.hold);
    for name in agent.start_dialogs.clone().unwrap_or_else(|| own(plan.start_dialogs)) {
        answer_dialog(driver, agent, &name, hold, START)?;
    }
    driver.await_screen("the prompt appears", &agent.ready.appears, START)?;
    let seen = driver.now();
    driver.rest(agent.ready.settle);
    driver.mark(seen, What::Ready);
    driver.snapshot("ready");
    driver.rest(1.5);
    let dialogs = agent.turn_dialogs.clone().unwrap_or_else(|| own(plan.turn_dialogs));
    let mut turns = 0;
    for (index, step) in plan.steps.iter().enumerate() {
        driver.rest(if index > 0 { 1.0 } else { 0.0 });
        match step {
            Step::Prompt(prompt) => {
                turns += 1;
                submit(driver, agent, prompt)?;
                for name in &dialogs {
                    answer_dialog(driver, agent, name, hold, TURN)?;
                }
                finish_turn(driver, agent, &plan, turns)?;
                if plan.helper {
                    await_helper(driver)?;
                }
            }
            Step::Menus => show_menus(driver, agent, hold)?,
            Step::Draft(text) => draft(driver, text)?,
            Step::Command(name) => give_command(driver, agent, name)?,
        }
    }
    driver.rest(0.7);
    driver.snapshot("after");
    driver.rest(plan.rest);
    Ok(())
}

fn answer_dialog(driver: &mut Driver, agent: &Agent, name: &str, hold: f64, timeout: f64) -> Result<()> {
    let dialog = agent.dialogs.get(name).with_context(|| format!("no dialog {name:?} is described"))?;
    driver.await_screen(&format!("the dialog {name} appears"), &dialog.appears, timeout)?;
    driver.mark(driver.now(), What::DialogSeen { kind: dialog.kind.clone() });
    driver.snapshot(name);
    driver.rest(hold);
    let (last, first) = dialog.answer.split_last().context("the dialog has no answer")?;
    driver.press(first)?;
    driver.rest(if first.is_empty() { 0.0 } else { 0.4 });
    let from = driver.now();
    driver.press(std::slice::from_ref(last))?;
    driver.mark(from, What::Answered { then: dialog.then });
    Ok(())
}

fn submit(driver: &mut Driver, agent: &Agent, prompt: &str) -> Result<()> {
    let text = if agent.input.paste { format!("\x1b[200~{prompt}\x1b[201~") } else { prompt.to_owned() };
    driver.write(text.as_bytes())?;
    driver.rest(agent.input.gap);
    let from = driver.now();
    driver.write(b"\r")?;
    driver.mark(from, What::Submitted);
    Ok(())
}

/// Waits until nothing was asked of the model for a while.
fn await_helper(driver: &mut Driver) -> Result<()> {
    driver.mark(driver.now(), What::Delegated);
    driver.until("the other agent is done", TURN, || {
        let log = driver.exchanges();
        let ends = |entry: &&Entry| matches!(entry.event, Event::LastByte { .. } | Event::ClientLeft);
        let open = log.iter().filter(|entry| matches!(entry.event, Event::Received { .. })).count();
        let closed = log.iter().filter(ends).count();
        let quiet = log.last().is_some_and(|last| driver.now() - last.at > QUIET);
        Ok((open == closed && quiet).then_some(()))
    })?;
    driver.mark(driver.now(), What::Settled);
    Ok(())
}

/// Opens the agent's menus one after the other, and leaves each open for a while.
fn show_menus(driver: &mut Driver, agent: &Agent, hold: f64) -> Result<()> {
    for (index, menu) in agent.menus.iter().enumerate() {
        driver.rest(1.0);
        let (last, first) = menu.open.split_last().context("nothing opens the menu")?;
        driver.press(first)?;
        driver.rest(GAP);
        driver.mark(driver.now(), What::Commanded { asks: false });
        driver.press(std::slice::from_ref(last))?;
        driver.await_screen(&format!("the menu of {} appears", menu.open.concat()), &menu.appears, TURN)?;
        driver.mark(driver.now(), What::DialogSeen { kind: "menu".into() });
        driver.snapshot(&format!("menu-{index}"));
        driver.rest(hold);
        let from = driver.now();
        driver.press(&menu.close)?;
        driver.mark(from, What::Answered { then: Then::Idle });
        driver.rest(1.0);
    }
    Ok(())
}

/// Writes something and erases it again.
fn draft(driver: &Driver, text: &str) -> Result<()> {
    driver.write(text.as_bytes())?;
    driver.rest(2.0);
    driver.snapshot("draft");
    driver.press(&vec!["Backspace".to_owned(); text.chars().count()])?;
    driver.rest(4.0);
    Ok(())
}

/// Gives a command of the agent's own, and waits until it is over.
fn give_command(driver: &mut Driver, agent: &Agent, name: &str) -> Result<()> {
    let command = agent.commands.get(name).with_context(|| format!("no command {name:?} is described"))?;
    let (last, first) = command.keys.split_last().context("the command has no keys")?;
    driver.press(first)?;
    driver.rest(GAP);
    let from = driver.now();
    driver.press(std::slice::from_ref(last))?;
    driver.mark(from, What::Commanded { asks: command.asks });
    if let Some(pattern) = &command.appears {
        driver.await_screen(&format!("the command {name} is over"), pattern, TURN)?;
    }
    if let Some(pattern) = &command.gone {
        driver.await_gone(&format!("the command {name} has cleared the screen"), pattern, TURN)?;
    }
    driver.mark(driver.now(), What::Settled);
    driver.snapshot(name);
    Ok(())
}

/// Waits for the end of a turn, whatever ends it.
fn finish_turn(driver: &mut Driver, agent: &Agent, plan: &Plan, turn: usize) -> Result<()> {
    if let Some((seconds, mishap)) = plan.mishap {
        driver.until("the stream begins", TURN, || {
            Ok(driver
                .exchanges()
                .iter()
                .any(|entry| is_main(driver, entry.exchange, turn) && entry.event == Event::FirstByte)
                .then_some(()))
        })?;
        driver.rest(seconds);
        driver.snapshot("streaming");
        match mishap {
            Mishap::Interrupt => {
                let from = driver.now();
                driver.press(&agent.input.interrupt)?;
                driver.mark(from, What::Interrupted);
                return Ok(());
            }
            Mishap::Resize(size) => driver.resize(size)?,
            Mishap::KillDaemon => driver.kill_daemon()?,
        }
    }
    if plan.fails {
        driver.until("the request arrives", TURN, || {
            Ok(driver.exchanges().iter().any(|entry| is_main(driver, entry.exchange, turn)).then_some(()))
        })?;
        match &agent.gave_up {
            Some(pattern) => {
                driver.await_screen("the agent gives up", pattern, TURN)?;
                driver.mark(driver.now(), What::GaveUp);
            }
            None => driver.rest(WATCH),
        }
    } else if !ends_by_dialog(driver) {
        driver.until("the last byte is sent", plan.patience, || {
            let last = |event: &Event| matches!(event, Event::LastByte { more: false, .. });
            Ok(driver
                .exchanges()
                .iter()
                .any(|entry| last(&entry.event) && is_main(driver, entry.exchange, turn))
                .then_some(()))
        })?;
    }
    Ok(())
}

/// The answer to a dialog was the end of the turn.
fn ends_by_dialog(driver: &Driver) -> bool {
    driver.marks().last().is_some_and(|mark| mark.what == What::Answered { then: Then::Idle })
}

fn is_main(driver: &Driver, exchange: u64, number: usize) -> bool {
    driver.exchanges().iter().any(|entry| {
        entry.exchange == exchange
            && matches!(entry.event, Event::Received { turn: Some(turn), .. } if turn == number)
    })
}

/// What the tool says of its own times; a scene about a tool that did not run is broken.
fn notes(job: &Job, zero: f64) -> Result<Vec<String>> {
    let time = |name: &str| -> Option<f64> {
        std::fs::read_to_string(Path::new(CWD).join(name)).ok()?.trim().parse().ok()
    };
    match (time("tool-begin"), time("tool-end")) {
        (Some(begin), Some(end)) => {
            Ok(vec![format!("the tool ran from {:.3} to {:.3}", begin - zero, end - zero)])
        }
        _ if job.scene.plan().tool => bail!("the tool did not run to its end"),
        _ => Ok(vec![]),
    }
}
