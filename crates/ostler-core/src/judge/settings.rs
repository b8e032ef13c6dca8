//! Whether there is a judge, and how patient everybody is.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Settings of the judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// There is one.
    pub enabled: bool,
    /// The agent that is asked.
    pub agent: String,
    /// It is asked after so many seconds without a decision.
    pub after_seconds: u32,
    /// It has so many seconds for an answer.
    pub limit_seconds: u32,
    /// After the answer "working" it is left alone for so many seconds.
    pub cooldown_seconds: u32,
    /// After so many errors in a row it is not asked again.
    pub max_errors: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: false,
            agent: String::new(),
            after_seconds: 60,
            limit_seconds: 90,
            cooldown_seconds: 180,
            max_errors: 3,
        }
    }
}

impl Settings {
    /// Finds what makes no sense.
    pub fn check(&self) -> Result<(), String> {
        if self.enabled && self.agent.is_empty() {
            return Err("agent is missing: say who is asked (ostler agents list shows the agents)".into());
        }
        let counts = [
            ("after_seconds", self.after_seconds),
            ("limit_seconds", self.limit_seconds),
            ("max_errors", self.max_errors),
        ];
        match counts.into_iter().find(|(_, count)| *count == 0) {
            Some((name, _)) => {
                Err(format!("{name} must be at least 1 (enabled = false turns the judge off)"))
            }
            None => Ok(()),
        }
    }

    pub(super) fn after(&self) -> Duration {
        seconds(self.after_seconds)
    }

    pub(super) fn limit(&self) -> Duration {
        seconds(self.limit_seconds)
    }

    pub(super) fn cooldown(&self) -> Duration {
        seconds(self.cooldown_seconds)
    }
}

fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(seconds.into())
}
