//! What it means that an agent stopped.
//!
//! # Theory of operation
//!
//! Several things are known when an agent stops: how (structured: a dialog, a limit, a failed turn, its end), whether the checks
//! pass, what its last words come to, whether the work tree changed, and how many prompts there were. They are asked in this
//! order, the most reliable first, and the first that has an answer gives the conclusion: a dialog beats checks, checks beat
//! words. A question is for a person, also where checks fail: another prompt would only be answered with it again. What was
//! decided by words alone is never certain. What to do follows from the conclusion by a table ([`Actions`]), and below the
//! threshold that is nothing.

mod actions;
mod words;

use serde::{Deserialize, Serialize};

pub use actions::{Action, Actions};
pub use words::{LastWords, last_words};

use crate::Failure;
use crate::stop::Stop;

/// Below this confidence nothing is recommended, unless the settings say otherwise.
pub const THRESHOLD: f64 = 0.7;

/// What it means that an agent stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Conclusion {
    /// The task is done.
    #[serde(alias = "task_complete")]
    TaskComplete,
    /// It waits for a person.
    #[serde(alias = "waiting_input")]
    WaitingInput,
    /// It waits for something else: a limit to end, a provider to come back.
    #[serde(alias = "waiting_external")]
    WaitingExternal,
    /// Something keeps it from going on.
    #[serde(alias = "stuck_or_error")]
    StuckOrError,
    /// There is more to do.
    #[serde(alias = "incomplete")]
    Incomplete,
    /// It has had as many prompts as it may have.
    #[serde(alias = "max_iterations")]
    MaxIterations,
    /// Nobody can tell.
    #[serde(alias = "unknown")]
    Unknown,
}

/// What the checks said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Checked {
    /// Checks that passed.
    pub passed: u32,
    /// Checks that failed. None that failed is no failure, whatever the text of their report.
    pub failed: u32,
}

/// What is known when an agent stops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observed {
    /// How it stopped.
    pub stop: Stop,
    /// What the checks said, if there are any and they were run.
    pub checks: Option<Checked>,
    /// Whether the work tree changed, if that can be told.
    pub changed: Option<bool>,
    /// What the agent's last words come to.
    pub words: LastWords,
    /// It has asked its owner something by a tool, and has no answer.
    pub asked: bool,
    /// It has said by a tool that it waits for something.
    pub waits: bool,
    /// It has asked by a tool to be sent on.
    pub wants_on: bool,
    /// Prompts so far.
    pub iterations: u32,
    /// Prompts that there may be.
    pub max_iterations: u32,
}

/// What it means, how sure that is, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Analysis {
    /// What it means.
    pub conclusion: Conclusion,
    /// From 0, a guess, to 1, certain.
    pub confidence: f64,
    /// What speaks for it.
    pub evidence: Vec<String>,
    /// Prompts so far.
    pub iterations: u32,
    /// Prompts that there may be.
    pub max_iterations: u32,
}

/// Says what it means that an agent stopped.
pub fn analyse(observed: &Observed) -> Analysis {
    let (conclusion, confidence, evidence) = by_stop(observed)
        .or_else(|| by_checks(observed))
        .or_else(|| by_count(observed))
        .unwrap_or_else(|| by_words(observed));
    let Observed { iterations, max_iterations, .. } = *observed;
    Analysis { conclusion, confidence, evidence, iterations, max_iterations }
}

type Found = (Conclusion, f64, Vec<String>);

fn found(conclusion: Conclusion, confidence: f64, evidence: impl Into<String>) -> Found {
    (conclusion, confidence, vec![evidence.into()])
}

