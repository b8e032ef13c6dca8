//! How far an agent may be carried on.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::continuity::cut;
use crate::stop_analysis::Actions;

/// No piece of work gets more prompts, whatever its terms say.
pub const MAX_TURNS: u32 = 50;
/// Characters of a goal that are said again.
const GOAL: usize = 4_000;
/// From this share of a budget on, its owner is told.
const NEARLY: f64 = 0.8;

/// What an agent is carried on for, and how far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Terms {
    /// What is to be done; it is said again with every prompt.
    pub goal: Option<String>,
    /// Commands that pass when it is done.
    pub checks: Vec<String>,
    /// Prompts for one piece of work, 50 at most.
    pub max_turns: u32,
    /// Time for one piece of work, in seconds; 0 is no limit.
    pub time_secs: u64,
    /// Fresh tokens for one piece of work; 0 is no limit.
    pub tokens: u64,
    /// Seconds between two prompts, at least.
    pub pause_secs: u32,
    /// How often a process that crashed is run again in an hour.
    pub resumes_per_hour: u32,
    /// What is done about each conclusion.
    pub actions: Actions,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            goal: None,
            checks: Vec::new(),
            max_turns: 10,
            time_secs: 12 * 3_600,
            tokens: 0,
            pause_secs: 30,
            resumes_per_hour: 3,
            actions: Actions::default(),
        }
    }
}

impl Terms {
    pub(super) fn bounded(mut self) -> Self {
        self.goal = self.goal.map(|goal| cut(goal.trim(), GOAL)).filter(|goal| !goal.is_empty());
        self
    }

    /// Prompts that there may be.
    pub fn turns(&self) -> u32 {
        self.max_turns.clamp(1, MAX_TURNS)
    }

    pub(super) fn pause(&self) -> Duration {
        Duration::from_secs(self.pause_secs.max(1).into())
    }

    /// The budget that is used up, if one is.
    pub(super) fn used_up(&self, time: Duration, tokens: u64) -> Option<String> {
        if self.time_secs > 0 && time >= Duration::from_secs(self.time_secs) {
            Some(format!("its time of {} s is up", self.time_secs))
        } else {
            let spent = self.tokens > 0 && tokens >= self.tokens;
            spent.then(|| format!("its budget of {} tokens is spent", self.tokens))
        }
    }

    /// The budget that is nearly used up, if one is.
    pub(super) fn nearly_used_up(&self, turns: u32, time: Duration, tokens: u64) -> Option<String> {
        let nearly = |used: u64, of: u64, what: &str| {
            #[expect(clippy::cast_precision_loss, reason = "a share for people")]
            let share = used as f64 / of.max(1) as f64;
            (of > 0 && share >= NEARLY).then(|| format!("{used} of {of} {what} are used"))
        };
        nearly(turns.into(), self.turns().into(), "prompts")
            .or_else(|| nearly(time.as_secs(), self.time_secs, "seconds"))
            .or_else(|| nearly(tokens, self.tokens, "tokens"))
    }
}
