//! An agent that messages are sent to.

use std::io::Write;
use std::process::Stdio;

use anyhow::{Context, Result};
use ostler_testkit::model_server::Event;
use serde_json::Value;

use super::message::Message;
use super::tally::{Said, Sent, normal};
use super::trial::Stage;
use crate::driver::{Driver, output};

/// How long an agent may take to come to rest.
const REST: &str = "90";

/// Starts the agent under this name.
pub fn start(driver: &mut Driver, stage: &Stage, name: &str) -> Result<()> {
    start_with(driver, stage, name, &[])
}

/// Starts the agent under this name, with more to say to `ostler start`.
pub fn start_with(driver: &mut Driver, stage: &Stage, name: &str, more: &[&str]) -> Result<()> {
    driver.turn_to(name);
    driver.start_with(crate::stage::CWD, &stage.env, &stage.agent, &stage.program, &stage.args, more)
}

/// Waits until ostler says that the agent is at rest.
pub fn await_rest(driver: &Driver) -> Result<()> {
    output(&mut driver.command(&["wait", driver.name(), "idle", "--timeout", REST])).map(drop)
}

/// Sends a message as a person would, and waits for the proof.
pub fn send(driver: &Driver, message: &Message, timeout: u32, timed: bool) -> Result<Sent> {
    send_with(driver, message, timeout, timed, &["--wait", "submitted"])
}

/// Sends a message, and asks the agent to confirm it.
pub fn send_with_request(driver: &Driver, message: &Message, timeout: u32) -> Result<Sent> {
    let sent = send_with(driver, message, timeout, false, &["--wait", "acknowledged"])?;
    let acknowledged = sent.said == Said::Submitted;
    // One that is not confirmed may well have been taken.
    let taken = |sent: Sent| match &sent.said {
        Said::Waiting(_) => send_with(driver, message, 1, false, &["--wait", "submitted"]),
        _ => Ok(sent),
    };
    Ok(Sent { asked: true, acknowledged, ..taken(sent)? })
}

/// Sends a message with more to say to `ostler send`.
pub fn send_with(
    driver: &Driver,
    message: &Message,
    timeout: u32,
    timed: bool,
    more: &[&str],
) -> Result<Sent> {
    let mut command = driver.command(&["send", driver.name(), "-", "--id", &message.id, "--json"]);
    command.args(more).args(["--timeout", &timeout.to_string()]);
    let at = driver.now();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    child.stdin.take().context("no standard input")?.write_all(message.text.as_bytes())?;
    let done = child.wait_with_output()?;
    let returned = driver.now();
    let told: Value = serde_json::from_slice(&done.stdout).unwrap_or_default();
    let text = |name: &str| told[name].as_str().map(str::to_owned);
    let why = || {
        let complaint = String::from_utf8_lossy(&done.stderr).into_owned();
        text("failure").or_else(|| text("waits_for")).unwrap_or(complaint)
    };
    let said = match text("state").as_deref() {
        _ if done.status.success() => Said::Submitted,
        Some("failed") => Said::Failed(why()),
        Some("uncertain") => Said::Uncertain(why()),
        _ => Said::Waiting(why()),
    };
    let evidence = told["evidence"].as_array().into_iter().flatten();
    Ok(Sent {
        message: message.clone(),
        at,
        returned,
        said,
        attempts: told["attempts"].as_u64().unwrap_or(0),
        enters: told["enters"].as_u64().unwrap_or(0),
        evidence: evidence.filter_map(|line| line.as_str().map(str::to_owned)).collect(),
        timed,
        asked: false,
        acknowledged: false,
    })
}

/// Waits until the model has heard a message and has answered; returns when it heard it.
pub fn await_heard(driver: &Driver, stage: &Stage, message: &Message, timeout: f64) -> Result<f64> {
    let whole = normal(&message.text);
    driver.until("the model hears it", timeout, || {
        let log = driver.exchanges();
        let heard = log.iter().find(|entry| match &entry.event {
            // A request without tools is one on the side, say for a title.
            Event::Received { tools, .. } if tools.is_empty() && !stage.without_tools => false,
            Event::Received { fresh, .. } => fresh.iter().any(|text| {
                message.token.as_ref().is_some_and(|token| text.contains(token)) || normal(text) == whole
            }),
            _ => false,
        });
        Ok(heard
            .filter(|heard| {
                log.iter().any(|entry| {
                    entry.exchange == heard.exchange && matches!(entry.event, Event::LastByte { .. })
                })
            })
            .map(|heard| heard.at))
    })
}
