//! Small messages, by turns through `ostler send`, through tmux (paste, wait 300 ms, Enter) and through a bare terminal, which
//! is the limit. And starts: by ostler up to the model's reading the first message, by tmux up to the agent's prompt.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use regex::Regex;

use super::bare::Bare;
use super::job::{Job, Outcome};
use super::message;
use super::session::{await_heard, await_rest, send, start};
use super::tally::Sent;
use super::trial::Stage;
use crate::driver::Driver;

/// The pause that people put between a paste and Enter.
const PAUSE: Duration = Duration::from_millis(300);
/// Seconds of rest before each message, by either way.
const REST: f64 = 1.0;

/// Starts by either way.
const STARTS: usize = 5;
/// Ways that a message goes in turn.
const LANES: usize = 3;

/// Sends by turns; returns what went through ostler, and adds the other times to the outcome.
pub fn run(driver: &mut Driver, job: &Job, stage: &Stage, outcome: &mut Outcome) -> Result<Vec<Sent>> {
    let mut sent = Vec::new();
    let ready = Regex::new(&job.agent.ready.appears)?;
    for round in 0..STARTS.min(job.effort.rounds) {
        cold(driver, job, stage, round, outcome)?;
        outcome.own_start.push(own_start(driver, stage, &ready)?);
    }
    start(driver, stage, "race")?;
    tmux_start(stage)?;
    await_rest(driver)?;
    driver.until("the prompt appears in tmux", 60.0, || Ok(ready.is_match(&tmux_screen()?).then_some(())))?;
    let mut bare = Bare::start(stage)?;
    driver.until("the prompt appears in a bare terminal", 60.0, || Ok(bare.shows(&ready).then_some(())))?;
    driver.rest(job.agent.ready.settle + 2.0);
    for round in 0..job.effort.rounds {
        let message =
            |lane| message::short(job.effort.seed, round * LANES + lane, "a small message about a horse");
        await_rest(driver)?;
        driver.rest(REST);
        let ours = message(0);
        let result = send(driver, &ours, 30, true)?;
        let _ = await_heard(driver, stage, &ours, 10.0);
        sent.push(result);
        driver.rest(REST);
        let theirs = message(1);
        let at = driver.now();
        tmux_paste(&theirs.text)?;
        match await_heard(driver, stage, &theirs, 10.0) {
            Ok(heard) => outcome.rival.push(heard - at),
            Err(_) => outcome.rival_lost += 1,
        }
        driver.rest(REST);
        let least = message(2);
        let at = driver.now();
        bare.send(&least.text)?;
        match await_heard(driver, stage, &least, 10.0) {
            Ok(heard) => outcome.bare.push(heard - at),
            Err(_) => outcome.bare_lost += 1,
        }
        driver.rest(REST);
    }
    let _ = tmux(&["kill-server"]).status();
    Ok(sent)
}

/// Starts the agent and sends it a message at once.
fn cold(driver: &mut Driver, job: &Job, stage: &Stage, round: usize, outcome: &mut Outcome) -> Result<()> {
    let message = message::short(job.effort.seed, 1000 + round, "right after the start");
    let began = driver.now();
    start(driver, stage, &format!("cold-{round}"))?;
    send(driver, &message, 90, true)?;
    outcome.cold.push(await_heard(driver, stage, &message, 60.0)? - began);
    driver.rest(REST);
    driver.stop_session()
}

/// Seconds that the agent needs by itself until its prompt is there.
fn own_start(driver: &Driver, stage: &Stage, ready: &Regex) -> Result<f64> {
    let began = driver.now();
    tmux_start(stage)?;
    let deadline = began + 90.0;
    while !ready.is_match(&tmux_screen()?) {
        if driver.now() > deadline {
            bail!("the agent does not start in tmux");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let seconds = driver.now() - began;
    driver.rest(REST);
    let _ = tmux(&["kill-server"]).status();
    driver.rest(REST);
    Ok(seconds)
}

fn tmux(args: &[&str]) -> Command {
    let mut command = Command::new("tmux");
    command.args(["-L", "race", "-f", "/dev/null"]).args(args).stdin(Stdio::null()).stderr(Stdio::null());
    command
}

fn tmux_start(stage: &Stage) -> Result<()> {
    let mut command = tmux(&["new-session", "-d", "-s", "race", "-x", "120", "-y", "40"]);
    command.args(["-c", crate::stage::CWD]);
    for (name, value) in &stage.env {
        command.arg("-e").arg(format!("{name}={value}"));
    }
    let status = command.arg(&stage.program).args(&stage.args).status();
    if !status.context("tmux does not run; install it")?.success() {
        bail!("tmux cannot start the agent");
    }
    Ok(())
}

fn tmux_screen() -> Result<String> {
    let done = tmux(&["capture-pane", "-p", "-t", "race"]).output()?;
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

fn tmux_paste(text: &str) -> Result<()> {
    let mut load = tmux(&["load-buffer", "-"]).stdin(Stdio::piped()).spawn()?;
    load.stdin.take().context("no standard input")?.write_all(text.as_bytes())?;
    load.wait()?;
    tmux(&["paste-buffer", "-p", "-d", "-t", "race"]).status()?;
    std::thread::sleep(PAUSE);
    tmux(&["send-keys", "-t", "race", "Enter"]).status()?;
    Ok(())
}
