//! What it means that an agent stopped.
//!
//! # Theory of operation
//!
//! Several things are known when an agent stops: what the detector says, whether the checks pass, whether the work
//! tree changed, what the agent's last words come to, and how many prompts there were. They are asked in this order,
//! the most reliable first, and the first that has an answer gives the conclusion: a dialog beats checks, checks
//! beat words. What was decided by words alone is never certain, and below the threshold nothing is recommended.

mod words;

use serde::{Deserialize, Serialize};

pub use words::{LastWords, last_words};

use crate::State;

/// Below this confidence nothing is recommended, unless the settings say otherwise.
pub const THRESHOLD: f32 = 0.7;

/// What it means that an agent stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Conclusion {
    /// The task is done.
    TaskComplete,
    /// It waits for a person.
    WaitingInput,
    /// Something keeps it from going on.
    StuckOrError,
    /// There is more to do.
    Incomplete,
    /// It has had as many prompts as it may have.
    MaxIterations,
    /// Nobody can tell.
    Unknown,
}

/// What to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recommendation {
    /// Tell it to go on.
    InjectPrompt,
    /// Give it the next task.
    AssignNextTask,
    /// Tell a person.
    NotifyOwner,
    /// Let it try again, and tell it what failed.
    RetryWithHints,
    /// Leave it alone for a while.
    PauseAgent,
    /// Nothing.
    NoAction,
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
    /// What the detector says.
    pub state: State,
    /// What the checks said, if there are any and they were run.
    pub checks: Option<Checked>,
    /// Whether the work tree changed, if that can be told.
    pub changed: Option<bool>,
    /// What the agent's last words come to.
    pub words: LastWords,
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
    pub confidence: f32,
    /// What speaks for it.
    pub evidence: Vec<String>,
    /// What to do.
    pub recommendation: Recommendation,
    /// Prompts so far.
    pub iterations: u32,
    /// Prompts that there may be.
    pub max_iterations: u32,
}

/// Says what it means that an agent stopped. Below the threshold, nothing is recommended.
pub fn analyse(observed: &Observed, threshold: f32) -> Analysis {
    let (conclusion, confidence, evidence, recommendation) = by_state(observed)
        .or_else(|| by_checks(observed))
        .or_else(|| by_count(observed))
        .unwrap_or_else(|| by_words(observed));
    Analysis {
        conclusion,
        confidence,
        evidence,
        recommendation: if confidence < threshold { Recommendation::NoAction } else { recommendation },
        iterations: observed.iterations,
        max_iterations: observed.max_iterations,
    }
}

type Found = (Conclusion, f32, Vec<String>, Recommendation);

fn found(conclusion: Conclusion, confidence: f32, evidence: &str, recommendation: Recommendation) -> Found {
    (conclusion, confidence, vec![evidence.to_owned()], recommendation)
}

fn by_state(observed: &Observed) -> Option<Found> {
    use {Conclusion as C, Recommendation as R};
    let evidence = format!("state: {}", observed.state);
    let (conclusion, confidence, recommendation) = match observed.state {
        State::Starting | State::Working | State::Watching => (C::Unknown, 0.0, R::NoAction),
        State::Blocked => (C::WaitingInput, 0.95, R::NotifyOwner),
        State::Limited => (C::StuckOrError, 0.95, R::PauseAgent),
        State::Error => (C::StuckOrError, 0.9, R::RetryWithHints),
        State::Idle | State::Exited | State::Unknown => return None,
    };
    Some(found(conclusion, confidence, &evidence, recommendation))
}

fn by_checks(observed: &Observed) -> Option<Found> {
    match observed.checks? {
        Checked { passed: 0, failed: 0 } => None,
        Checked { passed, failed: 0 } => Some(found(
            Conclusion::TaskComplete,
            0.95,
            &format!("checks: {passed} passed"),
            Recommendation::AssignNextTask,
        )),
        Checked { failed, .. } if observed.iterations < observed.max_iterations => Some(found(
            Conclusion::Incomplete,
            0.9,
            &format!("checks: {failed} failed"),
            Recommendation::RetryWithHints,
        )),
        Checked { .. } => None,
    }
}

fn by_count(observed: &Observed) -> Option<Found> {
    (observed.iterations >= observed.max_iterations).then(|| {
        let evidence = format!("{} of {} prompts were given", observed.iterations, observed.max_iterations);
        found(Conclusion::MaxIterations, 1.0, &evidence, Recommendation::NotifyOwner)
    })
}

fn by_words(observed: &Observed) -> Found {
    use {Conclusion as C, Recommendation as R};
    let ended = observed.state == State::Exited;
    let mut answer = match (observed.words, observed.changed) {
        (LastWords::Asks, _) => found(C::WaitingInput, 0.8, "last words: a question", R::NotifyOwner),
        (LastWords::SaysDone, Some(true)) => {
            found(C::TaskComplete, 0.75, "last words: it is done", R::AssignNextTask)
        }
        (LastWords::SaysDone, None) => {
            found(C::TaskComplete, 0.6, "last words: it is done", R::AssignNextTask)
        }
        (LastWords::SaysDone, Some(false)) => {
            found(C::Unknown, 0.3, "last words: it is done", R::NotifyOwner)
        }
        (LastWords::WillContinue, _) => {
            found(C::Incomplete, 0.75, "last words: what comes next", R::InjectPrompt)
        }
        (LastWords::Stuck, _) => {
            found(C::StuckOrError, 0.75, "last words: something failed", R::RetryWithHints)
        }
        (LastWords::Other, _) if ended => found(C::StuckOrError, 0.5, "its program ended", R::NotifyOwner),
        (LastWords::Other, _) => found(C::Unknown, 0.0, "nothing tells", R::NoAction),
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
