//! What became of an agent's hooks.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ostler_agents::Agent;
use serde::Serialize;

use super::settings_file::SettingsError;

/// How things stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    Installed,
    /// It was as it should be before.
    Unchanged,
    NotInstalled,
    Outdated,
    Removed,
    WouldInstall,
    WouldRemove,
    /// The file cannot be read or changed.
    Broken,
    /// The agent was not used here: it has no directory for its settings.
    NoDirectory,
    /// The preset does not say where.
    NoPlace,
    /// The agent has no hooks.
    NoHooks,
}

impl State {
    fn words(self) -> &'static str {
        match self {
            Self::Installed => "installed",
            Self::Unchanged => "installed before",
            Self::NotInstalled => "not installed",
            Self::Outdated => "outdated",
            Self::Removed => "removed",
            Self::WouldInstall => "would be installed",
            Self::WouldRemove => "would be removed",
            Self::Broken => "broken file",
            Self::NoDirectory => "agent not used here",
            Self::NoPlace => "no place known",
            Self::NoHooks => "agent has no hooks",
        }
    }
}

/// What became of an agent's hooks.
#[derive(Debug, Serialize)]
pub(super) struct Outcome {
    agent: String,
    pub(super) state: State,
    file: Option<PathBuf>,
    /// Where the file is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// What to do about it, or to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// What a person would have to put into the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_hand: Option<String>,
}

impl Outcome {
    pub(super) fn new(agent: &Agent, state: State) -> Self {
        let hint = match state {
            State::Outdated => Some(format!("ostler hooks install {} brings them up to date", agent.name)),
            _ => None,
        };
        let agent = agent.name.clone();
        Self { agent, state, file: None, line: None, error: None, hint, by_hand: None }
    }

    pub(super) fn at(self, file: &Path) -> Self {
        Self { file: Some(file.to_owned()), ..self }
    }

    pub(super) fn because(self, error: &SettingsError) -> Self {
        Self { line: error.line(), error: Some(error.to_string()), hint: error.hint(), ..self }
    }

    pub(super) fn noting(self, note: Option<&str>) -> Self {
        Self { hint: note.map(|note| format!("{} {note}", self.agent)), ..self }
    }

    pub(super) fn by_hand(self, text: String) -> Self {
        Self { by_hand: Some(text), ..self }
    }

    /// Whether what was asked for was not done; `named` if it was asked for by name.
    pub(super) fn is_failure(&self, named: bool) -> bool {
        match self.state {
            State::Broken => true,
            State::NoDirectory | State::NoPlace | State::NoHooks => named,
            _ => false,
        }
    }
}

/// All of it for people.
pub(super) fn table(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    if outcomes.is_empty() {
        text.push_str("no agent with hooks was used here; name one to install them all the same\n");
    }
    let width = outcomes.iter().map(|outcome| outcome.agent.len()).max().unwrap_or(0);
    for outcome in outcomes {
        let file = outcome.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
        let line = format!("{:width$}  {:19}  {file}", outcome.agent, outcome.state.words());
        let _ = writeln!(text, "{}", line.trim_end());
        for more in outcome.error.iter().chain(&outcome.hint) {
            let _ = writeln!(text, "{:width$}  {more}", "");
        }
        if let Some(by_hand) = &outcome.by_hand {
            let _ = writeln!(
                text,
                "{:width$}  To do it by hand, put this in the file beside what is there:\n{by_hand}",
                ""
            );
        }
    }
    text
}
