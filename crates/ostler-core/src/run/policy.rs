//! How far a run may go.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::pre_context;
use crate::stop_watch::Patience;

/// No run delivers more prompts, whatever its policy says.
pub const MAX_ITERATIONS: u32 = 50;

/// What a run may do, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Attempts at the task.
    pub max_attempts: u32,
    /// Prompts in all, 50 at most.
    pub max_iterations: u32,
    /// Changes of provider in all.
    pub max_switches: u32,
    /// Time from the start, in seconds; 0 is no limit.
    pub time_secs: u64,
    /// Tokens in all; 0 is no limit.
    pub tokens: u64,
    /// How long an agent may wait for a person, in seconds.
    pub blocked_secs: u64,
    /// How long an agent may go on trying again where its provider fails, in seconds; 0 leaves it to the agent.
    pub retry_secs: u64,
    /// How long the run may wait for a provider in all, in seconds.
    pub wait_secs: u64,
    /// How long an agent may take until it is ready, in seconds.
    pub start_secs: u64,
    /// How long a prompt may take until it is taken in, in seconds.
    pub deliver_secs: u64,
    /// How long the checks may take together, in seconds.
    pub check_secs: u64,
    /// How long a helper may take, in seconds.
    pub helper_secs: u64,
    /// The task has checks: without them nobody can tell whether it is done.
    pub has_checks: bool,
    /// The task has criteria in words: a helper is asked for commands that verify them.
    pub has_criteria: bool,
    /// A helper is asked for commands that verify criteria, or what fails in the same way again and again.
    pub helper: bool,
    /// A helper is asked after every attempt that fails, not only after those that fail in the same way.
    pub helper_always: bool,
    /// Attempts that a helper's answer earns when there are none left.
    pub helper_attempts: u32,
    /// Every attempt is made by a new agent, not by the one that is there.
    pub fresh_agent: bool,
    /// The run ends when the same prompt would be given again though nothing has changed.
    pub stop_unchanged: bool,
    /// What agents are told of those before them.
    pub pre_context: pre_context::Settings,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            max_iterations: 10,
            max_switches: 8,
            time_secs: 12 * 3_600,
            tokens: 0,
            blocked_secs: 600,
            retry_secs: 30,
            wait_secs: 6 * 3_600,
            start_secs: 180,
            deliver_secs: 900,
            check_secs: 3_600,
            helper_secs: 1_800,
            has_checks: true,
            has_criteria: false,
            helper: true,
            helper_always: false,
            helper_attempts: 1,
            fresh_agent: false,
            stop_unchanged: true,
            pre_context: pre_context::Settings::default(),
        }
    }
}

impl Policy {
    /// How long an agent may retry calls to its model that fail.
    pub fn patience(&self) -> Patience {
        Patience::limited(Duration::from_secs(self.retry_secs))
    }

    /// Attempts, bounded.
    pub(super) fn attempts(&self) -> u32 {
        self.max_attempts.clamp(1, MAX_ITERATIONS)
    }

    /// Prompts, bounded.
    pub(super) fn iterations(&self) -> u32 {
        self.max_iterations.clamp(1, MAX_ITERATIONS)
    }

    /// The time from the start, if it is limited.
    pub(super) fn time(&self) -> Option<Duration> {
        (self.time_secs > 0).then(|| Duration::from_secs(self.time_secs))
    }

    /// Whether so many tokens are too many.
    pub(super) fn is_spent(&self, tokens: u64) -> bool {
        self.tokens > 0 && tokens >= self.tokens
    }
}
