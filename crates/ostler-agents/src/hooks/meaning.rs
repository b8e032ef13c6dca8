//! What an event means, as a preset says it.

use std::fmt;

use ostler_core::{Asking, Fact, Failure};
use serde::{Deserialize, Serialize};

/// What an event means: `turn_ended`, `asked:permission`, or `nothing`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Meaning {
    name: String,
    pub(super) fact: Option<Fact>,
}

/// A meaning that is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no fact; write for example \"turn_ended\", \"asked:permission\" or \"turn_failed:rate_limit\""
)]
pub struct MeaningError(String);

impl TryFrom<String> for Meaning {
    type Error = MeaningError;

    fn try_from(name: String) -> Result<Self, MeaningError> {
        match parse(&name) {
            Some(fact) => Ok(Self { name, fact }),
            None => Err(MeaningError(name)),
        }
    }
}

impl From<Meaning> for String {
    fn from(meaning: Meaning) -> Self {
        meaning.name
    }
}

impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The fact that a name stands for: none at all is a meaning too.
#[expect(clippy::option_option, reason = "the outer one says whether the name is known")]
fn parse(name: &str) -> Option<Option<Fact>> {
    let (name, kind) = match name.split_once(':') {
        Some((name, kind)) => (name, Some(kind)),
        None => (name, None),
    };
    let fact = match (name, kind) {
        ("nothing", None) => return Some(None),
        ("session_started", None) => Fact::SessionStarted,
        ("session_ended", None) => Fact::SessionEnded,
        ("prompt_submitted", None) => Fact::PromptSubmitted { text: None },
        ("turn_started", None) => Fact::TurnStarted,
        ("turn_progressed", None) => Fact::TurnProgressed,
        ("turn_ended", None) => Fact::TurnEnded { background: 0 },
        ("turn_failed", kind) => Fact::TurnFailed { failure: failure(kind)?, detail: None },
        ("retrying", kind) => Fact::Retrying { failure: failure(kind)? },
        ("interrupted", None) => Fact::Interrupted,
        ("tool_started", None) => Fact::ToolStarted { id: None },
        ("tool_ended", None) => Fact::ToolEnded { id: None },
        ("asked", Some(kind)) => Fact::Asked { kind: asking(kind)? },
        ("answered", None) => Fact::Answered,
        ("idle_notified", None) => Fact::IdleNotified,
        ("compacting", None) => Fact::Compacting,
        ("subagent_ended", None) => Fact::SubagentEnded,
        ("heartbeat", None) => Fact::Heartbeat,
        _ => return None,
    };
    Some(Some(fact))
}

fn failure(kind: Option<&str>) -> Option<Failure> {
    use Failure::{Auth, Invalid, Other, Overloaded, Quota, RateLimit, Unavailable};
    let Some(kind) = kind else { return Some(Other) };
    [RateLimit, Quota, Auth, Overloaded, Unavailable, Invalid, Other]
        .into_iter()
        .find(|failure| failure.as_str() == kind)
}

fn asking(kind: &str) -> Option<Asking> {
    use Asking::{Auth, Dialog, Permission, Plan, Question, Trust};
    [Permission, Question, Plan, Trust, Auth, Dialog].into_iter().find(|asking| asking.as_str() == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meaning_is_known_or_refused() {
        let meaning = |name: &str| Meaning::try_from(name.to_owned());
        assert_eq!(meaning("asked:plan").unwrap().fact, Some(Fact::Asked { kind: Asking::Plan }));
        assert_eq!(
            meaning("turn_failed").unwrap().fact,
            Some(Fact::TurnFailed { failure: Failure::Other, detail: None })
        );
        assert_eq!(meaning("nothing").unwrap().fact, None);
        for wrong in ["", "asked", "asked:lunch", "turn_ended:well", "turn_failed:", "Stop"] {
            assert!(meaning(wrong).is_err(), "{wrong}");
        }
    }
}
