//! Agents that are killed and resumed: does the model know what was said before?

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::context::requests;
use super::job::{Effort, Job};
use super::message::{self, Message};
use super::session::{await_heard, await_rest, send, start};
use super::tally::{Sent, Tally};
use super::trial::Stage;
use crate::driver::{Driver, output};

/// Seconds in which a message has to arrive.
const TIMEOUT: u32 = 90;

/// What the model server has to look for: what was said before the agents were killed.
pub fn tokens(effort: &Effort) -> Vec<String> {
    (0..effort.rounds).filter_map(|round| before(effort, round).token).collect()
}

/// What an agent is told before it is killed.
fn before(effort: &Effort, round: usize) -> Message {
    message::short(effort.seed, 2 * round, "please remember this")
}

/// Starts, kills and resumes the agent once a round; returns what was sent.
pub fn run(driver: &mut Driver, job: &Job, stage: &Stage, tally: &mut Tally) -> Result<Vec<Sent>> {
    let mut sent = Vec::new();
    for round in 0..job.effort.rounds {
        let first = before(&job.effort, round);
        let second = message::short(job.effort.seed, 2 * round + 1, "what should you remember?");
        start(driver, stage, &format!("resume-{round}"))?;
        sent.push(send(driver, &first, TIMEOUT, false)?);
        await_heard(driver, stage, &first, 60.0)?;
        await_rest(driver)?;
        // Agents write down what was said a moment after it was; what they had no time for is lost to them.
        driver.rest(2.0);
        kill_agent(driver)?;
        resume(driver, stage)?;
        sent.push(send(driver, &second, TIMEOUT, false)?);
        await_heard(driver, stage, &second, 60.0)?;
        tally.contexts += 1;
        let token = |message: &Message| message.token.clone().unwrap_or_default();
        let known = requests(driver, job, &token(&first), &token(&second));
        if known.first().is_some_and(|(_, times)| *times > 0) {
            tally.visible += 1;
        } else {
            tally.notes.push(format!("round {round}: the model did not know what was said before"));
        }
        driver.snapshot(&format!("resume-{round}"));
        let _ = driver.stop_session();
    }
    Ok(sent)
}

/// Kills the agent's own process, and waits until ostler says that it has ended.
fn kill_agent(driver: &Driver) -> Result<()> {
    let status = output(&mut driver.command(&["status", driver.name(), "--json"]))?;
    let status: Value = serde_json::from_str(&status)?;
    let pid = status["pid"].as_i64().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
    kill_process(pid.context("the agent has no process")?, Signal::KILL)?;
    output(&mut driver.command(&["wait", driver.name(), "exited", "--timeout", "60"])).map(drop)
}

fn resume(driver: &Driver, stage: &Stage) -> Result<()> {
    let mut command = driver.command(&["resume", driver.name(), "--timeout", "120"]);
    for (name, value) in &stage.env {
        command.arg("--env").arg(format!("{name}={value}"));
    }
    output(&mut command).map(drop)
}
