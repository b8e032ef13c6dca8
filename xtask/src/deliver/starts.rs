//! Starts that ask something before the first prompt: does a person decide, and does the prompt arrive afterwards?

use std::path::Path;

use anyhow::{Context, Result};
use regex::Regex;
use serde_json::Value;

use super::context::{self, requests};
use super::job::Job;
use super::message::{self, Message};
use super::session::{await_heard, send, start_with};
use super::tally::{Said, Tally};
use super::trial::Stage;
use crate::agent::{Dialog, Places, Start};
use crate::driver::{Driver, home, output};
use crate::stage::{CWD, HOME, prepare_home, prepare_project};

/// Seconds for everything that an agent has to do.
const TIMEOUT: f64 = 90.0;
/// Seconds a dialog is left alone.
const HOLD: f64 = 3.0;
/// What a user says who is not to be asked.
const ALLOW: &str = "[policy]\ntrust = \"allow\"\nauth = \"allow\"\ndialog = \"allow\"\n";

/// Plays every start twice, each time in a home where nothing was answered: a person answers, then the user's policy.
pub fn run(driver: &mut Driver, job: &Job, places: &Places<'_>, tally: &mut Tally) -> Result<()> {
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
            let prompt = message::short(job.effort.seed, index * 4 + turn, "what is to be done");
            tally.sent += 1;
            tally.contexts += 1;
            let known = context::token(&job.effort, index * 2 + turn);
            let notes = context::write_notes(&known)?;
            let given = ["--prompt", &prompt.text, "--context", notes, "--timeout", "90"];
            let told = start_with(driver, &stage, &title, &given).map_err(|error| format!("{error:#}"));
            let played = if policy.is_empty() {
                let message = message::short(job.effort.seed, index * 4 + 2, "while it asks: y 1 2");
                left_to_a_person(driver, &stage, &dialogs, &told, &message, tally)
                    .map(|()| judge(driver, job, &message, "", tally))
            } else {
                told.map_err(anyhow::Error::msg)
            };
            let heard = played.and_then(|()| await_heard(driver, &stage, &prompt, TIMEOUT).map(drop));
            driver.snapshot(&title);
            match heard {
                Ok(()) => judge(driver, job, &prompt, &known, tally),
                Err(error) => {
                    tally.failed += 1;
                    tally.notes.push(format!("{title}: {error:#}"));
                }
            }
            let _ = driver.stop_session();
        }
    }
    Ok(())
}

/// Looks on while a message waits: every dialog has to be told, and to stay, until the driver answers it.
fn left_to_a_person(
    driver: &Driver,
    stage: &Stage,
    dialogs: &[&Dialog],
    told: &Result<(), String>,
    message: &Message,
    tally: &mut Tally,
) -> Result<()> {
    if !told.as_ref().is_err_and(|told| told.contains("a person is needed")) {
        tally.failed += 1;
        tally.notes.push(format!("{}: the start said {told:?}", driver.name()));
    }
    tally.sent += 1;
    let sent = std::thread::scope(|scope| {
        let sending = scope.spawn(|| send(driver, message, 240, false));
        let answered: Result<()> =
            dialogs.iter().try_for_each(|dialog| leave_and_answer(driver, dialog, tally));
        if answered.is_err() {
            // Nobody would answer, and the message wait in vain.
            let _ = driver.stop_session();
        }
        let sent = sending.join().map_err(|_| anyhow::anyhow!("the sender broke"))?;
        answered.and(sent)
    })?;
    anyhow::ensure!(sent.said == Said::Submitted, "a message that waited: {:?}", sent.said);
    await_heard(driver, stage, message, TIMEOUT).map(drop)
}

fn leave_and_answer(driver: &Driver, dialog: &Dialog, tally: &mut Tally) -> Result<()> {
    driver.await_screen("a dialog appears", &dialog.appears, TIMEOUT)?;
    driver.until(&format!("it is blocked: {}", dialog.kind), 20.0, || {
        let status = output(&mut driver.command(&["status", driver.name(), "--json"]))?;
        let status: Value = serde_json::from_str(&status)?;
        Ok((status["state"] == "blocked" && status["kind"] == dialog.kind.as_str()).then_some(()))
    })?;
    driver.rest(HOLD);
    let appears = Regex::new(&dialog.appears)?;
    if !appears.is_match(&driver.screen()?) {
        tally.answered += 1;
        tally.notes.push(format!("{}: {} was answered", driver.name(), dialog.appears));
        return Ok(());
    }
    driver.snapshot(&format!("{}-{}", driver.name(), dialog.kind));
    driver.press(&dialog.answer)?;
    driver.until("the dialog goes", TIMEOUT, || Ok((!appears.is_match(&driver.screen()?)).then_some(())))
}

/// Counts what became of a text that was heard, and of what is to be known with it.
fn judge(driver: &Driver, job: &Job, message: &Message, known: &str, tally: &mut Tally) {
    let token = message.token.as_deref().unwrap_or_default();
    let requests = requests(driver, job, known, token);
    if let [(_, times)] = requests[..] {
        tally.arrived += 1;
        tally.first_try += 1;
        tally.visible += usize::from(times == 1);
    } else {
        tally.doubled += 1;
    }
    if !matches!(requests[..], [(_, times)] if times == usize::from(!known.is_empty())) {
        tally
            .notes
            .push(format!("{}: requests with {token} and what they know: {requests:?}", driver.name()));
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

fn empty(dir: &Path) -> Result<()> {
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
