//! Options about carrying agents on.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::seconds;

/// How far an agent is carried on.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Limits {
    /// A command that passes when the work is done, for a shell; may be given more than once
    #[arg(long = "check", value_name = "CMD", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) checks: Vec<String>,
    /// Give it at most this many prompts to go on, 50 at most [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=50))]
    pub(crate) max_turns: Option<u32>,
    /// Stop after this many seconds [default: 43200]
    #[arg(long, value_name = "SECS", value_parser = seconds)]
    pub(crate) max_time: Option<f64>,
    /// Stop after this many fresh tokens
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// Leave at least this many seconds between two prompts [default: 30]
    #[arg(long, value_name = "SECS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pause: Option<u32>,
}

impl Limits {
    /// Whether any of them was given.
    pub(crate) fn is_given(&self) -> bool {
        let Self { checks, max_turns, max_time, max_tokens, pause } = self;
        !checks.is_empty() || max_turns.or(*pause).is_some() || max_time.is_some() || max_tokens.is_some()
    }
}

#[derive(Debug, Args)]
pub(crate) struct Continue {
    /// The session's name or id
    pub(crate) name: String,
    /// What is to be done [default: its first prompt]
    #[arg(long, value_name = "TEXT")]
    pub(crate) goal: Option<String>,
    #[command(flatten)]
    pub(crate) limits: Limits,
    /// Carry it on no more
    #[arg(long, conflicts_with_all = ["goal", "checks", "max_turns", "max_time", "max_tokens", "pause"])]
    pub(crate) off: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Hold {
    /// Sessions, by name or id
    #[arg(required_unless_present = "all")]
    pub(crate) names: Vec<String>,
    /// All sessions that run now
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,
    /// End the hold
    #[arg(long)]
    pub(crate) release: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
