//! Which agent runs.
//!
//! Whoever is asked first and names an agent decides: the command, the environment, the project's and the user's
//! word on a role, their defaults, and at last what is installed. An agent that was named and cannot be had is an
//! error: another vendor's never takes its place.

mod words;

pub use words::unknown;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;

use crate::{Agent, Cost, GENERIC, Registry};

/// What settings say about which agent runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Picks {
    /// The file, as people know it.
    pub file: String,
    /// The agent for everything that has no role.
    pub default: Option<String>,
    /// Agents by role.
    pub roles: BTreeMap<String, String>,
    /// Why the file could not be read.
    pub broken: Option<String>,
}

/// What is known of an agent's program on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installation {
    /// It is there.
    Installed(PathBuf),
    /// It is not, and why.
    Missing(String),
    /// Another program has its name.
    Wrong {
        /// That program.
        program: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// Everything that has a say.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// The agents that are known.
    pub registry: &'a Registry,
    /// Their programs. An agent without an entry is not installed.
    pub standings: &'a BTreeMap<String, Installation>,
    /// The agent that the command names.
    pub asked: Option<&'a str>,
    /// `OSTLER_AGENT`.
    pub agent_variable: Option<&'a str>,
    /// `OSTLER_TIER`.
    pub tier_variable: Option<&'a str>,
    /// The role that the agent is for.
    pub role: Option<&'a str>,
    /// The project's settings.
    pub project: &'a Picks,
    /// The user's settings.
    pub user: &'a Picks,
}

/// Who is asked, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// The command.
    Command,
    /// `OSTLER_AGENT`.
    Environment,
    /// `OSTLER_TIER`: the best of what is installed and costs so much.
    Tier,
    /// The project's settings, for the role.
    ProjectRole,
    /// The user's settings, for the role.
    UserRole,
    /// The project's default.
    ProjectDefault,
    /// The user's default.
    UserDefault,
    /// The best of what is installed.
    Installed,
}

impl Step {
    /// All steps, in their order.
    pub const ORDER: [Self; 8] = [
        Self::Command,
        Self::Environment,
        Self::Tier,
        Self::ProjectRole,
        Self::UserRole,
        Self::ProjectDefault,
        Self::UserDefault,
        Self::Installed,
    ];
}

/// What one step said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Considered {
    /// Who was asked.
    pub step: Step,
    /// The agent it names.
    pub agent: Option<String>,
    /// What it said.
    pub said: String,
    /// Whether this decided.
    pub decides: bool,
}

/// The agent that runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The agent.
    pub agent: Arc<Agent>,
    /// Its program.
    pub program: PathBuf,
    /// Who decided.
    pub step: Step,
    /// Why it is this one.
    pub because: Vec<String>,
    /// What every step said.
    pub considered: Vec<Considered>,
}

/// No agent can run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct NoChoice {
    /// The reason, for people.
    pub reason: String,
    /// What to do.
    pub hint: String,
    /// The agent that was named, if one was.
    pub agent: Option<String>,
    /// What every step said.
    pub considered: Vec<Considered>,
}

/// Whose settings they are.
#[derive(Debug, Clone, Copy)]
enum Whose {
    User,
    Project,
}

/// What a step says.
enum Word {
    /// Nothing, and why.
    Nothing(String),
    /// This agent, and why.
    Names(String, String),
    /// It was to decide and cannot: why, and what to do.
    Fails(String, String),
}

/// Decides which agent runs.
pub fn choose(inputs: &Inputs<'_>) -> Result<Choice, NoChoice> {
    let mut considered = Vec::new();
    let mut verdict = None;
    for step in Step::ORDER {
        let word = inputs.word(step);
        let (agent, said) = match &word {
            Word::Nothing(said) | Word::Fails(said, _) => (None, said.clone()),
            Word::Names(agent, said) => (Some(agent.clone()), said.clone()),
        };
        let decides = verdict.is_none() && !matches!(word, Word::Nothing(_));
        considered.push(Considered { step, agent, said, decides });
        if decides {
            verdict = Some((step, word));
        }
    }
    match verdict {
        Some((step, Word::Names(name, said))) => inputs.take(step, &name, said, considered),
        Some((_, Word::Fails(reason, hint))) => Err(NoChoice { reason, hint, agent: None, considered }),
        Some((_, Word::Nothing(_))) | None => Err(NoChoice {
            reason: "no agent is installed".into(),
            hint: "install one that `ostler agents list` shows, or describe yours in a preset".into(),
            agent: None,
            considered,
        }),
    }
}

