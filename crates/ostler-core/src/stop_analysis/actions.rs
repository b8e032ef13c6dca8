//! What is done about a conclusion.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Analysis, Conclusion, THRESHOLD};

/// What to do about an agent that stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Tell it to go on.
    InjectPrompt,
    /// Leave it to what comes next: messages that wait for it, and a person who is told that it is done.
    AssignNextTask,
    /// Tell a person, who is waited for.
    NotifyOwner,
    /// Let it try again, and tell it what failed.
    RetryWithHints,
    /// Run its process again.
    ResumeAgent,
    /// Stop it; `ostler resume` brings it back.
    PauseAgent,
    /// Nothing.
    NoAction,
}

impl Action {
    /// The name in events and settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InjectPrompt => "inject_prompt",
            Self::AssignNextTask => "assign_next_task",
            Self::NotifyOwner => "notify_owner",
            Self::RetryWithHints => "retry_with_hints",
            Self::ResumeAgent => "resume_agent",
            Self::PauseAgent => "pause_agent",
            Self::NoAction => "no_action",
        }
    }
}

/// What is usually done.
const USUAL: [(Conclusion, Action); 7] = [
    (Conclusion::TaskComplete, Action::AssignNextTask),
    (Conclusion::WaitingInput, Action::NotifyOwner),
    (Conclusion::WaitingExternal, Action::NoAction),
    (Conclusion::StuckOrError, Action::RetryWithHints),
    (Conclusion::Incomplete, Action::InjectPrompt),
    (Conclusion::MaxIterations, Action::NotifyOwner),
    (Conclusion::Unknown, Action::NoAction),
];

/// What is done about each conclusion.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Actions(BTreeMap<Conclusion, Action>);

impl Actions {
    /// What is done about an analysis; nothing if it is not sure enough. What nobody can tell is never sure: there
    /// something is done only if it was chosen.
    pub fn of(&self, analysis: &Analysis) -> Action {
        let chosen = self.0.get(&analysis.conclusion).copied();
        if analysis.confidence < THRESHOLD && analysis.conclusion != Conclusion::Unknown {
            return Action::NoAction;
        }
        let usual =
            || USUAL.iter().find(|(known, _)| *known == analysis.conclusion).map(|(_, action)| *action);
        chosen.or_else(usual).unwrap_or(Action::NoAction)
    }
}
