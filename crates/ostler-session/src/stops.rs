//! When the agent stops: said once for every prompt, whoever gave it.

use jiff::tz::TimeZone;
use ostler_core::reset_time::reset_time;
use ostler_core::stop::{Stopped, Trigger};
use ostler_core::stop_watch::{Event, Findings, Patience, PromptState, StopWatch};
use ostler_core::{Now, State, Steady, Wall, continuation};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Safeguard;
use crate::change::Change;
use crate::effect::Effect;
use crate::note::{Note, Then};
use crate::session::Session;

/// Watches for the end of what the agent was given last.
#[derive(Debug)]
pub(crate) struct Stops {
    watch: StopWatch,
    prompt: PromptState,
    /// What listeners were told of last.
    told: Findings,
    /// Times without a zone are in this one.
    zone: TimeZone,
}

/// What the next daemon has to know of it.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct StopsMemory {
    found: Findings,
    /// When the last prompt was given.
    prompt: Option<Wall>,
    /// When the agent had it.
    taken: Option<Wall>,
}

impl Stops {
    pub(crate) fn new(memory: &StopsMemory, zone: TimeZone, now: Now) -> Self {
        let StopsMemory { found, prompt, taken } = *memory;
        let prompt = prompt.map_or(PromptState::Nothing, |sent| PromptState::Prompt { sent, taken });
        let watch = StopWatch::new(prompt, found, zone.clone(), now);
        Self { watch, prompt, told: Findings::default(), zone }
    }

    pub(crate) fn found(&self) -> &Findings {
        self.watch.found()
    }

    /// When the agent was last given a prompt.
    pub(crate) fn prompted(&self) -> Option<Wall> {
        self.memory().prompt
    }

    pub(crate) fn memory(&self) -> StopsMemory {
        let (prompt, taken) = match self.prompt {
            PromptState::Prompt { sent, taken } => (Some(sent), taken),
            PromptState::Nothing => (None, None),
        };
        StopsMemory { found: *self.found(), prompt, taken }
    }

    /// When a limit ends, as the agent's words say it.
    pub(crate) fn limit_end(&self, words: &str, now: Now) -> Option<Steady> {
        reset_time(words, now.wall, &self.zone).map(|at| now.steady_until(at))
    }

    pub(crate) fn deadline(&self) -> Option<Steady> {
        self.watch.deadline()
    }
}

impl Session {
    /// Enter was pressed, by whomever: the agent has something to do, unless that answered a dialog.
    pub(crate) fn note_prompt(&mut self) {
        if self.described().0 != State::Blocked {
            self.note_prompt_at(self.now.wall);
        }
    }

    /// The record says that the agent took a prompt at this moment. What is remembered of prompts may be older: the daemon
    /// was killed before it remembered more.
    pub(crate) fn note_recorded_prompt(&mut self, taken: Wall) {
        let StopsMemory { prompt, taken: remembered, .. } = self.stops.memory();
        let newer = remembered.max(prompt).is_none_or(|known| known < taken);
        if newer && self.guards(Safeguard::RecordedPromptsStop) {
            self.note_prompt_at(taken);
        }
    }

    /// An Enter may have been pressed of which the daemon before remembered nothing.
    pub(crate) fn note_resumed_prompt(&mut self) {
        let StopsMemory { found, prompt, .. } = self.stops.memory();
        // A prompt whose turn is not over may be this one.
        let newer = prompt.is_none() || found.turn.is_some();
        if newer && self.guards(Safeguard::RecordedPromptsStop) {
            self.note_prompt_at(self.now.wall);
        }
    }

    fn note_prompt_at(&mut self, sent: Wall) {
        self.stops.prompt = PromptState::Prompt { sent, taken: None };
        self.watch_for_stop(Event::PromptChanged(self.stops.prompt));
    }

    /// The agent has taken a prompt. Whether Enter was `entered` behind it may be unknown: an earlier daemon's may have been late.
    pub(crate) fn note_prompt_taken(&mut self, entered: bool) {
        if !entered {
            self.note_prompt_at(self.now.wall);
        }
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

    /// Somebody who listens wants an agent to be given up that only retries for so long.
    pub(crate) fn set_patience(&mut self, patience: Patience) {
        self.watch_for_stop(Event::PatienceChanged(patience));
    }

    fn watch_for_stop(&mut self, event: Event) {
        let stopped = self.stops.watch.handle(event, self.now);
        let found = *self.stops.found();
        let before = std::mem::replace(&mut self.stops.told, found);
        if before == found {
            return;
        }
        self.carry_on_found(&before, &found);
        match stopped {
            Some(stopped) => self.record_stop(&stopped),
            None => self.push_behind(Effect::StopsChanged),
        }
    }

    /// Records a stop, then tells those who listen.
    fn record_stop(&mut self, stopped: &Stopped) {
        let event = continuation::Event::Stopped(*stopped);
        if stopped.trigger == Trigger::PtyExit {
            // What is remembered with this is the last that is remembered of the process.
            self.carry_on(event.clone());
        }
        if let Some(memory) = self.remembered() {
            let details = json!(stopped);
            let change = Change::Observed { memory, event: "session.stopped", details };
            self.record_then(change, vec![Then::Do(Effect::StopsChanged)]);
        }
        if stopped.trigger != Trigger::PtyExit {
            self.note(Note::CarryOn(event));
        }
    }
}