fn by_stop(observed: &Observed) -> Option<Found> {
    use Conclusion as C;
    Some(match observed.stop {
        // What its words ask comes behind what the checks say.
        Stop::Idle { .. } => return None,
        Stop::Blocked { kind } => found(C::WaitingInput, 0.95, format!("a dialog: {}", kind.as_str())),
        Stop::Limited { limit, .. } => {
            found(C::WaitingExternal, 0.95, format!("a limit: {}", limit.as_str()))
        }
        Stop::TurnFailed { failure, by, .. } => {
            let evidence = format!("the turn failed: {} ({})", failure.as_str(), by.source());
            match failure {
                Failure::RateLimit | Failure::Quota | Failure::Overloaded | Failure::Unavailable => {
                    found(C::WaitingExternal, 0.95, evidence)
                }
                // Only a person can log in.
                Failure::Auth => found(C::WaitingInput, 0.95, evidence),
                Failure::Invalid | Failure::Other => found(C::StuckOrError, 0.9, evidence),
            }
        }
        Stop::StatusError => found(C::StuckOrError, 0.9, "the program says that it failed"),
        Stop::Exited { status: Some(status), .. } => {
            found(C::StuckOrError, 0.9, format!("its process ended with status {status}"))
        }
        Stop::Exited { signal: Some(signal), .. } => {
            found(C::StuckOrError, 0.95, format!("its process was ended by signal {signal}"))
        }
        Stop::Exited { .. } | Stop::Lost => found(C::StuckOrError, 0.9, "its process is gone"),
        Stop::Ended => found(C::WaitingInput, 1.0, "a person or a program stopped it"),
    })
}

fn by_checks(observed: &Observed) -> Option<Found> {
    let asks = observed.words == LastWords::Asks || observed.stop.asks();
    match observed.checks.unwrap_or_default() {
        Checked { passed: 1.., failed: 0 } if observed.checks.is_some() => {
            let passed = observed.checks.unwrap_or_default().passed;
            Some(found(Conclusion::TaskComplete, 0.95, format!("checks: {passed} passed")))
        }
        _ if observed.asked => Some(found(
            Conclusion::WaitingInput,
            0.95,
            "its question to its owner has no answer (`ostler ask list`)",
        )),
        _ if observed.waits => {
            Some(found(Conclusion::WaitingExternal, 0.95, "the agent said what it waits for"))
        }
        _ if observed.wants_on && observed.iterations < observed.max_iterations => {
            Some(found(Conclusion::Incomplete, 0.95, "the agent asked to be sent on"))
        }
        _ if asks => Some(found(Conclusion::WaitingInput, 0.85, "last words: a question")),
        Checked { failed: 0, .. } => None,
        Checked { failed, .. } if observed.iterations < observed.max_iterations => {
            Some(found(Conclusion::Incomplete, 0.9, format!("checks: {failed} failed")))
        }
        Checked { .. } => None,
    }
}

fn by_count(observed: &Observed) -> Option<Found> {
    (observed.iterations >= observed.max_iterations && observed.words != LastWords::SaysDone).then(|| {
        let evidence = format!("{} of {} prompts were given", observed.iterations, observed.max_iterations);
        found(Conclusion::MaxIterations, 1.0, evidence)
    })
}

fn by_words(observed: &Observed) -> Found {
    use Conclusion as C;
    let failed = observed.checks.is_some_and(|checks| checks.failed > 0);
    let mut answer = match (observed.words, observed.changed) {
        _ if failed => found(C::MaxIterations, 1.0, "checks fail, and every prompt was given"),
        (LastWords::Asks, _) => found(C::WaitingInput, 0.85, "last words: a question"),
        (LastWords::SaysDone, Some(true)) => found(C::TaskComplete, 0.75, "last words: it is done"),
        (LastWords::SaysDone, None) => found(C::TaskComplete, 0.6, "last words: it is done"),
        (LastWords::SaysDone, Some(false)) => found(C::Unknown, 0.3, "last words: it is done"),
        (LastWords::WillContinue, _) => found(C::Incomplete, 0.75, "last words: what comes next"),
        (LastWords::Stuck, _) => found(C::StuckOrError, 0.75, "last words: something failed"),
        (LastWords::Other, _) => found(C::Unknown, 0.0, "nothing tells"),
    };
    answer.2.extend(
        observed
            .changed
            .map(|changed| if changed { "work tree: changed" } else { "work tree: unchanged" }.to_owned()),
    );
    answer
}

#[cfg(test)]
mod tests;
