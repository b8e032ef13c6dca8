//! What a run learns, and what it asks for.

use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use super::record::{Changes, HelperAnswer};
use crate::Wall;
use crate::breaker::{Evidence, Probes, UnavailableProvider};
use crate::pre_context::Kind;
use crate::stop::Stop;

/// Names something that the run asked for, so that a shell that was restarted can tell whether it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Act {
    /// The attempt it belongs to, from 1.
    pub attempt: u32,
    /// Counts what the run asked for, from 1.
    pub step: u32,
}

/// Names an agent: the act that started it.
pub type AgentId = Act;

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The run begins; the work tree was looked at.
    Started {
        /// When that look began: it takes of the run's time.
        since: Wall,
    },
    /// A provider was chosen.
    ProviderChosen {
        /// What was asked.
        act: Act,
        /// The provider.
        provider: String,
        /// It is a probe.
        probe: Option<Probes>,
    },
    /// No provider can be used.
    NoProvider {
        /// What was asked.
        act: Act,
        /// Why, for every provider of the run that is shut, the excluded ones too.
        shut: Vec<UnavailableProvider>,
    },
    /// A provider that was shut can be used again.
    ProviderOpened,
    /// The agent is ready for its prompt.
    AgentReady {
        /// The agent.
        agent: AgentId,
    },
    /// The agent cannot be started here.
    StartFailed {
        /// The agent.
        agent: AgentId,
        /// The reason, for people.
        reason: String,
    },
    /// The agent has the prompt.
    PromptSubmitted {
        /// What was asked.
        act: Act,
        /// By what that is known.
        proof: String,
    },
    /// The agent cannot be given the prompt.
    DeliveryFailed {
        /// What was asked.
        act: Act,
        /// The reason, for people.
        reason: String,
    },
    /// The agent does no more.
    AgentStopped {
        /// The agent.
        agent: AgentId,
        /// The reason, for people.
        stop: Stop,
    },
    /// A person answered: the agent goes on.
    AgentResumed {
        /// The agent.
        agent: AgentId,
    },
    /// The work tree was looked at.
    TreeObserved {
        /// What was asked.
        act: Act,
        /// What is different since it was last looked at, if that can be told.
        changes: Option<Changes>,
        /// What the agent said last, or showed when it ended, if that is known.
        words: Option<String>,
    },
    /// A check cannot be run at all, whatever the work is like.
    CheckNotRunnable {
        /// What was asked.
        act: Act,
        /// Which one, and why.
        reason: String,
    },
    /// The checks were run.
    ChecksFinished {
        /// What was asked.
        act: Act,
        /// All of them passed.
        passed: bool,
        /// The first line of each complaint.
        failures: Vec<String>,
    },
    /// A helper proposed commands, and they were run.
    HelperAnswered {
        /// What was asked.
        act: Act,
        /// What came of them.
        answer: HelperAnswer,
    },
    /// A helper could not help.
    HelperFailed {
        /// What was asked.
        act: Act,
        /// The reason, for people.
        reason: String,
    },
    /// So many tokens were spent since the run began.
    Spent {
        /// In all.
        tokens: u64,
    },
    /// A person wants no more of it.
    Cancelled,
    /// The shell was restarted and has read the record.
    Restarted,
    /// Time has passed.
    Tick,
}

/// What an agent is told of those before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// The reason, for people.
    pub kind: Kind,
    /// The block, to be put right before the prompt.
    pub text: String,
}

/// What a helper is told of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AttemptNotes {
    /// What failed.
    pub failures: Vec<String>,
    /// What its agent said last.
    pub response: Option<String>,
    /// The files that it created or modified.
    pub files: Vec<String>,
}

/// What to do. Everything may be asked for again after a restart, with the same act.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Choose a provider; the answer is `ProviderChosen` or `NoProvider`.
    ChooseProvider {
        /// Names the answer.
        act: Act,
        /// Not one of these.
        excluding: Vec<String>,
    },
    /// Start an agent; the answer is `AgentReady`, `StartFailed` or `AgentStopped`.
    StartAgent {
        /// The agent's name from now on.
        act: Act,
        /// Whose agent.
        provider: String,
    },
    /// Give the agent a prompt; the answer is `PromptSubmitted`, `DeliveryFailed` or `AgentStopped`. Afterwards
    /// the agent's next stop is awaited.
    Deliver {
        /// Names the answer.
        act: Act,
        /// To whom.
        agent: AgentId,
        /// What it is told first.
        context: Option<Context>,
        /// The task.
        prompt: String,
    },
    /// Look at the work tree; the answer is `TreeObserved`.
    ObserveTree {
        /// Names the answer.
        act: Act,
    },
    /// Run the checks; the answer is `ChecksFinished`.
    RunChecks {
        /// Names the answer.
        act: Act,
    },
    /// Tell the breakers of the provider what speaks against it.
    TripBreaker {
        /// Whose.
        provider: String,
        /// What.
        evidence: Evidence,
        /// When the provider says that it can be tried again.
        until: Option<Wall>,
        /// The probe that came to it.
        probe: Option<Probes>,
    },
    /// Tell the breakers of the provider that it works.
    CloseBreaker {
        /// Whose.
        provider: String,
        /// When it was asked what it has now done.
        began: Wall,
    },
    /// Give back a probe of which nothing became.
    ReleaseProbe {
        /// Whose.
        provider: String,
        /// The probe.
        probe: Probes,
    },
    /// Ask a helper for commands that verify what failed, or what must be true in words, and run them where they can
    /// do no harm; the answer is `HelperAnswered` or `HelperFailed`.
    AskHelper {
        /// Names the answer.
        act: Act,
        /// What it is told first.
        context: Option<Context>,
        /// The task.
        prompt: String,
        /// What is known of the last attempt.
        #[serde(default)]
        attempt: AttemptNotes,
    },
    /// End the agent.
    StopAgent {
        /// The agent.
        agent: AgentId,
    },
    /// The run has ended: tell everybody, and forget what was only needed to go on.
    Report {
        /// How it ended.
        outcome: Outcome,
    },
}