impl Inputs<'_> {
    /// The agent that was named, if it can be had.
    fn take(
        &self,
        step: Step,
        name: &str,
        said: String,
        considered: Vec<Considered>,
    ) -> Result<Choice, NoChoice> {
        let agent = self.registry.get(name).filter(|agent| agent.name != GENERIC);
        let fail = |reason, hint| {
            Err(NoChoice { reason, hint, agent: Some(name.into()), considered: considered.clone() })
        };
        let Some(agent) = agent else {
            let (reason, hint) = unknown(self.registry, name, &format!(" ({said})"));
            return fail(reason, hint);
        };
        match self.standings.get(name) {
            Some(Installation::Installed(program)) => Ok(Choice {
                agent: agent.clone(),
                program: program.clone(),
                step,
                because: vec![said, format!("{name} is installed: {}", program.display())],
                considered,
            }),
            other => {
                let (reason, hint) = words::unusable(agent, other, &said, step);
                fail(reason, hint)
            }
        }
    }

    fn word(&self, step: Step) -> Word {
        match step {
            Step::Command => named(self.asked, "the command", "no agent was asked for"),
            Step::Environment => named(self.agent_variable, "OSTLER_AGENT", "OSTLER_AGENT is not set"),
            Step::Tier => self.tier(),
            Step::ProjectRole => self.of_role(self.project, Whose::Project),
            Step::UserRole => self.of_role(self.user, Whose::User),
            Step::ProjectDefault => of_default(self.project, Whose::Project),
            Step::UserDefault => of_default(self.user, Whose::User),
            Step::Installed => self.best(None),
        }
    }

    fn tier(&self) -> Word {
        let Some(tier) = self.tier_variable.filter(|tier| !tier.is_empty()) else {
            return Word::Nothing("OSTLER_TIER is not set".into());
        };
        let costs = [("economy", Cost::Economy), ("standard", Cost::Standard), ("premium", Cost::Premium)];
        match costs.iter().find(|(name, _)| *name == tier) {
            Some((name, cost)) => match self.best(Some((name, *cost))) {
                Word::Nothing(reason) => Word::Fails(
                    format!("OSTLER_TIER is {tier}, and {reason}"),
                    "install one, set OSTLER_TIER to another tier or unset it, or name an agent".into(),
                ),
                word => word,
            },
            None => Word::Fails(
                format!("OSTLER_TIER is {tier:?}, which is no tier"),
                "set it to economy, standard or premium".into(),
            ),
        }
    }

    fn of_role(&self, picks: &Picks, whose: Whose) -> Word {
        let Some(role) = self.role.filter(|role| !role.is_empty()) else {
            return Word::Nothing("no role was given".into());
        };
        if let Some(word) = unreadable(picks, whose) {
            return word;
        }
        match picks.roles.get(role) {
            Some(agent) => Word::Names(agent.clone(), format!("{}: roles.{role} is {agent}", picks.file)),
            None => {
                Word::Nothing(words::silent(picks, whose, &format!("names no agent for the role {role}")))
            }
        }
    }

    /// The installed agent of the highest priority, of those that cost so much.
    fn best(&self, tier: Option<(&str, Cost)>) -> Word {
        let mut found: Vec<&Arc<Agent>> = self
            .registry
            .agents()
            .filter(|agent| matches!(self.standings.get(&agent.name), Some(Installation::Installed(_))))
            .filter(|agent| tier.is_none_or(|(_, cost)| agent.preset.cost == cost))
            .collect();
        found.sort_by_key(|agent| (std::cmp::Reverse(agent.preset.priority), agent.name.clone()));
        let kind = tier.map(|(name, _)| format!("{name} ")).unwrap_or_default();
        let Some(best) = found.first() else { return Word::Nothing(format!("no {kind}agent is installed")) };
        let all: Vec<String> =
            found.iter().map(|agent| format!("{} {}", agent.name, agent.preset.priority)).collect();
        let variable = if tier.is_some() { "OSTLER_TIER: " } else { "" };
        let passed: String =
            self.registry.agents().filter_map(|agent| self.passed_over(agent, tier)).collect();
        let best_of = "the best of the installed";
        let said = format!("{variable}{best_of} {kind}agents, by priority: {}{passed}", all.join(", "));
        Word::Names(best.name.clone(), said)
    }

    /// Tells of an agent that was not taken because another program has its name.
    fn passed_over(&self, agent: &Agent, tier: Option<(&str, Cost)>) -> Option<String> {
        let is_meant = tier.is_none_or(|(_, cost)| agent.preset.cost == cost);
        match self.standings.get(&agent.name) {
            Some(Installation::Wrong { program, reason }) if is_meant => {
                Some(format!("; {} is not {}: {reason}", program.display(), agent.title()))
            }
            _ => None,
        }
    }
}

fn named(name: Option<&str>, by: &str, otherwise: &str) -> Word {
    match name.filter(|name| !name.is_empty()) {
        Some(name) => Word::Names(name.to_owned(), format!("{by} says {name}")),
        None => Word::Nothing(otherwise.to_owned()),
    }
}

fn of_default(picks: &Picks, whose: Whose) -> Word {
    if let Some(word) = unreadable(picks, whose) {
        return word;
    }
    match &picks.default {
        Some(agent) => Word::Names(agent.clone(), format!("{}: agents.default is {agent}", picks.file)),
        None => Word::Nothing(words::silent(picks, whose, "names no default agent")),
    }
}

/// What a file says that cannot be read. A user's own must be mended, lest an agent runs that was not meant; a
/// project's, which others wrote, is passed over.
fn unreadable(picks: &Picks, whose: Whose) -> Option<Word> {
    let reason = picks.broken.as_ref()?;
    Some(match whose {
        Whose::User => Word::Fails(
            format!("your settings cannot be used, so they cannot say which agent runs: {reason}"),
            "mend the file, or name an agent".into(),
        ),
        Whose::Project => Word::Nothing(format!("cannot be used: {reason}")),
    })
}

#[cfg(test)]
mod tests;
