//! Where a run can stand.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::outcome::{GiveUp, Outcome};
use crate::{Asking, Wall};

/// How long a look at the work tree may take.
pub(super) const LOOK: Duration = Duration::from_mins(2);
/// The same when the time of the run is up.
const LAST_LOOK: Duration = Duration::from_secs(10);

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
        /// The agent's last words ask something.
        #[serde(default)]
        asks: bool,
    },
    /// A helper was asked.
    AskingHelper {
        /// When it counts as of no help.
        due: Wall,
        /// What about.
        #[serde(default)]
        inquiry: Inquiry,
    },
    /// Nobody came to its agent in time. Whoever watched was told so; it goes on when somebody comes after all.
    Parked {
        /// How far the agent is.
        stage: Stage,
        /// What it waits for.
        blocked: Blocked,
        /// What was reported.
        outcome: Outcome,
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
    /// The attempt that failed last, where the task wants a helper to look at every one.
    Failure,
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
        /// The reason, for people.
        #[serde(flatten)]
        why: GiveUp,
    },
}

impl Then {
    /// When a look at the work tree is given up that begins now.
    pub(super) fn look_due(&self, now: Wall) -> Wall {
        let is_late = matches!(self, Self::GiveUp { why: GiveUp::Time });
        now.plus(if is_late { LAST_LOOK } else { LOOK })
    }
}
