//! Where a continuation stands, and what it decided last.

use serde::{Deserialize, Serialize};

use crate::Wall;
use crate::stop::{Stop, Trigger};
use crate::stop_analysis::{Action, Analysis};

/// Where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// The agent is not carried on.
    #[default]
    Off,
    /// The agent works, or has nothing to do yet.
    Watching,
    /// What a stop means is being found out.
    Examining {
        /// What showed it.
        trigger: Trigger,
        /// How it stopped.
        stop: Stop,
    },
    /// The agent is prompted at this moment.
    Waiting {
        /// When.
        until: Wall,
        /// What stopped it.
        why: String,
        /// What it is told then.
        failures: Vec<String>,
        /// It is looked first whether it still has to be told.
        #[serde(default)]
        look: bool,
    },
    /// A prompt is on its way.
    Prompting {
        /// Which one.
        number: u32,
    },
    /// A person is needed; it goes on when the agent does.
    NeedsOwner {
        /// What for.
        why: String,
    },
    /// A person has stopped its turn: what comes next is theirs.
    Yielded,
    /// The work is done.
    Done {
        /// What shows it.
        why: String,
    },
}

/// What was decided about a stop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// What showed the stop.
    pub trigger: Trigger,
    /// What it means.
    #[serde(flatten)]
    pub analysis: Analysis,
    /// What is done about it.
    pub action: Action,
    /// When, if not at once.
    pub until: Option<Wall>,
    /// The task at hand.
    pub task: Option<String>,
}

/// Where a continuation stands, for people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// Where.
    #[serde(flatten)]
    pub phase: Phase,
    /// Nothing automatic is done.
    pub held: bool,
    /// When its process is run again, which has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumes: Option<Wall>,
    /// Prompts for the present piece of work.
    pub turns: u32,
    /// Prompts that there may be.
    pub max_turns: u32,
    /// What was decided last.
    pub decision: Option<Decision>,
}
