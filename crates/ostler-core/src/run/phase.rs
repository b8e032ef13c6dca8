//! Where a run can stand.

use serde::{Deserialize, Serialize};

use super::outcome::{GiveUp, Outcome};
use crate::{Asking, Wall};

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// It has not begun.
    New,
    /// A provider is being chosen.
    Choosing,
    /// No provider can be used before this moment.
    Waiting {
        /// When one is chosen again.
        until: Wall,
    },
    /// An agent has the task.
    Agent {
        /// How far it is.
        stage: Stage,
        /// When it must be further.
        due: Option<Wall>,
        /// It waits for a person.
        blocked: Option<Blocked>,
    },
    /// The work tree is being looked at.
    Observing {
        /// When that is given up.
        due: Wall,
        /// What comes then.
        then: Then,
    },
    /// The checks are running.
    Checking {
        /// When they count as failed.
        due: Wall,
    },
    /// A helper was asked.
    AskingHelper {
        /// When it counts as of no help.
        due: Wall,
        /// What about.
        #[serde(default)]
        inquiry: Inquiry,
    },
    /// It is over.
    Ended {
        /// How it ended.
        outcome: Outcome,
    },
}

/// What a helper is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inquiry {
    /// Attempts that failed in the same way.
    #[default]
    Failures,
    /// The criteria of an attempt that did not fail.
    Criteria,
}

/// How far an agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// It was started.
    Starting,
    /// It is being given the prompt.
    Delivering,
    /// It has the prompt.
    Working,
}

/// An agent waits for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    /// What for.
    pub kind: Asking,
    /// How long it is given.
    pub until: Wall,
    /// It asked in its last words, and is idle; else a dialog is open.
    pub in_words: bool,
}

/// What comes after a look at the work tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "then", rename_all = "snake_case")]
pub enum Then {
    /// The checks.
    Check {
        /// The agent's last words ask something.
        asks: bool,
    },
    /// Another provider, or the same one if nothing is its fault.
    Switch {
        /// Not this one again, in this attempt.
        exclude: bool,
    },
    /// Another attempt, if there is one.
    Retry {
        /// What went wrong.
        error: String,
    },
    /// The end.
    GiveUp {
        /// Why.
        #[serde(flatten)]
        why: GiveUp,
    },
}
