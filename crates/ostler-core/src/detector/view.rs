//! What others can ask a detector.

use super::evidence::{At, Claim, ProcessSample, Reading, Reporter, TurnRecord};
use super::weigh::Ground;
use super::{Detector, Memory, ScreenKnowledge, Verdict};
use crate::{Asking, Failure, State, Steady};

impl Detector {
    /// What must be kept for the next daemon.
    pub fn memory(&self) -> Memory {
        Memory {
            verdict: self.verdict.clone(),
            ready: self.ready,
            claim: self.claim,
            hooks: self.hooks.clone(),
            transcript: self.transcript.clone(),
        }
    }

    /// What the agent is doing.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// Whether the screen was looked at since the start, the restart or the loss of output.
    pub fn has_looked(&self) -> bool {
        self.sight == ScreenKnowledge::Current
    }

    /// Whether the screen is all that could tell what the agent does, and no rule knows it.
    pub fn is_puzzled(&self) -> bool {
        matches!(self.ground, Ground::Processes | Ground::Nothing) && self.has_looked() && !self.gone
    }

    /// Whether the agent's own process has ended, and what started it runs on.
    pub fn is_gone(&self) -> bool {
        self.gone
    }

    /// Since when the screen has said nothing new.
    pub fn moved(&self) -> Steady {
        self.activity.any.unwrap_or(self.born)
    }

    /// Whether nothing that was asked of it can be under way: what its screen does now, it does at rest.
    pub fn is_at_rest(&self) -> bool {
        !self.asked || matches!(self.verdict.state, State::Idle | State::Watching)
    }

    /// What the rules last saw on the screen.
    pub fn reading(&self) -> &Reading {
        &self.reading
    }

    /// What the program last claimed.
    pub fn claim(&self) -> Option<At<Claim>> {
        self.claim
    }

    /// What hooks and transcript say.
    pub fn records(&self) -> [(Reporter, &TurnRecord); 2] {
        [(Reporter::Hook, &self.hooks), (Reporter::Transcript, &self.transcript)]
    }

    /// Whether the transcript, where one is read, does not tell yet of the end of a turn that the agent's hooks told of.
    pub fn transcript_lags(&self) -> bool {
        let ended = self.hooks.open.filter(|open| !open.what);
        ended.is_some() && self.transcript.open.is_some_and(|open| open.what)
    }

    /// Why calls to the agent's model fail and are tried again, since when, and who says so.
    pub fn retrying(&self) -> Option<(Reporter, At<Failure>)> {
        let records = self.records().map(|(reporter, record)| (reporter, record.retrying));
        let mut all = [(Reporter::Screen, self.seen.retrying)].into_iter().chain(records);
        all.find_map(|(reporter, retrying)| Some((reporter, retrying?)))
    }

    /// Whether the agent's start is over: it was ready once, or told of a turn. From then on its screen may show what
    /// it wrote itself.
    pub fn has_started(&self) -> bool {
        self.ready || self.records().iter().any(|(_, record)| record.open.is_some() || record.asked.is_some())
    }

    /// What the agent itself says that it waits for, now.
    pub fn told_to_wait_for(&self) -> Vec<Asking> {
        let claimed = self.claim.and_then(|claim| match claim.what {
            Claim::Blocked(asking) => Some(asking),
            _ => None,
        });
        // Its status is told at once; what hooks asked before it may be answered.
        let newest = |asked: &At<Asking>| self.claim.is_none_or(|claim| claim.at <= asked.at);
        let asked = self.waits_for().filter(newest).map(|asked| asked.what);
        claimed.into_iter().chain(asked).collect()
    }

    /// The last look at the processes.
    pub fn sample(&self) -> Option<At<ProcessSample>> {
        self.sample
    }

    /// When output last came that was no echo.
    pub fn last_output(&self) -> Option<Steady> {
        self.activity.last
    }

    /// When to come back, even if nothing happens.
    pub fn deadline(&self) -> Option<Steady> {
        self.deadline
    }
}
