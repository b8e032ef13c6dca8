//! Talking with an agent: its answers, its dialogs answered by command, its turn interrupted.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use ostler_testkit::model_server::Event;
use serde_json::Value;

use super::job::{Job, Part};
use super::session::{await_rest, start, start_with};
use super::starts::empty;
use super::tally::Tally;
use super::trial::Stage;
use crate::agent::Places;
use crate::driver::Driver;
use crate::stage::{CWD, HOME, prepare_home, prepare_project};

/// Words of one's own, as nobody else says them.
pub const OWN: &str = "deep teal 7";
/// What is looked for in what the model is told.
pub const WATCHED: [&str; 3] = ["Red", "Blue", OWN];
/// How long an agent may take for a step, in seconds.
const STEP: f64 = 40.0;
/// Most pages of one question.
const PAGES: usize = 5;

/// Plays a part; what went wrong is in the tally.
pub fn run(
    driver: &mut Driver,
    job: &Job,
    places: &Places<'_>,
    stage: &Stage,
    tally: &mut Tally,
) -> Result<()> {
    match job.part {
        Part::Trust => trust(driver, job, places, stage, tally),
        Part::Questions => questions(driver, stage, tally),
        _ => talk(driver, stage, tally),
    }
}

/// What a command printed, and how it ended.
struct Said {
    code: i32,
    json: Value,
    complaint: String,
}

fn say(driver: &Driver, args: &[&str]) -> Result<Said> {
    let done = driver.command(args).output()?;
    let json = serde_json::from_slice(&done.stdout).unwrap_or_default();
    let complaint = String::from_utf8_lossy(&done.stderr).trim().to_owned();
    Ok(Said { code: done.status.code().unwrap_or(-1), json, complaint })
}

