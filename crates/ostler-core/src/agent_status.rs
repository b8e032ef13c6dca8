//! What an agent is doing, for decisions, and the one classification of how a turn or a process ends.
//!
//! # Theory of operation
//!
//! The session puts an [`AgentStatus`] together from its detector, its conversation and its lifecycle. Each of hooks,
//! transcript and screen may know best how a turn failed; [`failure`] merges them. [`AgentStatus::stop`] then says which
//! stop the status amounts to. It says nothing of time: an agent may rest for a moment between two tools, and a policy may
//! answer a dialog. When a stop counts is up to [`stop_watch`](crate::stop_watch).

use jiff::tz::TimeZone;

use crate::breaker::Limit;
use crate::detector::{At, Reporter, TurnRecord};
use crate::reset_time::reset_time;
use crate::stop::{Exit, Stop, Trigger};
use crate::{Asking, Failure, State, Steady, Usage, Wall};

/// What an agent is doing, for decisions.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentStatus {
    /// What it is doing.
    pub state: State,
    /// What kind of it.
    pub kind: Option<String>,
    /// Its prompt box should be visible and never was: nothing is typed into it.
    pub composer_never_seen: bool,
    /// When a limit ends, in the agent's words.
    pub until: Option<String>,
    /// Since when it has been in this state.
    pub since: Wall,
    /// How sure the state is, from 0 to 1.
    pub confidence: f32,
    /// How the last turn failed, and who says so.
    pub failed: Option<(Reporter, Failure)>,
    /// Its last turn ended with a question, by its own words.
    pub asks: bool,
    /// Why calls to its model fail and are retried, since when, and who says so.
    pub retrying: Option<(Reporter, At<Failure>)>,
    /// How its process ended.
    pub exit: Option<Exit>,
    /// A person or a program asked ostler to end it.
    pub stop_requested: bool,
    /// What its session has spent.
    pub usage: Usage,
    /// Its transcript does not tell yet that the turn is over, so what the last answer cost is missing.
    pub transcript_lags: bool,
    /// When its terminal last had output that was no echo.
    pub last_output: Option<Steady>,
    /// When it last called one of ostler's tools.
    pub last_heartbeat: Option<Wall>,
}

impl AgentStatus {
    /// Whether it can be given a first prompt. A screen that no rule knows is typed into blindly or not at all: waiting
    /// for it changes nothing.
    pub fn is_ready(&self) -> bool {
        let unrecognised = self.state == State::Unknown && self.kind.as_deref() == Some("unrecognised");
        unrecognised || matches!(self.state, State::Idle | State::Watching | State::Error | State::Limited)
    }

    /// The stop that the status amounts to if it lasts. Times without a zone are in `zone`.
    pub fn stop(&self, now: Wall, zone: &TimeZone) -> Option<(Trigger, Stop)> {
        let until = || self.until.as_deref().and_then(|text| reset_time(text, now, zone));
        let failed = || {
            let (by, failure) = self.failed?;
            Some(Stop::TurnFailed { by, failure, until: until() })
        };
        let shown = || Stop::Limited { limit: Limit::of_kind(self.kind.as_deref()), until: until() };
        Some(match self.state {
            State::Idle => (Trigger::TurnEnded, Stop::Idle { asks: self.asks }),
            State::Limited => (Trigger::TurnEnded, failed().unwrap_or_else(shown)),
            State::Error => (Trigger::TurnEnded, failed().unwrap_or(Stop::StatusError)),
            State::Blocked => (Trigger::DialogOpen, self.waiting()),
            State::Working => {
                let (by, At { what: failure, .. }) = self.retrying?;
                (Trigger::RetriesFailing, Stop::TurnFailed { by, failure, until: None })
            }
            State::Exited => (Trigger::PtyExit, Stop::of_process(self.exit, self.stop_requested)),
            State::Unknown if self.kind.as_deref() == Some("gone") => {
                (Trigger::PtyExit, Stop::of_process(self.exit, self.stop_requested))
            }
            State::Starting | State::Watching | State::Unknown => return None,
        })
    }

    /// What it waits for. A login is no dialog that the work could wait for: other agents may be logged in.
    fn waiting(&self) -> Stop {
        match self.kind.as_deref().and_then(Asking::named).unwrap_or(Asking::Dialog) {
            Asking::Auth => {
                let by = self.failed.map_or(Reporter::Screen, |(by, _)| by);
                Stop::TurnFailed { by, failure: Failure::Auth, until: None }
            }
            kind => Stop::Blocked { kind },
        }
    }
}

/// How the last turn failed, and who says so: hooks, transcript or, while the agent shows an error, its screen. The most
/// exact one counts; among equals the first of them.
pub fn failure(
    records: [(Reporter, &TurnRecord); 2],
    state: State,
    kind: Option<&str>,
) -> Option<(Reporter, Failure)> {
    let on_screen = kind.and_then(Failure::named).filter(|_| state == State::Error);
    let recorded = records.into_iter().filter_map(|(by, record)| Some((by, record.failed?.what)));
    recorded
        .chain(on_screen.map(|failure| (Reporter::Screen, failure)))
        .reduce(|known, other| if known.1.or_rather(other.1) == known.1 { known } else { other })
}

#[cfg(test)]
mod tests;
