//! Starts that ask something before the first prompt: does a person decide, and does the prompt arrive afterwards?

use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use regex::Regex;
use serde_json::Value;

use super::context::{self, requests};
use super::job::Job;
use super::message::{self, Message};
use super::session::{await_heard, await_rest, send, start_with};
use super::tally::{Said, Sent, Tally};
use super::trial::Stage;
use crate::agent::{Dialog, Places, Start};
use crate::driver::{Driver, home, output};
use crate::stage::{CWD, HOME, prepare_home, prepare_project};

/// Seconds for everything that an agent has to do.
const TIMEOUT: f64 = 90.0;
/// Seconds a dialog is left alone.
const HOLD: f64 = 3.0;
/// Seconds that an agent at rest is watched: what ostler believes to be missing it types after five, of which a message
/// behind the prompt takes some.
const AFTERMATH: f64 = 3.0;
/// What a user says who is not to be asked.
const ALLOW: &str = "[policy]\ntrust = \"allow\"\nauth = \"allow\"\ndialog = \"allow\"\n";

/// What was sent, and which had to wait for the turn of which.
#[derive(Debug, Default)]
pub struct Played {
    /// Prompts and messages.
    pub sent: Vec<Sent>,
    /// Pairs of them, by their place.
    pub turns: Vec<(usize, usize)>,
}

/// Plays every start twice, each time in a home where nothing was answered: a person answers, then the user's policy.
pub fn run(driver: &mut Driver, job: &Job, places: &Places<'_>, tally: &mut Tally) -> Result<Played> {
    let mut played = Played::default();
    for (index, (name, start)) in job.agent.starts.iter().enumerate() {
        let agent = start.of(&job.agent);
        let stage = Stage::new(&job.name, &agent, places);
        let dialogs: Vec<&Dialog> = start
            .dialogs
            .iter()
            .map(|name| agent.dialogs.get(name).with_context(|| format!("no dialog {name:?}")))
            .collect::<Result<_>>()?;
        for (turn, policy) in ["", ALLOW].into_iter().enumerate() {
            empty(Path::new(HOME))?;
            prepare_home(&agent, places)?;
            prepare_project()?;
            write_project(start, places)?;
            std::fs::create_dir_all(home().join("config"))?;
            std::fs::write(home().join("config/config.toml"), policy)?;
            let title = format!("{name}-{}", if policy.is_empty() { "asked" } else { "allowed" });
            let prompt = message::short(
                job.effort.seed,
                index * 4 + turn,
                "what is to be done [[say 30 words over 3s]]",
            );
            let known = context::token(&job.effort, index * 2 + turn);
            let notes = context::write_notes(&known, 1)?;
            let given = ["--prompt", &prompt.text, "--context", notes, "--no-beacon", "--timeout", "90"];
            let told = start_with(driver, &stage, &title, &given).map_err(|error| format!("{error:#}"));
            let second = message::short(job.effort.seed, index * 4 + 2 + turn, "behind it: y 1 2");
            let behind = if policy.is_empty() {
                left_to_a_person(driver, &dialogs, &told, &second, tally)
            } else {
                // The moment the start is over, the turn of its prompt has only begun.
                told.map_err(|told| anyhow!(told)).and_then(|()| {
                    let sent = send(driver, &second, 120, false)?;
                    answered_by_policy(driver, dialogs.len()).map(|()| sent)
                })
            };
            let heard = behind.and_then(|behind| {
                await_heard(driver, &stage, &prompt, TIMEOUT)?;
                Ok(behind)
            });
            // What comes twice comes a little later.
            let rested = heard.and_then(|behind| await_rest(driver).map(|()| behind));
            driver.rest(AFTERMATH);
            driver.snapshot(&title);
            played.sent.push(taken(driver, &prompt)?);
            match rested {
                Ok(behind) => {
                    let first = played.sent.len() - 1;
                    played.turns.push((first, first + 1));
                    played.sent.push(behind);
                }
                Err(error) => {
                    tally.failed += 1;
                    tally.notes.push(format!("{title}: {error:#}"));
                }
            }
            judge_context(driver, job, &prompt, &known, tally);
            let _ = driver.stop_session();
        }
    }
    Ok(played)
}

