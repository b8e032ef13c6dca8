//! Whether an agent that is sent on gets anywhere.

use serde::{Deserialize, Serialize};

use crate::run::plain_failure;

/// Stops in a row that show the same, and so are no progress.
const SAME: u32 = 3;

/// What shows where the work stands: the agent's last words and what fails, without what differs from one time to the next.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stand {
    said: String,
    failures: Vec<String>,
}

impl Stand {
    /// What is known at a stop.
    pub fn new(said: Option<&str>, failures: &[String]) -> Self {
        let said = plain_failure(said.unwrap_or_default());
        Self { said, failures: failures.iter().map(|failure| plain_failure(failure)).collect() }
    }
}

/// How often the same was seen.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Progress {
    last: Option<Stand>,
    seen: u32,
    /// Prompts that had been given by then.
    turns: u32,
}

impl Progress {
    /// Takes note of a stop behind so many prompts; `changed` says whether the work tree is another one, if that can be
    /// told. A second look at the same stop is no other one.
    pub(super) fn note(&mut self, stand: Stand, changed: Option<bool>, turns: u32) {
        let same = changed != Some(true) && self.last.as_ref() == Some(&stand);
        self.seen = match same {
            true if self.turns == turns && self.seen > 0 => self.seen,
            true => self.seen + 1,
            false => 1,
        };
        self.turns = turns;
        self.last = Some(stand);
    }

    pub(super) fn is_stuck(&self) -> bool {
        self.seen >= SAME
    }

    /// How often the same was seen again.
    pub(super) fn repeats(&self) -> u32 {
        self.seen.saturating_sub(1)
    }
}
