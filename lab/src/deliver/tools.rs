//! The tools that ostler gives agents: does a model's call reach ostler, and the answer the model?

use anyhow::Result;
use ostler_testkit::model_server::Event;
use serde_json::Value;

use super::context;
use super::job::{Effort, Job};
use super::message;
use super::session::{await_heard, await_rest, send, start};
use super::tally::{Sent, Tally};
use super::trial::Stage;
use crate::driver::{Driver, output};
use crate::stage::CWD;

/// Seconds in which a message has to arrive.
const TIMEOUT: u32 = 60;
/// Seconds in which a call has to come back.
const CALLS: f64 = 30.0;

/// What the model server has to look for: what only ostler knows.
pub fn tokens(effort: &Effort) -> Vec<String> {
    (0..effort.rounds).map(|round| context::token(effort, round)).collect()
}

/// Has the agent tell of its progress, confirm the message and load the context, once a round; returns the messages.
pub fn run(driver: &mut Driver, job: &Job, stage: &Stage, tally: &mut Tally) -> Result<Vec<Sent>> {
    let mut sent = Vec::new();
    start(driver, stage, "tools")?;
    for round in 0..job.effort.rounds {
        let known = context::token(&job.effort, round);
        output(&mut driver.command(&["context", "save", &known, "--cwd", CWD]))?;
        await_rest(driver)?;
        let progress = format!("round {round}");
        let mut message = message::short(job.effort.seed, round, "");
        let calls = format!(
            "use your tools [[call report_progress {{\"text\": \"{progress}\", \"percent\": 50}}]] \
             [[call ack {{\"id\": \"{}\"}}]] [[call context_load {{}}]] [[say 3 words]]",
            message.id
        );
        message.text.push_str(&calls);
        sent.push(send(driver, &message, TIMEOUT, false)?);
        await_heard(driver, stage, &message, TIMEOUT.into())?;
        tally.contexts += 1;
        let came_back = driver.until("the model knows what ostler knows", CALLS, || {
            let has_it = |event: &Event| match event {
                Event::Received { watched, .. } => watched.contains_key(&known),
                _ => false,
            };
            Ok(driver.exchanges().iter().any(|entry| has_it(&entry.event)).then_some(()))
        });
        driver.snapshot(&format!("tools-{round}"));
        let told = |args: &[&str]| -> Result<Value> {
            Ok(serde_json::from_str(&output(&mut driver.command(args))?)?)
        };
        let status = told(&["status", driver.name(), "--json"])?;
        let messages = told(&["messages", "list", driver.name(), "--all", "--json"])?;
        let own = messages.as_array().into_iter().flatten().find(|own| own["id"] == *message.id);
        let lacks = [
            (status["progress"]["text"] != *progress).then(|| format!("progress {}", status["progress"])),
            own.is_none_or(|own| own["proof"] != "acknowledged").then(|| format!("message {own:?}")),
            came_back.err().map(|error| format!("{error:#}")),
        ];
        let lacks: Vec<String> = lacks.into_iter().flatten().collect();
        if lacks.is_empty() {
            tally.visible += 1;
        } else {
            tally.notes.push(format!("round {round}: {}", lacks.join("; ")));
        }
    }
    await_rest(driver)?;
    Ok(sent)
}
