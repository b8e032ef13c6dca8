//! What an earlier run of the same task left: nothing is forgotten of a task that is not done.

use serde::{Deserialize, Serialize};

use super::record::{Attempt, Changes};
use super::{Outcome, Run};

/// Attempts that are kept.
const MOST: usize = 3;

/// The attempts of earlier runs of a task, none of which got it done.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Earlier {
    /// How many there were in all.
    pub count: u32,
    /// The last of them, the oldest first.
    pub attempts: Vec<Attempt>,
}

impl Earlier {
    /// What a run leaves to the next one of its task; nothing if the task is done, or nobody tried.
    pub fn of(run: &Run) -> Option<Self> {
        if matches!(run.outcome(), None | Some(Outcome::Done | Outcome::FinishedUnchecked)) {
            return None;
        }
        let tried = |attempt: &&Attempt| attempt.turns.iter().any(|turn| turn.submitted.is_some());
        let own: Vec<&Attempt> = run.attempts.iter().filter(tried).collect();
        let count = run.earlier.count.saturating_add(u32::try_from(own.len()).unwrap_or(u32::MAX));
        let mut attempts: Vec<Attempt> = run.earlier.attempts.iter().chain(own).cloned().collect();
        attempts.drain(..attempts.len().saturating_sub(MOST));
        for turn in attempts.iter_mut().flat_map(|attempt| &mut attempt.turns) {
            turn.words = None;
        }
        (count > 0).then_some(Self { count, attempts })
    }
}

impl Run {
    /// The same run, whose agents are told of those of an earlier one.
    #[must_use]
    pub fn continuing(mut self, earlier: Earlier) -> Self {
        self.earlier = earlier;
        self
    }

    /// What earlier runs of the task left.
    pub fn earlier(&self) -> &Earlier {
        &self.earlier
    }

    /// What all attempts at the task changed together, those of earlier runs too.
    pub(super) fn all_changes(&self) -> Changes {
        let attempts = self.earlier.attempts.iter().chain(&self.attempts);
        attempts.fold(Changes::default(), |all, attempt| all.then(&attempt.changes()))
    }
}
