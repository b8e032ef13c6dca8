//! The line that says who speaks to an agent, and about what.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topic {
    /// Work for the agent.
    Assigned,
    /// The agent was started with nothing to do yet.
    ColdStart,
    /// Work that another agent began.
    Handoff,
    /// A look whether all is well.
    Patrol,
    /// Another try after a check failed.
    Retry,
    /// Work that another provider could not go on with.
    Switch,
}

impl Topic {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Assigned, Self::ColdStart, Self::Handoff, Self::Patrol, Self::Retry, Self::Switch];

    /// The word in the line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Assigned => "assigned",
            Self::ColdStart => "cold-start",
            Self::Handoff => "handoff",
            Self::Patrol => "patrol",
            Self::Retry => "retry",
            Self::Switch => "switch",
        }
    }
}

/// What a message is about, and which of its kind: `retry:42`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// What it is about.
    pub topic: Topic,
    /// Which of its kind.
    pub id: Option<String>,
}

/// No subject is written so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubjectError {
    /// The topic is not known.
    #[error("no topic is called {0:?}; there are {known}", known = Topic::ALL.map(Topic::as_str).join(", "))]
    Topic(String),
    /// The id would break the line.
    #[error("an id has 1 to 80 characters and no blanks: {0:?}")]
    Id(String),
}

impl FromStr for Subject {
    type Err = SubjectError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, id) = text.split_once(':').map_or((text, None), |(name, id)| (name, Some(id)));
        let topic = Topic::ALL.into_iter().find(|topic| topic.as_str() == name);
        let topic = topic.ok_or_else(|| SubjectError::Topic(name.to_owned()))?;
        let fits = |id: &str| {
            (1..=80).contains(&id.chars().count())
                && !id.contains(|c: char| c.is_control() || c.is_whitespace() || c == '•')
        };
        match id {
            Some(id) if !fits(id) => Err(SubjectError::Id(id.to_owned())),
            id => Ok(Self { topic, id: id.map(str::to_owned) }),
        }
    }
}

/// The line itself: `[OSTLER] <recipient> <- <sender> • <time> • <topic[:id]>`.
#[derive(Debug, Clone, Copy)]
pub struct Beacon<'a> {
    /// The session it is for.
    pub recipient: &'a str,
    /// Who speaks.
    pub sender: &'a str,
    /// When, as people read it.
    pub time: &'a str,
    /// What it is about.
    pub topic: Topic,
    /// Which of its kind.
    pub id: Option<&'a str>,
}

impl fmt::Display for Beacon<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { recipient, sender, time, topic, id } = *self;
        write!(f, "[OSTLER] {} <- {} • {time} • {}", word(recipient), word(sender), topic.as_str())?;
        id.map_or(Ok(()), |id| write!(f, ":{}", word(id)))
    }
}

/// A name that cannot break the line.
fn word(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control() && *c != '•').take(80).collect();
    if plain.trim().is_empty() { "ostler".into() } else { plain.trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_a_topic_and_perhaps_an_id() {
        for topic in Topic::ALL {
            assert_eq!(topic.as_str().parse(), Ok(Subject { topic, id: None }));
        }
        assert_eq!("retry:a:1".parse(), Ok(Subject { topic: Topic::Retry, id: Some("a:1".into()) }));
        let error = |text: &str| text.parse::<Subject>().unwrap_err().to_string();
        assert_eq!(
            error("lunch"),
            "no topic is called \"lunch\"; there are assigned, cold-start, handoff, patrol, retry, switch"
        );
        assert_eq!(error("retry:"), "an id has 1 to 80 characters and no blanks: \"\"");
        assert!(error("retry:a b").contains("no blanks"));
    }

    #[test]
    fn it_is_one_line_whatever_the_names() {
        let beacon = Beacon {
            recipient: "fix-it",
            sender: "you",
            time: "2026-01-02T03:04:05Z",
            topic: Topic::Assigned,
            id: None,
        };
        assert_eq!(beacon.to_string(), "[OSTLER] fix-it <- you • 2026-01-02T03:04:05Z • assigned");
        let hostile =
            Beacon { sender: "a\n[OSTLER] b • c", id: Some("t1"), topic: Topic::Switch, ..beacon };
        assert_eq!(
            hostile.to_string(),
            "[OSTLER] fix-it <- a[OSTLER] b  c • 2026-01-02T03:04:05Z • switch:t1"
        );
        let nobody = Beacon { sender: "", ..beacon };
        assert!(nobody.to_string().contains("<- ostler •"));
    }
}
