//! The attempt records of a run: one for every agent that worked at it, each fallback included.

use serde::{Deserialize, Serialize};

use super::record::Status;
use super::{Attempt, Run, Turn};
use crate::Wall;

/// What is recorded of one agent's work at a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Execution {
    /// The attempt, from 1.
    pub attempt: u32,
    /// Whose agent it was.
    pub provider: String,
    /// When it was asked.
    pub started: Wall,
    /// When it ended.
    pub ended: Option<Wall>,
    /// What became of it.
    pub status: Status,
    /// Files that it created, as they were seen.
    pub files_created: Vec<String>,
    /// Files that it changed.
    pub files_updated: Vec<String>,
    /// What the checks complained of afterwards.
    pub validation_errors: Vec<String>,
    /// Why it stopped.
    pub exit_reason: Option<String>,
}

impl Run {
    /// One record for every agent that worked at the task, the oldest first.
    pub fn executions(&self) -> Vec<Execution> {
        let of = |attempt: &Attempt| -> Vec<Execution> {
            let last = attempt.turns.len().saturating_sub(1);
            let turns = attempt.turns.iter().enumerate();
            turns.map(|(index, turn)| execution(attempt, turn, index == last)).collect()
        };
        self.attempts.iter().flat_map(of).collect()
    }
}

/// Whoever worked last has the attempt's outcome; those before it were given up on.
fn execution(attempt: &Attempt, turn: &Turn, is_last: bool) -> Execution {
    let changes = turn.changes.clone().unwrap_or_default();
    Execution {
        attempt: attempt.number,
        provider: turn.provider.clone(),
        started: turn.started,
        ended: turn.ended,
        status: if is_last { attempt.status } else { Status::Failed },
        files_created: changes.created,
        files_updated: changes.modified,
        validation_errors: if is_last { attempt.errors.clone() } else { Vec::new() },
        exit_reason: turn.reason.clone(),
    }
}
