//! All agents that are known.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use ostler_core::detector::Expectations;
use semver::Version;
use toml::Table;

use crate::layer::{Layer, PresetError, merge};
use crate::rulebook::{MAX_PROGRAM, RuleBook, RuleError};
use crate::transcript::FactKind;
use crate::version::in_range;
use crate::{Preset, Speaks};

/// The preset for programs without one, whose general rules hold for all.
pub const GENERIC: &str = "generic";

/// The presets that come with ostler, as (agent, text).
pub const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/built_in.rs"));

/// An agent and what is known about it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// What is known about it.
    pub preset: Preset,
    /// The files that say so, lowest first.
    pub files: Vec<String>,
}

/// All agents that are known, and the files that could not be used.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    agents: BTreeMap<String, Arc<Agent>>,
    problems: Vec<PresetError>,
}

impl Registry {
    /// The agents that come with ostler, with these files over them, lowest first.
    ///
    /// A file that is wrong is left out, and told; it never takes others with it.
    pub fn new(layers: &[Layer]) -> Self {
        let (mut known, mut problems) = BASE.clone();
        for layer in layers {
            match apply(layer, known.get(&layer.agent), true) {
                Ok(merged) => {
                    known.insert(layer.agent.clone(), merged);
                }
                Err(error) => problems.push(error),
            }
        }
        Self { agents: known.into_iter().map(|(name, known)| (name, known.agent)).collect(), problems }
    }

    /// The same, with files that were not even read.
    #[must_use]
    pub fn with_problems(mut self, problems: Vec<PresetError>) -> Self {
        self.problems.extend(problems);
        self
    }

    /// The agent of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<Agent>> {
        self.agents.get(name)
    }

    /// All agents by name, without the preset for programs that have none.
    pub fn agents(&self) -> impl Iterator<Item = &Arc<Agent>> {
        self.agents.values().filter(|agent| agent.name != GENERIC)
    }

    /// The preset for programs that have none.
    pub fn generic(&self) -> Option<&Arc<Agent>> {
        self.agents.get(GENERIC)
    }

    /// The agent that is started by this command.
    pub fn by_command(&self, command: &str) -> Option<&Arc<Agent>> {
        self.agents().find(|agent| agent.preset.run.command == command)
    }

    /// The files that could not be used.
    pub fn problems(&self) -> &[PresetError] {
        &self.problems
    }

    /// The rules for a version of an agent, those for agents in general included.
    pub fn rulebook(&self, agent: &Agent, version: Option<&Version>) -> Result<RuleBook, RuleError> {
        RuleBook::new(&agent.preset, self.generic().map(|generic| &generic.preset), version)
    }
}

/// A preset and the table it was read from.
#[derive(Debug, Clone)]
struct Entry {
    table: Arc<Table>,
    agent: Arc<Agent>,
}

/// The presets that come with ostler. Their rules are compiled by tests, and here only for the sessions that use them.
static BASE: LazyLock<(BTreeMap<String, Entry>, Vec<PresetError>)> = LazyLock::new(|| {
    let (mut known, mut problems) = (BTreeMap::new(), Vec::new());
    for (agent, text) in BUILT_IN {
        let file = format!("built-in {agent}.toml");
        let layer = Layer { agent: (*agent).to_owned(), file, text: (*text).to_owned() };
        match apply(&layer, None, false) {
            Ok(read) => {
                known.insert(layer.agent, read);
            }
            Err(error) => problems.push(error),
        }
    }
    (known, problems)
});

fn apply(layer: &Layer, below: Option<&Entry>, compile: bool) -> Result<Entry, PresetError> {
    let above = layer.parse()?;
    let (mut table, mut files) =
        below.map_or_else(Default::default, |below| ((*below.table).clone(), below.agent.files.clone()));
    merge(&mut table, &above);
    let preset: Preset = table
        .clone()
        .try_into()
        .map_err(|error: toml::de::Error| layer.error_in("", error.message().into()))?;
    let wrong = |error: RuleError| layer.error_in(&error.field, error.reason);
    check(&preset, &layer.agent).map_err(wrong)?;
    if compile {
        RuleBook::new(&preset, None, None).map_err(wrong)?;
    }
    files.push(layer.file.clone());
    let agent = Agent { name: layer.agent.clone(), preset, files };
    Ok(Entry { table: Arc::new(table), agent: Arc::new(agent) })
}

