//! One part of a trial, as it is handed into its world and comes back.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::message::Kind;
use super::tally::{Fate, Sent, Tally};
use crate::agent::Agent;
use crate::scene::Scene;

/// A part of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Many messages, one after the other.
    Messages,
    /// A message right after a start.
    Cold,
    /// A message while the agent works.
    Busy,
    /// A message while a dialog is open, or about to open.
    Dialog,
    /// Messages that the agent is asked to confirm.
    Ack,
    /// Starts with something to know and something to do.
    Context,
    /// Starts that ask something first.
    Starts,
    /// Commands that the agent does not know, each before a message.
    Refused,
    /// Agents that stop before their work is done.
    CarryOn,
    /// Calls of the tools that ostler gives agents.
    Mcp,
    /// Its answers, its dialogs answered by command, its turn interrupted.
    Talk,
    /// Its questions answered by command.
    Questions,
    /// Its question for trust answered by command, both ways.
    Trust,
    /// Agents that are killed, and resumed with their conversation.
    Resume,
    /// Messages whose daemon is killed at any moment.
    Kills,
    /// Small messages, by turns with another way to send them.
    Race,
}

impl Part {
    /// The parts that are played unless others are asked for.
    pub const USUAL: [Self; 9] = [
        Self::Messages,
        Self::Cold,
        Self::Busy,
        Self::Dialog,
        Self::Ack,
        Self::Context,
        Self::Starts,
        Self::Refused,
        Self::Mcp,
    ];

    /// Every part.
    pub const ALL: [Self; 16] = [
        Self::Messages,
        Self::Cold,
        Self::Busy,
        Self::Dialog,
        Self::Ack,
        Self::Context,
        Self::Starts,
        Self::Refused,
        Self::CarryOn,
        Self::Mcp,
        Self::Talk,
        Self::Questions,
        Self::Trust,
        Self::Resume,
        Self::Kills,
        Self::Race,
    ];

    /// Its name in paths and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Cold => "cold",
            Self::Busy => "busy",
            Self::Dialog => "dialog",
            Self::Ack => "ack",
            Self::Context => "context",
            Self::Starts => "starts",
            Self::Refused => "refused",
            Self::CarryOn => "carry-on",
            Self::Mcp => "mcp",
            Self::Talk => "talk",
            Self::Questions => "questions",
            Self::Trust => "trust",
            Self::Resume => "resume",
            Self::Kills => "kills",
            Self::Race => "race",
        }
    }

    /// The scene whose way of launching the agent fits.
    pub fn scene(self) -> Scene {
        match self {
            Self::Dialog | Self::Talk => Scene::Permission,
            Self::Questions => Scene::Question,
            Self::Trust => Scene::Trust,
            _ => Scene::Reply,
        }
    }
}

/// How much is tried.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Effort {
    /// Where messages come from.
    pub seed: u64,
    /// Messages one after the other.
    pub messages: usize,
    /// Only these kinds of messages; all if empty.
    pub kinds: Vec<Kind>,
    /// Cold starts.
    pub cold: usize,
    /// Kills of the daemon.
    pub kills: usize,
    /// Rounds of everything else.
    pub rounds: usize,
    /// What to lay over the agent's preset.
    pub layer: Option<String>,
    /// Texts that look like something else.
    pub lookalikes: Vec<String>,
}

/// What is to be played.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// The agent's name.
    pub name: String,
    /// Its release.
    pub version: String,
    /// The part.
    pub part: Part,
    /// The agent, for this release and part.
    pub agent: Agent,
    /// How much.
    pub effort: Effort,
}

impl Job {
    /// How long it takes, beside other jobs: roughly, in seconds.
    pub fn length(&self) -> usize {
        let Effort { messages, cold, kills, rounds, .. } = &self.effort;
        match self.part {
            Part::Messages => messages * 3,
            Part::Cold => cold * 10,
            Part::Kills => kills * 10,
            Part::Starts => self.agent.starts.len() * 20,
            Part::Busy | Part::Dialog | Part::Ack | Part::Context | Part::Resume | Part::Race => rounds * 20,
            Part::Refused | Part::Mcp => rounds * 10,
            Part::CarryOn => rounds * 40,
            Part::Talk | Part::Questions | Part::Trust => 60,
        }
    }
}

/// How a part went.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// The sums.
    pub tally: Tally,
    /// Seconds to the model by the other way, in a race.
    pub rival: Vec<f64>,
    /// Messages that the other way lost.
    pub rival_lost: usize,
    /// Seconds to the model from a bare terminal, in a race.
    #[serde(default)]
    pub bare: Vec<f64>,
    /// Messages that the bare terminal lost.
    #[serde(default)]
    pub bare_lost: usize,
    /// Seconds from the start of the agent to its prompt, in a race, without ostler.
    #[serde(default)]
    pub own_start: Vec<f64>,
    /// Seconds from the start of the agent to the model's reading the first message, in a race.
    #[serde(default)]
    pub cold: Vec<f64>,
    /// How busy the machine was, in the middle.
    pub load: f64,
    /// Every message and what became of it.
    pub messages: Vec<(Sent, Fate)>,
}

/// The file of the outcome, beside the job's.
pub const OUTCOME: &str = "outcome.json";
