//! What others can see of a session.

use ostler_agents::Observer;
use ostler_core::agent_status::{self, AgentStatus};
use ostler_core::lifecycle::Phase;
use ostler_core::message::Ending;
use ostler_core::stop::Exit;
use ostler_core::stop_watch::Findings;
use ostler_core::{State, Steady, Usage, Wall};
use ostler_screen::{ProgramStatus, Screen};
use serde_json::Value;

use crate::conversation::ConversationSummary;
use crate::life::describe;
use crate::profile::AgentProfile;
use crate::session::Session;

impl Session {
    /// What the session is doing, its kind, and what speaks for it: its life first, then the agent.
    pub fn described(&self) -> (State, Option<String>, Vec<String>) {
        match self.life.lifecycle.phase() {
            Phase::Attached => {
                let verdict = self.observer.detector().verdict();
                (verdict.state, verdict.kind.clone(), verdict.because.clone())
            }
            phase => describe(phase),
        }
    }

    /// Whether the program runs and its holder is connected: then the detector's verdict counts.
    pub fn is_observed(&self) -> bool {
        self.is_attached()
    }

    /// Since when the session has been in its state.
    pub fn since(&self) -> Wall {
        self.since
    }

    /// Process id of the program, once it ran.
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// Process id of the holder, where it is known.
    pub fn holder(&self) -> Option<u32> {
        self.life.holder
    }

    /// Whether a person asked for the end.
    pub fn stop_requested(&self) -> bool {
        self.life.lifecycle.stop_requested()
    }

    /// How the program ended, recorded or not.
    pub fn ending(&self) -> Option<&Ending> {
        self.life.ending.as_ref()
    }

    /// What watches the agent.
    pub fn observer(&self) -> &Observer {
        &self.observer
    }

    /// What is known of the agent.
    pub fn profile(&self) -> &AgentProfile {
        &self.profile
    }

    /// The screen.
    pub fn screen(&self) -> &Screen {
        &self.terminal.screen
    }

    /// Output up to here is on the screen.
    pub fn offset(&self) -> u64 {
        self.terminal.offset
    }

    /// Output that was gone before it could be read.
    pub fn missing(&self) -> u64 {
        self.terminal.missing
    }

    /// What the program last said of itself.
    pub fn claims(&self) -> Option<&ProgramStatus> {
        self.terminal.claims.as_ref()
    }

    /// What was found of the agent's stops so far.
    pub fn stops(&self) -> &Findings {
        self.stops.found()
    }

    /// Messages that something is still to be done for.
    pub fn waiting(&self) -> usize {
        self.outbox.open.len()
    }

    /// What was spent so far, as the transcript says.
    pub fn usage(&self) -> Usage {
        self.conversation.usage
    }

    /// What was said of late.
    pub fn summary(&self) -> &ConversationSummary {
        &self.conversation.summary
    }

    /// The agent's own id of the conversation, once it was told.
    pub fn conversation_id(&self) -> Option<&str> {
        self.conversation.id.as_deref()
    }

    /// How far the transcript was read, for whoever goes on.
    pub fn transcript_read(&self) -> Option<&Value> {
        self.conversation.read.as_ref()
    }

    /// Why the transcript is not read.
    pub fn transcript_problem(&self) -> Option<&str> {
        self.conversation.problem.as_deref()
    }

    /// What the agent is doing, for decisions.
    pub fn agent_status(&self) -> AgentStatus {
        let (state, kind, _) = self.described();
        let detector = self.observer.detector();
        let verdict = detector.verdict();
        AgentStatus {
            state,
            kind,
            composer_never_seen: self.is_opaque(),
            until: verdict.until.clone(),
            since: self.since,
            confidence: verdict.confidence,
            failed: agent_status::failure(detector.records(), state, verdict.kind.as_deref()),
            asks: self.conversation.summary.asks(),
            retrying: detector.retrying(),
            exit: self.ending().map(|ending| Exit { status: ending.status, signal: ending.signal }),
            stop_requested: self.stop_requested(),
            usage: self.conversation.usage,
            transcript_lags: detector.transcript_lags(),
            last_output: Some(self.changed).filter(|at| *at > Steady(0)),
            last_heartbeat: self.last_heartbeat(),
        }
    }
}
