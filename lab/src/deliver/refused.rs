//! Commands that the agent does not know: is it told, and are they out of the way of the next message?

use anyhow::{Context, Result};

use super::job::Job;
use super::message::{self, Kind, Message};
use super::session::{await_heard, await_rest, send, send_with, start};
use super::tally::{Said, Sent, Tally};
use super::trial::Stage;
use crate::driver::Driver;

/// Seconds in which a message has to arrive.
const TIMEOUT: u32 = 60;
/// The agent's own command, as its file calls it.
pub const COMMAND: &str = "refused";

/// Gives an unknown command in each round, then a message; returns the messages.
pub fn run(driver: &mut Driver, job: &Job, stage: &Stage, tally: &mut Tally) -> Result<Vec<Sent>> {
    let text = job.agent.commands.get(COMMAND).and_then(|command| command.keys.first());
    let text = text.context("no command that it refuses is described")?;
    let mut sent = Vec::new();
    start(driver, stage, "refused")?;
    for round in 0..job.effort.rounds {
        await_rest(driver)?;
        let id = format!("refused-{round}");
        let command = Message { id, kind: Kind::Line, token: None, text: text.clone() };
        let answer = send_with(driver, &command, TIMEOUT, false, &["--command", "--wait", "submitted"])?;
        let refused = matches!(&answer.said, Said::Failed(why) if why.contains("refused the command"));
        if !refused {
            tally.falsely += 1;
            tally.notes.push(format!("{text} was refused, and was said to be {:?}", answer.said));
        }
        driver.snapshot(&format!("refused-{round}"));
        let next = message::short(job.effort.seed, round, "what comes after it");
        sent.push(send(driver, &next, TIMEOUT, false)?);
        await_heard(driver, stage, &next, TIMEOUT.into())?;
    }
    Ok(sent)
}
