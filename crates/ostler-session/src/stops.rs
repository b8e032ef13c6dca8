//! When the agent stops: said once for every prompt, whoever gave it.

use jiff::tz::TimeZone;
use ostler_core::stop::Stopped;
use ostler_core::stop_watch::{Event, Patience, PromptState, Report, Said, StopWatch};
use ostler_core::{Now, State, Steady, Wall};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::change::Change;
use crate::session::Session;

/// Watches for the end of what the agent was given last.
#[derive(Debug)]
pub(crate) struct Stops {
    watch: StopWatch,
    prompt: PromptState,
}

/// What the next daemon has to know of it.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct StopsMemory {
    said: Said,
    /// When the last prompt was given.
    prompt: Option<Wall>,
}

impl Stops {
    pub(crate) fn new(memory: StopsMemory, zone: TimeZone, now: Now) -> Self {
        let given = |sent| PromptState::Prompt { sent, taken: None };
        let prompt = memory.prompt.map_or(PromptState::Nothing, given);
        Self { watch: StopWatch::new(prompt, memory.said, Patience::UNLIMITED, zone, now), prompt }
    }

    pub(crate) fn memory(&self) -> StopsMemory {
        let prompt = match self.prompt {
            PromptState::Prompt { sent, .. } => Some(sent),
            PromptState::Nothing | PromptState::Delivering => None,
        };
        StopsMemory { said: self.watch.said(), prompt }
    }

    pub(crate) fn deadline(&self) -> Option<Steady> {
        self.watch.deadline()
    }
}

impl Session {
    /// Enter was pressed, by whomever: the agent has something to do, unless that answered a dialog.
    pub(crate) fn note_prompt(&mut self) {
        if self.described().0 != State::Blocked {
            self.stops.prompt = PromptState::Prompt { sent: self.now.wall, taken: None };
            self.watch_for_stop(Event::PromptChanged(self.stops.prompt));
        }
    }

    /// The agent has taken a prompt.
    pub(crate) fn note_prompt_taken(&mut self) {
        if let PromptState::Prompt { taken, .. } = &mut self.stops.prompt {
            taken.get_or_insert(self.now.wall);
            self.watch_for_stop(Event::PromptChanged(self.stops.prompt));
        }
    }

    /// What the agent is doing has changed, or time has passed.
    pub(crate) fn look_for_stop(&mut self) {
        let status = self.agent_status();
        self.watch_for_stop(Event::StatusChanged(status));
    }

    fn watch_for_stop(&mut self, event: Event) {
        for report in self.stops.watch.handle(event, self.now) {
            if let Report::Stopped(stopped) = report {
                self.record_stop(&stopped);
            }
        }
    }

    fn record_stop(&mut self, stopped: &Stopped) {
        if let Some(memory) = self.remembered() {
            let details = json!(stopped);
            self.record(Change::Observed { memory, event: "session.stopped", details });
        }
    }
}