fn check(driver: &Driver, tally: &mut Tally, holds: bool, note: impl Into<String>) {
    tally.sent += 1;
    tally.arrived += usize::from(holds);
    if !holds {
        tally.falsely += 1;
        driver.snapshot(&format!("fault-{}", tally.notes.len()));
        tally.notes.push(note.into());
    }
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

fn talk(driver: &mut Driver, stage: &Stage, tally: &mut Tally) -> Result<()> {
    start(driver, stage, "talk")?;
    await_rest(driver)?;
    let text = "please [[say 7 words]]";
    let reply = say(driver, &["send", "talk", text, "--wait", "reply", "--timeout", "90", "--json"])?;
    let told = driver.exchanges().iter().rev().find_map(|entry| match &entry.event {
        Event::LastByte { text, more: false, .. } if text.split_whitespace().count() == 7 => {
            Some(text.clone())
        }
        _ => None,
    });
    let told = told.context("the model has answered nothing")?;
    let is_same = |value: &Value| value.as_str().is_some_and(|text| squeezed(text) == squeezed(&told));
    let note = format!("reply {} {} for {told:?}: {}", reply.code, reply.json, reply.complaint);
    check(driver, tally, reply.code == 0 && is_same(&reply.json["answer"]), note);
    let last = say(driver, &["last", "talk", "--json"])?;
    let answer = &last.json["answers"][0];
    let note = format!("last: {} {}", last.json, last.complaint);
    let from_transcript = last.json["source"] == "transcript";
    check(driver, tally, is_same(&answer["answer"]) && from_transcript, note);
    let prompted = answer["prompt"].as_str().is_some_and(|prompt| prompt.contains(text));
    check(driver, tally, prompted, format!("the prompt of the last answer: {answer}"));
    interrupt(driver, tally)?;
    for (answer, runs) in [("yes", true), ("no", false)] {
        let _ = std::fs::remove_file(Path::new(CWD).join("tool-begin"));
        submit(driver, "please [[tool sh work.sh 1]] [[say 3 words]]")?;
        let Some(dialog) = pending(driver, tally, "permission")? else { return Ok(()) };
        let about = dialog["about"].to_string();
        check(driver, tally, about.contains("work.sh"), format!("what it is about: {about}"));
        let other = say(driver, &["answer", "talk", answer, "--dialog", "00000000"])?;
        let stands = say(driver, &["answer", "talk", "--json"])?.json["dialog"]["id"] == dialog["id"];
        check(
            driver,
            tally,
            other.code == 1 && stands,
            format!("another dialog was meant: {}", other.complaint),
        );
        answered(driver, tally, &[answer])?;
        let ran = || Path::new(CWD).join("tool-begin").exists();
        if runs {
            let _ = driver.until("the tool runs", STEP, || Ok(ran().then_some(())));
        } else {
            driver.rest(3.0);
        }
        check(driver, tally, ran() == runs, format!("{answer}: the tool has run: {}", ran()));
        if say(driver, &["wait", "talk", "idle", "--timeout", "20", "--json"])?.code != 0 {
            // Some ask why.
            let now = say(driver, &["status", "talk", "--json"])?.json["state"].clone();
            check(driver, tally, !runs, format!("behind {answer} it is {now}"));
            let _ = driver.press(&["Escape".to_owned()]);
            driver.rest(2.0);
        }
    }
    Ok(())
}

fn interrupt(driver: &Driver, tally: &mut Tally) -> Result<()> {
    await_rest(driver)?;
    submit(driver, "please [[say 300 words over 30s]]")?;
    let _ = driver.until("the stream begins", STEP, || {
        let begun = driver.exchanges().iter().rev().take(3).any(|entry| entry.event == Event::FirstByte);
        Ok(begun.then_some(()))
    });
    driver.rest(2.0);
    let told = say(driver, &["interrupt", "talk", "--json"])?;
    let note = format!("interrupt: {} {}", told.json["outcome"], told.complaint);
    check(driver, tally, told.json["outcome"] == "stopped", note);
    let told = say(driver, &["interrupt", "talk", "--json"])?;
    let note = format!("interrupt at rest: {} {}", told.json["outcome"], told.complaint);
    check(driver, tally, told.json["outcome"] == "nothing", note);
    await_rest(driver)
}

fn submit(driver: &Driver, text: &str) -> Result<()> {
    let sent = say(driver, &["send", driver.name(), text, "--wait", "submitted", "--timeout", "90"])?;
    ensure!(sent.code == 0, "{text} was not taken: {}", sent.complaint);
    Ok(())
}

/// The dialog that opens.
fn pending(driver: &Driver, tally: &mut Tally, kind: &str) -> Result<Option<Value>> {
    let name = driver.name().to_owned();
    let _ = say(driver, &["wait", &name, "blocked", "--timeout", "40"])?;
    let said = say(driver, &["answer", &name, "--json"])?;
    let dialog = said.json["dialog"].clone();
    let note = format!("{kind}: {} {}", said.json, said.complaint);
    check(driver, tally, dialog["kind"] == kind, note);
    driver.snapshot(&format!("{name}-{kind}"));
    Ok(Some(dialog).filter(Value::is_object))
}

/// Answers the dialog that is open.
fn answered(driver: &Driver, tally: &mut Tally, words: &[&str]) -> Result<Value> {
    let name = driver.name().to_owned();
    let said = say(driver, &[&["answer", name.as_str(), "--json"], words].concat())?;
    let note = format!("answer {words:?}: {} {}", said.json, said.complaint);
    check(driver, tally, said.code == 0 && said.json["outcome"] == "answered", note);
    Ok(said.json)
}

/// How often the newest request that has it anywhere has each of the watched texts.
fn watched(driver: &Driver) -> [usize; 3] {
    let newest = driver.exchanges().iter().rev().find_map(|entry| match &entry.event {
        Event::Received { watched, turn: Some(_), .. } => Some(watched.clone()),
        _ => None,
    });
    WATCHED.map(|text| newest.as_ref().and_then(|found| found.get(text)).copied().unwrap_or(0))
}

fn questions(driver: &mut Driver, stage: &Stage, tally: &mut Tally) -> Result<()> {
    start(driver, stage, "questions")?;
    await_rest(driver)?;
    let ask = "please [[question Which colour shall it be?]] [[say 3 words]]";
    submit(driver, ask)?;
    let Some(dialog) = pending(driver, tally, "question")? else { return Ok(()) };
    let has_choices = dialog["choices"].as_array().is_some_and(|choices| !choices.is_empty());
    if has_choices {
        let before = watched(driver);
        answered(driver, tally, &["2"])?;
        let blue = || {
            let [red, blue, _] = watched(driver);
            blue.saturating_sub(before[1]) > red.saturating_sub(before[0])
        };
        let _ = driver.until("the model hears Blue", STEP, || Ok(blue().then_some(())));
        check(driver, tally, blue(), format!("Red, Blue, own words: {:?}", watched(driver)));
        await_rest(driver)?;
        submit(driver, ask)?;
        pending(driver, tally, "question")?;
    } else {
        // A form, of which the script leaves out the fields.
        answered(driver, tally, &["yes"])?;
        await_rest(driver)?;
        submit(driver, ask)?;
        pending(driver, tally, "question")?;
        answered(driver, tally, &["no"])?;
        return await_rest(driver);
    }
    answered(driver, tally, &["--text", OWN])?;
    let _ = driver.until("the model hears it", STEP, || Ok((watched(driver)[2] > 0).then_some(())));
    check(driver, tally, watched(driver)[2] > 0, "the model did not hear the words");
    await_rest(driver)?;
    pages(driver, tally)
}

/// Several questions, one page after the other, and whatever stands behind them.
fn pages(driver: &Driver, tally: &mut Tally) -> Result<()> {
    submit(
        driver,
        "please [[question Which colour shall it be? | Which size shall it be?]] [[say 3 words]]",
    )?;
    let mut answers = Vec::new();
    for _ in 0..PAGES {
        let _ = say(driver, &["wait", "questions", "blocked,idle", "--timeout", "20"])?;
        let said = say(driver, &["answer", "questions", "--json"])?;
        let dialog = &said.json["dialog"];
        if !dialog.is_object() {
            break;
        }
        driver.snapshot(&format!("page-{}", answers.len()));
        let choices = dialog["choices"].as_array().cloned().unwrap_or_default();
        let word = if choices.is_empty() { "yes" } else { "1" };
        answers.push(dialog["about"].to_string());
        if answered(driver, tally, &[word])?["outcome"] != "answered" {
            break;
        }
        driver.rest(0.5);
    }
    check(driver, tally, answers.len() >= 2, format!("pages: {answers:?}"));
    await_rest(driver)
}

fn trust(
    driver: &mut Driver,
    job: &Job,
    places: &Places<'_>,
    stage: &Stage,
    tally: &mut Tally,
) -> Result<()> {
    for (name, answer) in [("distrust", "no"), ("trust", "yes")] {
        // Some remember a no, too.
        empty(Path::new(HOME))?;
        prepare_home(&job.agent, places)?;
        prepare_project()?;
        start_with(driver, stage, name, &["--no-wait"])?;
        let Some(_) = pending(driver, tally, "trust")? else { return Ok(()) };
        answered(driver, tally, &[answer])?;
        if answer == "yes" {
            let rested = await_rest(driver);
            check(driver, tally, rested.is_ok(), format!("behind {answer}: {rested:?}"));
        } else {
            driver.rest(1.0);
        }
        let _ = driver.stop_session();
    }
    Ok(())
}