/// Finds what only shows when all files of an agent are put together.
fn check(preset: &Preset, name: &str) -> Result<(), RuleError> {
    let wrong = |field: &str, reason: String| Err(RuleError { field: field.into(), reason });
    let acceptable = |character: char| {
        character.is_ascii_lowercase() || character.is_ascii_digit() || matches!(character, '-' | '_')
    };
    if name.is_empty() || name.len() > 64 || !name.chars().all(acceptable) {
        return wrong("", format!("{name:?} is no name for an agent: use a-z, 0-9, - and _"));
    }
    if name != GENERIC && preset.run.command.is_empty() {
        return wrong("run.command", "is missing".into());
    }
    if let Some(identity) = &preset.run.identity {
        for (field, pattern) in [("matches", Some(&identity.matches)), ("version", identity.version.as_ref())]
        {
            let compiled =
                pattern.map(|pattern| regex::RegexBuilder::new(pattern).size_limit(MAX_PROGRAM).build());
            if let Some(Err(error)) = compiled {
                return wrong(&format!("run.identity.{field}"), error.to_string());
            }
        }
    }
    for (field, range) in [
        ("status.versions", &preset.status.versions),
        ("run.identity.checked", &preset.run.identity.clone().unwrap_or_default().checked),
    ] {
        if let Some(Err(error)) = range.as_ref().map(|range| semver::VersionReq::parse(range)) {
            return wrong(field, error.to_string());
        }
    }
    Ok(())
}

impl Agent {
    /// The name for people.
    pub fn title(&self) -> &str {
        if self.preset.title.is_empty() { &self.name } else { &self.preset.title }
    }

    /// What to expect of this version of the agent in a terminal that says nothing of program status.
    pub fn expectations_unanswered(&self, version: Option<&Version>) -> Expectations {
        let expectations = self.expectations(version);
        Expectations {
            status: expectations.status && self.preset.status.speaks == Speaks::Always,
            ..expectations
        }
    }

    /// What to expect of this version of the agent.
    pub fn expectations(&self, version: Option<&Version>) -> Expectations {
        Expectations {
            status: self.tells_status(version),
            rules: !self.preset.rules.is_empty() && self.name != GENERIC,
            transcript_ends: self.tells_ends(),
            composer: self.preset.composer.row.is_some(),
        }
    }

    fn tells_ends(&self) -> bool {
        let mut records = self.preset.transcript.iter().flat_map(|transcript| &transcript.records);
        records.any(|record| record.fact == Some(FactKind::TurnEnded))
    }

    fn tells_status(&self, version: Option<&Version>) -> bool {
        let range =
            self.preset.status.versions.as_deref().and_then(|range| semver::VersionReq::parse(range).ok());
        let told = range.zip(version).is_none_or(|(range, version)| in_range(&range, version));
        self.preset.status.speaks != Speaks::Never && told
    }

    /// The highest tier of which, and of all below it, nothing is missing; 0 if the first is not complete.
    pub fn tier(&self) -> u8 {
        let missing = self.capabilities().iter().filter(|can| !can.has).map(|can| can.tier).min();
        missing.map_or(3, |tier| tier - 1)
    }

    /// What can be done with the agent, by tier.
    pub fn capabilities(&self) -> Vec<Capability> {
        let preset = &self.preset;
        let hooks = preset.hooks.as_ref().is_some_and(|hooks| !hooks.informational);
        let usage = preset.transcript.is_some();
        let session = &preset.session;
        let item = |tier, name, has| Capability { tier, name, has };
        vec![
            item(1, "start", true),
            item(1, "is-ready", !preset.rules.is_empty() || preset.status.speaks != Speaks::Never),
            item(1, "is-alive", true),
            item(1, "send", true),
            item(1, "status", !preset.rules.is_empty() || preset.status.speaks != Speaks::Never),
            item(2, "inject-context", hooks || preset.instructions.is_some()),
            item(2, "on-session-start", hooks),
            item(2, "resume", !session.resume.is_empty() || !session.latest.is_empty()),
            item(2, "session-id", !session.id.is_empty() || session.id_env.is_some() || usage),
            item(3, "fork", !session.fork.is_empty()),
            item(3, "headless", preset.headless.is_some()),
            item(3, "usage", usage),
        ]
    }
}

/// Something that can be done with an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Capability {
    /// 1 is required of all, 3 is a luxury.
    pub tier: u8,
    /// What.
    pub name: &'static str,
    /// Whether it can.
    pub has: bool,
}

#[cfg(test)]
mod tests;