/// What ostler says of the prompt that the agent was started with.
fn taken(driver: &Driver, prompt: &Message) -> Result<Sent> {
    let listed = output(&mut driver.command(&["messages", "list", driver.name(), "--all", "--json"]))?;
    let listed: Vec<Value> = serde_json::from_str(&listed)?;
    let told =
        listed.iter().find(|message| message["id"].as_str().is_some_and(|id| id.starts_with("prompt-")));
    let told = told.context("nothing is known of the prompt")?;
    let why = || told["failure"].as_str().unwrap_or_default().to_owned();
    let said = match told["state"].as_str() {
        Some("delivered") if told["proof"] == "submitted" => Said::Submitted,
        Some("failed") => Said::Failed(why()),
        Some("uncertain") => Said::Uncertain(why()),
        _ => Said::Waiting(why()),
    };
    // On a command line it is given once, without Enter.
    let times = |name: &str| told[name].as_u64().unwrap_or(0).max(1);
    Ok(Sent {
        message: prompt.clone(),
        at: driver.now(),
        returned: driver.now(),
        said,
        attempts: times("attempts"),
        enters: times("enters"),
        evidence: Vec::new(),
        timed: false,
        asked: false,
        acknowledged: false,
    })
}

/// Looks on while a message waits: every dialog has to be told, and to stay, until the driver answers it.
fn left_to_a_person(
    driver: &Driver,
    dialogs: &[&Dialog],
    told: &Result<(), String>,
    message: &Message,
    tally: &mut Tally,
) -> Result<Sent> {
    if !told.as_ref().is_err_and(|told| told.contains("a person is needed")) {
        tally.failed += 1;
        tally.notes.push(format!("{}: the start said {told:?}", driver.name()));
    }
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| send(driver, message, 240, false));
        let answered: Result<()> =
            dialogs.iter().try_for_each(|dialog| leave_and_answer(driver, dialog, tally));
        if answered.is_err() {
            // Nobody would answer, and the message wait in vain.
            let _ = driver.stop_session();
        }
        let sent = sending.join().map_err(|_| anyhow!("the sender broke"))?;
        answered.and(sent)
    })
}

/// Every dialog was there, and ostler answered it.
fn answered_by_policy(driver: &Driver, dialogs: usize) -> Result<()> {
    let events = output(&mut driver.command(&["events", driver.name(), "--json"]))?;
    let answered = events.matches("\"dialog.answered\"").count();
    ensure!(answered == dialogs, "the policy answered {answered} of {dialogs} dialogs");
    Ok(())
}

fn leave_and_answer(driver: &Driver, dialog: &Dialog, tally: &mut Tally) -> Result<()> {
    driver.await_screen("a dialog appears", &dialog.appears, TIMEOUT)?;
    driver.until(&format!("it is blocked: {}", dialog.kind), 20.0, || {
        let status = output(&mut driver.command(&["status", driver.name(), "--json"]))?;
        let status: Value = serde_json::from_str(&status)?;
        Ok((status["state"] == "blocked" && status["kind"] == dialog.kind.as_str()).then_some(()))
    })?;
    let appears = Regex::new(&dialog.appears)?;
    let before = driver.screen()?;
    driver.rest(HOLD);
    let after = driver.screen()?;
    if !appears.is_match(&after) {
        tally.answered += 1;
        tally.notes.push(format!("{}: {} was answered", driver.name(), dialog.appears));
        return Ok(());
    }
    if before != after {
        tally.answered += 1;
        tally.notes.push(format!(
            "{}: something moved in {}:\n{before}\n{after}",
            driver.name(),
            dialog.appears
        ));
    }
    driver.snapshot(&format!("{}-{}", driver.name(), dialog.kind));
    driver.press(&dialog.answer)?;
    driver.until("the dialog goes", TIMEOUT, || Ok((!appears.is_match(&driver.screen()?)).then_some(())))
}

/// Counts whether the model knew what it should when it was told what to do.
fn judge_context(driver: &Driver, job: &Job, prompt: &Message, known: &str, tally: &mut Tally) {
    let token = prompt.token.as_deref().unwrap_or_default();
    let requests = requests(driver, job, known, token);
    let knew = matches!(requests[..], [(_, 1)]);
    tally.contexts += 1;
    tally.visible += usize::from(knew);
    if !knew {
        let name = driver.name();
        tally
            .notes
            .push(format!("{name}: requests with {token}, and how often each has the context: {requests:?}"));
    }
}

fn write_project(start: &Start, places: &Places<'_>) -> Result<()> {
    for (name, text) in &start.project {
        let path = Path::new(CWD).join(name);
        std::fs::create_dir_all(path.parent().context("a file needs a directory")?)?;
        std::fs::write(path, places.fill(text))?;
    }
    Ok(())
}

/// Takes everything out of a directory.
pub fn empty(dir: &Path) -> Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            std::fs::remove_dir_all(path)?;
        } else {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}
