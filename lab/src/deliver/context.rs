//! Starts with something to know and something to do: does the model know the one when it is told the other?

use anyhow::Result;
use ostler_testkit::model_server::Event;

use super::job::{Effort, Job};
use super::message::{self, Kind, Message};
use super::session::{await_heard, await_rest, send, send_with, start_with};
use super::tally::Tally;
use super::trial::Stage;
use crate::driver::Driver;

/// Lines of what there is to know, by turns: some agents' hooks print the short one, the long one is typed.
const LINES: [usize; 2] = [20, 30];
/// Where that is written.
const NOTES: &str = "/home/dev/notes.md";

/// What the model server has to look for: one token for each of so many starts.
pub fn tokens(effort: &Effort, starts: usize) -> Vec<String> {
    (0..starts).map(|start| token(effort, start)).collect()
}

/// What is to be known from a start.
pub fn token(effort: &Effort, round: usize) -> String {
    let mut random = fastrand::Rng::with_seed(effort.seed.wrapping_mul(97).wrapping_add(round as u64));
    let letters: String = std::iter::repeat_with(|| random.lowercase()).take(8).collect();
    format!("ctx{round:03}{letters}")
}

/// Writes down what is to be known; returns where.
pub fn write_notes(token: &str, round: usize) -> Result<&'static str> {
    let lines = (1..=LINES[round % LINES.len()]).map(|line| match line {
        15 => format!("The password of the stable is {token}.\n"),
        _ => format!("{line}: the horses are fed in the morning, and nobody rides before noon.\n"),
    });
    std::fs::write(NOTES, lines.collect::<String>())?;
    Ok(NOTES)
}

/// Starts the agent once a round, and counts.
pub fn run(driver: &mut Driver, job: &Job, stage: &Stage, tally: &mut Tally) -> Result<()> {
    for round in 0..job.effort.rounds {
        let token = token(&job.effort, round);
        let message = message::short(job.effort.seed, round, "and what do you know?");
        let more = ["--context", write_notes(&token, round)?, "--prompt", &message.text, "--timeout", "180"];
        tally.sent += 1;
        tally.contexts += 1;
        if let Err(error) = start_with(driver, stage, &format!("context-{round}"), &more) {
            tally.failed += 1;
            tally.notes.push(format!("start {round}: {error:#}"));
        } else if await_heard(driver, stage, &message, 60.0).is_err() {
            tally.lost += 1;
            tally.falsely += 1;
            tally.notes.push(format!("start {round}: the prompt was never heard"));
        } else {
            driver.rest(1.0);
            judge(driver, job, &token, message.token.as_deref().unwrap_or_default(), tally);
            forget(driver, job, stage, round, &token, tally)?;
        }
        driver.snapshot(&format!("context-{round}"));
        let _ = driver.stop_session();
    }
    Ok(())
}

/// Has the agent forget what it was told, by each of its commands that do that: it has to know it again.
fn forget(
    driver: &Driver,
    job: &Job,
    stage: &Stage,
    round: usize,
    context: &str,
    tally: &mut Tally,
) -> Result<()> {
    let commands = job.agent.commands.iter().filter(|(_, command)| command.forgets);
    for (nth, (name, command)) in (1..).zip(commands) {
        await_rest(driver)?;
        let text = command.keys.first().cloned().unwrap_or_default();
        let id = format!("{name}-{round}");
        let told = Message { id, kind: Kind::Line, token: None, text };
        send_with(driver, &told, 60, false, &["--command", "--wait", "seen"])?;
        await_rest(driver)?;
        let next = message::short(job.effort.seed, nth * 1_000 + round, "what do you know now?");
        tally.contexts += 1;
        send(driver, &next, 60, false)?;
        await_heard(driver, stage, &next, 60.0)?;
        driver.rest(1.0);
        let turns = requests(driver, job, context, next.token.as_deref().unwrap_or_default());
        let again = turns.len() == 1 && turns[0].1 == 1;
        tally.visible += usize::from(again);
        if !again {
            tally.notes.push(format!("behind {name}: turns and how often they had the context: {turns:?}"));
        }
        driver.snapshot(&format!("context-{round}-{name}"));
    }
    Ok(())
}

/// Looks at the requests that first said what to do.
fn judge(driver: &Driver, job: &Job, context: &str, prompt: &str, tally: &mut Tally) {
    let turns = requests(driver, job, context, prompt);
    let known = turns.first().map_or(0, |(_, times)| *times);
    tally.visible += usize::from(known == 1);
    tally.arrived += usize::from(turns.len() == 1);
    tally.first_try += usize::from(turns.len() == 1 && known == 1);
    if turns.len() > 1 || known > 1 {
        tally.doubled += 1;
        tally.notes.push(format!("{prompt}: turns and how often they had the context: {turns:?}"));
    } else if known == 0 {
        tally.notes.push(format!("{prompt}: the model did not know {context}"));
    }
}

/// The requests that first say a prompt: its place in the conversation, and how often they have the context. The model
/// fails nobody here, so each of them is a turn.
pub fn requests(driver: &Driver, job: &Job, context: &str, prompt: &str) -> Vec<(usize, usize)> {
    let exchanges = driver.exchanges();
    let request = |event: &Event| match event {
        Event::Received { fresh, prompts, tools, watched, .. } => {
            let main = !tools.is_empty() || job.agent.server.without_tools;
            let says = main && fresh.iter().any(|text| text.contains(prompt));
            says.then(|| (*prompts, watched.get(context).copied().unwrap_or(0)))
        }
        _ => None,
    };
    exchanges.iter().filter_map(|entry| request(&entry.event)).collect()
}
