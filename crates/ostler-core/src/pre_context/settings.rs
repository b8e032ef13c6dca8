//! Which blocks are put before a prompt, and how long they may be.

use serde::{Deserialize, Serialize};

/// A kind of block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Another provider takes over within an attempt.
    #[serde(alias = "circuit_breaker")]
    ProviderSwitch,
    /// The work is tried again after its checks failed.
    Retry,
    /// A helper is asked to look at what failed.
    Helper,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::ProviderSwitch, Self::Retry, Self::Helper];

    /// The name in settings, in JSON and as a label of metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ProviderSwitch => "provider_switch",
            Self::Retry => "retry",
            Self::Helper => "helper",
        }
    }

    /// A kind by its name in settings; a provider is also switched by its *circuit breaker*.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            CIRCUIT_BREAKER => Some(Self::ProviderSwitch),
            name => Self::ALL.into_iter().find(|kind| kind.as_str() == name),
        }
    }

    /// The label under which metrics count it.
    pub fn metric(self) -> &'static str {
        match self {
            Self::ProviderSwitch => CIRCUIT_BREAKER,
            Self::Retry | Self::Helper => self.as_str(),
        }
    }
}

/// Another name of [`Kind::ProviderSwitch`]: what leads to it.
const CIRCUIT_BREAKER: &str = "circuit_breaker";

/// Settings of the blocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Blocks are put before prompts at all.
    pub enabled: bool,
    /// Lines of a block, with both delimiters.
    pub max_lines: u32,
    /// The kinds that are used.
    pub types: Vec<Kind>,
    /// Attempts that a helper is told of.
    pub helper_max_attempts: u32,
    /// Files in one line.
    pub max_files: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { enabled: true, max_lines: 10, types: Kind::ALL.to_vec(), helper_max_attempts: 2, max_files: 3 }
    }
}

/// A variable of the environment that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}={value:?} cannot be used: {want}")]
pub struct BadVariable {
    /// The variable.
    pub name: &'static str,
    /// What it says.
    pub value: String,
    /// What it should say.
    pub want: &'static str,
}

const NUMBER: &str = "write a whole number";
const SWITCH: &str = "write true or false";
const TYPES: &str =
    "write all, none, or some of circuit_breaker (or provider_switch), retry and helper with commas between";

impl Settings {
    /// Whether blocks of a kind are used.
    pub fn uses(&self, kind: Kind) -> bool {
        self.enabled && self.types.contains(&kind)
    }

    /// These settings with what the environment says instead. `lookup` finds a variable.
    ///
    /// # Errors
    ///
    /// The first variable that cannot be used; nothing is changed then.
    pub fn with_environment(mut self, lookup: impl Fn(&str) -> Option<String>) -> Result<Self, BadVariable> {
        read(&lookup, "ENABLE_PRE_CONTEXT_INJECTION", SWITCH, switch, &mut self.enabled)?;
        read(&lookup, "PRE_CONTEXT_MAX_LINES", NUMBER, number, &mut self.max_lines)?;
        read(&lookup, "PRE_CONTEXT_TYPES", TYPES, kinds, &mut self.types)?;
        read(&lookup, "HELPER_CONTEXT_MAX_ATTEMPTS", NUMBER, number, &mut self.helper_max_attempts)?;
        read(&lookup, "PRE_CONTEXT_MAX_FILES", NUMBER, number, &mut self.max_files)?;
        Ok(self)
    }
}

fn read<T>(
    lookup: impl Fn(&str) -> Option<String>,
    name: &'static str,
    want: &'static str,
    parse: fn(&str) -> Option<T>,
    into: &mut T,
) -> Result<(), BadVariable> {
    if let Some(value) = lookup(name).filter(|value| !value.trim().is_empty()) {
        *into = parse(value.trim()).ok_or(BadVariable { name, value, want })?;
    }
    Ok(())
}

fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok()
}

fn kinds(text: &str) -> Option<Vec<Kind>> {
    match text.to_ascii_lowercase().as_str() {
        "all" => Some(Kind::ALL.to_vec()),
        "none" => Some(Vec::new()),
        some => some.split(',').map(|name| Kind::named(name.trim())).collect(),
    }
}
