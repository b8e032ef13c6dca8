//! `ostler demo`
//!
//! Drives this very program as a user would, in a home and a repository of its own: a task is given to two
//! stand-in agents. The first runs into its limit, the second takes over and gets it right at the second try; the
//! daemon is killed meanwhile. Only the agents are made up.

mod stage;

use std::io::{BufRead, BufReader};
use std::process::{ExitCode, Stdio};

use serde_json::Value;

use self::stage::{FIRST, SECOND, Stage};
use crate::error::{CommandError, Kind};
use crate::output;

const TASK: &str = "Write greeting.txt, which says hello, and farewell.txt, which says goodbye.";

pub(crate) fn run() -> Result<ExitCode, CommandError> {
    let stage = Stage::set()?;
    let outcome = play(&stage);
    stage.clear();
    outcome.and_then(|()| ending()).map(|()| ExitCode::SUCCESS)
}

fn play(stage: &Stage) -> Result<(), CommandError> {
    say(&format!(
        "Two stand-in agents, {FIRST} and {SECOND}, and a git repository with a check. No account, no network.\n   \
         {FIRST} asks first whether the folder is trusted; --trust answers. Then it hits its usage limit."
    ))?;
    let agents = format!("{FIRST},{SECOND}");
    output::print(&format!(
        "$ ostler run '{TASK}' \\\n    --agent {agents} --check 'sh check.sh' --trust\n"
    ))?;
    let report = follow(stage, &["run", TASK, "--agent", &agents, "--check", "sh check.sh", "--trust"])?;

    say("The report: what each attempt came to, and what changed on the disk, whoever did it.")?;
    output::print(&report)?;
    expect(report.contains("done: the checks pass"), "the checks pass")?;

    say(&format!("{FIRST} is left alone until its limit ends; the next run begins with {SECOND}."))?;
    stage.show("ostler providers", &["providers"])?;

    say("What the agents say they saw: every prompt once, though the daemon was killed in between.")?;
    let mut received = 0;
    for agent in [FIRST, SECOND] {
        for answer in stage.logged(agent, "answered", "choice")? {
            output::print(&format!("  {agent}: a dialog, answered with {answer:?}\n"))?;
        }
        for prompt in stage.logged(agent, "submitted", "text")? {
            received += 1;
            let first = prompt.lines().next().unwrap_or_default();
            output::print(&format!(
                "  {agent}: a prompt of {} lines: {first:?} …\n",
                prompt.lines().count()
            ))?;
        }
    }
    expect(received == 3, "three prompts arrived, each exactly once")
}

/// Runs a command and shows what it says as it says it. When the second agent is at work, the daemon is killed.
fn follow(stage: &Stage, args: &[&str]) -> Result<String, CommandError> {
    let mut child =
        stage.command(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut killed = false;
    let said = child.stderr.take().map(BufReader::new);
    for line in said.into_iter().flat_map(BufRead::lines) {
        let line = line?;
        output::print(&format!("  {line}\n"))?;
        if !killed && line.contains(&format!("{SECOND} works")) {
            killed = true;
            let pid = stage.kill_daemon()?;
            output::print(&format!(
                "  $ kill -9 {pid}   # the daemon; the next one finds agent and run again\n"
            ))?;
        }
    }
    let ended = child.wait_with_output()?;
    expect(ended.status.success(), "the run succeeds")?;
    expect(killed, "the daemon was killed")?;
    Ok(String::from_utf8_lossy(&ended.stdout).into_owned())
}

/// How to go on.
fn ending() -> Result<(), CommandError> {
    let here = std::env::current_dir()?;
    match super::agents::for_run(&here) {
        Ok(agents) => {
            let agents = agents.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(",");
            say(&format!(
                "That was it. With the agents of this machine, in a project of yours:\n\
                 $ ostler run 'WHAT IS TO BE DONE' --agent {agents} --check 'COMMAND THAT TELLS WHETHER IT IS'"
            ))
        }
        Err(_) => say(
            "That was it. No agent that ostler knows is installed here. Install one (`ostler agents list` has them),\n\
             or describe yours in a file (docs/agents.md), then, in a project of yours:\n\
             $ ostler run 'WHAT IS TO BE DONE' --check 'COMMAND THAT TELLS WHETHER IT IS'",
        ),
    }
}

fn say(text: &str) -> Result<(), CommandError> {
    output::print(&format!("\n== {text}\n"))
}

fn expect(holds: bool, what: &str) -> Result<(), CommandError> {
    if holds {
        Ok(())
    } else {
        Err(CommandError::new(Kind::Failed, format!("the demo failed: not so: {what}")))
    }
}

/// A number in an answer.
fn number(value: &Value) -> Option<i32> {
    value.as_i64().and_then(|number| i32::try_from(number).ok())
}
