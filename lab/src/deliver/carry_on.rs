//! Agents that stop before their work is done: are they sent on, as often as they should be, and left alone otherwise?

use anyhow::Result;
use ostler_testkit::model_server::Event;
use serde_json::Value;

use super::job::Job;
use super::message;
use super::session::start_with;
use super::tally::Tally;
use super::trial::Stage;
use crate::driver::{Driver, output};

/// Seconds in which an agent that is carried on comes to rest.
const TIMEOUT: f64 = 90.0;

/// A way to stop.
struct Way {
    name: &'static str,
    /// What the agent says whenever it is prompted.
    says: &'static str,
    /// The check passes when it is run so often; never, if that is 0.
    passes: u32,
    /// Where it comes to rest, and what is said of it.
    ends: (&'static str, &'static str),
    /// How often it is prompted, in all.
    prompts: usize,
}

const WAYS: [Way; 3] = [
    Way {
        name: "checked",
        says: "I wrote the first half of it.",
        passes: 3,
        ends: ("done", "checks: 1 passed"),
        prompts: 3,
    },
    Way {
        name: "asked",
        says: "Which of the two stables should I use?",
        passes: 0,
        ends: ("needs_owner", "last words: a question"),
        prompts: 1,
    },
    Way { name: "stuck", says: "All done.", passes: 0, ends: ("needs_owner", "no progress"), prompts: 3 },
];

/// What the model says, by the names in the prompts.
pub fn recitals() -> impl Iterator<Item = (String, String)> {
    WAYS.iter().map(|way| (way.name.to_owned(), way.says.to_owned()))
}

/// Starts the agent once for each way to stop, in each round, and counts.
pub fn run(driver: &mut Driver, job: &Job, stage: &Stage, tally: &mut Tally) -> Result<()> {
    for round in 0..job.effort.rounds {
        for (nth, way) in (0..).zip(&WAYS) {
            let name = format!("{}-{round}", way.name);
            let short = message::short(job.effort.seed, round * WAYS.len() + nth, "");
            let token = short.token.clone().unwrap_or_default();
            // By name: what stands in a prompt does not count as the agent's own words.
            let prompt = format!("{token} [[recite {}]]", way.name);
            // Outside of the work tree, which stays as it is.
            let count = format!("/tmp/{name}");
            let check = match way.passes {
                0 => "false".to_owned(),
                passes => format!("echo x >> {count}; [ $(wc -l < {count}) -ge {passes} ]"),
            };
            let more =
                ["--prompt", &prompt, "--carry-on", "--check", &check, "--pause", "1", "--timeout", "180"];
            tally.sent += 1;
            start_with(driver, stage, &name, &more)?;
            let (phase, why) = way.ends;
            let rests = driver.until("it comes to rest", TIMEOUT, || {
                let status = output(&mut driver.command(&["status", driver.name(), "--json"]))?;
                let standing = serde_json::from_str::<Value>(&status)?["carry_on"].take();
                let rests = ["done", "needs_owner"].iter().any(|phase| standing["phase"] == *phase);
                Ok(rests.then_some(standing))
            });
            let standing = rests.unwrap_or_default();
            let said = standing["why"].as_str().unwrap_or_default();
            let right = standing["phase"] == phase && said.contains(why);
            let prompts = prompts(driver, job, &token);
            tally.arrived += usize::from(right && prompts == way.prompts);
            tally.first_try += usize::from(right && prompts == way.prompts);
            if !right || prompts != way.prompts {
                tally.falsely += 1;
                tally.notes.push(format!(
                    "{name}: {prompts} prompts, not {}; it is {standing}, not {phase} ({why})",
                    way.prompts
                ));
            }
            driver.snapshot(&name);
            let _ = driver.stop_session();
        }
    }
    Ok(())
}

/// How often the model was first told of this task.
fn prompts(driver: &Driver, job: &Job, token: &str) -> usize {
    let told = |event: &Event| match event {
        Event::Received { fresh, tools, .. } => {
            let main = !tools.is_empty() || job.agent.server.without_tools;
            main && fresh.iter().any(|text| text.contains(token))
        }
        _ => false,
    };
    driver.exchanges().iter().filter(|entry| told(&entry.event)).count()
}
