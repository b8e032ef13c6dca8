//! What the agent says by calling ostler's tools.
//!
//! Every call is a sign of life. It is remembered across restarts, as are the last word on progress and what the agent
//! said it waits for; the next process begins with none of it.

use ostler_core::Wall;
use ostler_core::awaited::Awaited;
use ostler_core::continuity::cut;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::change::Change;
use crate::effect::{Answer, Effect};
use crate::event::Ticket;
use crate::note::Then;
use crate::session::Session;

/// Most bytes of a word on progress, and of a reason to be sent on.
const WORDS: usize = 1_000;

/// What is remembered of the agent's calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct AgentCalls {
    /// When it last called.
    last: Option<Wall>,
    progress: Option<Progress>,
    awaited: Option<Awaited>,
    /// What is left to do, as the agent said when it asked to be sent on.
    #[serde(skip_serializing_if = "Option::is_none")]
    wants_on: Option<String>,
}

/// How far the work has got, as the agent said last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// In words.
    pub text: String,
    /// In percent.
    pub percent: Option<u8>,
    /// When it said so.
    pub at: Wall,
}

/// A call of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCall {
    /// Names the call, in the event log.
    pub id: String,
    /// What the agent says by it.
    pub says: Says,
    /// Who is told when that is recorded.
    pub ticket: Option<Ticket>,
}

/// What an agent says by a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Says {
    /// Nothing to the session itself: it is there.
    Nothing,
    /// How far its work has got.
    Progress {
        /// In words.
        text: String,
        /// In percent.
        percent: Option<u8>,
    },
    /// It wants to be sent on when its turn is over.
    Continue {
        /// What is left to do.
        reason: String,
    },
    /// It waits for something.
    WaitsFor(Awaited),
}

impl Session {
    /// The agent called one of ostler's tools.
    pub(crate) fn on_agent_call(&mut self, call: AgentCall) {
        let AgentCall { id, says, ticket } = call;
        self.calls.last = Some(self.now.wall);
        let told = match says {
            Says::Nothing => None,
            Says::Progress { text, percent } => {
                let (text, percent) = (cut(text.trim(), WORDS), percent.map(|percent| percent.min(100)));
                let details = json!({ "id": id, "text": text, "percent": percent });
                self.calls.progress = Some(Progress { text, percent, at: self.now.wall });
                Some(("agent.progress", details))
            }
            Says::Continue { reason } => {
                let reason = cut(reason.trim(), WORDS);
                let details = json!({ "id": id, "reason": reason });
                self.calls.wants_on = Some(reason);
                Some(("agent.wants_continuation", details))
            }
            Says::WaitsFor(awaited) => {
                let details = json!({ "id": id, "awaited": awaited });
                self.calls.awaited = Some(awaited);
                Some(("agent.waits_for", details))
            }
        };
        // A stop from now on says when the agent was last heard of.
        self.look_for_stop();
        let Some(memory) = self.remembered() else { return };
        let noted = ticket.map(|ticket| Then::Do(Effect::Answer(ticket, Answer::Noted)));
        match told {
            Some((event, details)) => {
                let change = Change::Observed { memory, event, details };
                self.record_then(change, noted.into_iter().collect());
            }
            None => self.record_note(Change::Remembered { memory }),
        }
    }

    /// What a stop has to be judged by: what the agent waits for, if that was said of this turn and is not over, and
    /// what it wants to be sent on for, which counts once.
    pub(crate) fn take_wishes(&mut self) -> (Option<Awaited>, Option<String>) {
        let turn = self.stops.prompted().unwrap_or(self.created);
        let lasts = |awaited: &&Awaited| {
            awaited.since >= turn && awaited.until.is_none_or(|until| until > self.now.wall)
        };
        let awaited = self.calls.awaited.as_ref().filter(lasts).cloned();
        (awaited, self.calls.wants_on.take())
    }

    /// When the agent last called one of ostler's tools.
    pub fn last_heartbeat(&self) -> Option<Wall> {
        self.calls.last
    }

    /// How far the work has got, as the agent said last.
    pub fn progress(&self) -> Option<&Progress> {
        self.calls.progress.as_ref()
    }

    /// What the agent said it waits for.
    pub fn awaited(&self) -> Option<&Awaited> {
        self.calls.awaited.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use ostler_core::awaited::AwaitedThing;

    use super::*;
    use crate::memory::{Carried, Remembered};

    #[test]
    fn what_was_said_is_remembered_until_the_process_ends() {
        let without = r#"{"since":5,"detector":null}"#;
        let old = Remembered::read(without).unwrap();
        assert_eq!(old.calls, AgentCalls::default(), "an earlier version knew of no calls");
        let awaited = Awaited { what: AwaitedThing::Time, until: Some(Wall(9)), note: None, since: Wall(7) };
        let progress = Progress { text: "half".into(), percent: Some(50), at: Wall(6) };
        let calls = AgentCalls {
            last: Some(Wall(7)),
            progress: Some(progress),
            awaited: Some(awaited),
            wants_on: Some("more".into()),
        };
        let mut memory = old;
        memory.calls = calls.clone();
        let text = serde_json::to_string(&memory).unwrap();
        assert_eq!(Remembered::read(&text).unwrap().calls, calls);
        let next = Carried::read(&text).unwrap().into_memory(true, Wall(10)).unwrap();
        assert_eq!(Remembered::read(&next).unwrap().calls, AgentCalls::default());
    }
}
