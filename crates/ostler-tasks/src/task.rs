//! A task.

use ostler_core::run::{MAX_ITERATIONS, Policy};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Check, TaskId, TimeBudget};

/// Work with a way to tell whether it is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// What it is called.
    #[serde(alias = "task_id")]
    pub id: TaskId,
    /// What is to be done.
    #[serde(deserialize_with = "text")]
    pub instructions: String,
    /// What it is good for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// What must be true in the end, in words.
    #[serde(default, alias = "acceptance_criteria", skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<String>,
    /// Commands that all succeed in the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// Files to read and not to change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<String>,
    /// Rules beyond the usual ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// What the agent should say in the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_format: Option<String>,
    /// How often it is tried.
    #[serde(default, alias = "retry_policy")]
    pub retry: RetryPolicy,
    /// Switches.
    #[serde(default)]
    pub options: Options,
    /// Who may work at it, the best first; whoever is there if nobody is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// Where the work is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The work is done in a work tree of its own.
    #[serde(default)]
    pub worktree: bool,
    /// What it may cost.
    #[serde(default)]
    pub budget: Budget,
}

/// How often a task is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenRetryPolicy")]
pub struct RetryPolicy {
    /// Attempts in all.
    pub max_attempts: u32,
}

/// The same as people write it: attempts in all, or those after the first.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct WrittenRetryPolicy {
    #[serde(deserialize_with = "attempts")]
    max_attempts: Option<u32>,
    #[serde(deserialize_with = "retries")]
    max_retries: Option<u32>,
}

impl TryFrom<WrittenRetryPolicy> for RetryPolicy {
    type Error = &'static str;

    fn try_from(written: WrittenRetryPolicy) -> Result<Self, Self::Error> {
        match (written.max_attempts, written.max_retries) {
            (Some(_), Some(_)) => {
                Err("max_attempts and max_retries say the same in two ways; write one of them")
            }
            (Some(max_attempts), None) => Ok(Self { max_attempts }),
            (None, Some(retries)) => Ok(Self { max_attempts: retries + 1 }),
            (None, None) => Ok(Self::default()),
        }
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { max_attempts: Policy::default().max_attempts }
    }
}

/// Switches of a task. What is not set is as the settings say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Agents are told of those before them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_pre_context: Option<bool>,
    /// When a helper is asked for commands that verify what failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub helper: Option<HelperUse>,
}

/// When a helper is asked for commands that verify what failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HelperUse {
    /// Never, nor for criteria.
    Never,
    /// When attempts fail in the same way again and again.
    Loop,
    /// After every attempt that fails.
    Always,
}

/// What a task may cost. What is not set is as the settings say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// How long it may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeBudget>,
    /// Tokens that it may cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// How long the checks of an attempt may take together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<TimeBudget>,
}

impl Task {
    /// A task that has nothing but instructions.
    pub fn new(id: TaskId, instructions: impl Into<String>) -> Self {
        Self {
            id,
            instructions: instructions.into(),
            intent: None,
            criteria: Vec::new(),
            checks: Vec::new(),
            context: Vec::new(),
            rules: Vec::new(),
            output_format: None,
            retry: RetryPolicy::default(),
            options: Options::default(),
            agents: Vec::new(),
            cwd: None,
            worktree: false,
            budget: Budget::default(),
        }
    }

    /// What a run of this task may do, where the settings say so for all tasks.
    pub fn policy(&self, settings: &Policy) -> Policy {
        let mut policy = settings.clone();
        policy.max_attempts = self.retry.max_attempts;
        policy.has_checks = !self.checks.is_empty();
        policy.has_criteria = !self.criteria.is_empty();
        if let Some(TimeBudget(time)) = self.budget.time {
            policy.time_secs = time.as_secs();
        }
        if let Some(tokens) = self.budget.tokens {
            policy.tokens = tokens;
        }
        if let Some(TimeBudget(time)) = self.budget.checks {
            policy.check_secs = time.as_secs();
        }
        if let Some(enabled) = self.options.enable_pre_context {
            policy.pre_context.enabled = enabled;
        }
        if let Some(wanted) = self.options.helper {
            policy.helper = wanted != HelperUse::Never;
            policy.helper_always = wanted == HelperUse::Always;
        }
        policy
    }
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.trim().is_empty() {
        return Err(D::Error::custom("empty; say what is to be done"));
    }
    Ok(text)
}

fn attempts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let count = u32::deserialize(deserializer)?;
    if !(1..=MAX_ITERATIONS).contains(&count) {
        return Err(D::Error::custom(format!("{count} attempts; write 1 to {MAX_ITERATIONS}")));
    }
    Ok(Some(count))
}

fn retries<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let count = u32::deserialize(deserializer)?;
    if count >= MAX_ITERATIONS {
        return Err(D::Error::custom(format!("{count} retries; write 0 to {}", MAX_ITERATIONS - 1)));
    }
    Ok(Some(count))
}
