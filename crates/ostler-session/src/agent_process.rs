//! The agent's own process: a terminal may be that of a wrapper which outlives it.

use ostler_core::State;
use ostler_core::detector::Event;

use crate::effect::Effect;
use crate::note::Note;
use crate::session::Session;

/// What is known of the agent's own process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum AgentProcess {
    /// Nobody has looked for it.
    #[default]
    Unsought,
    /// It is being looked for, or was not there yet, or is the program itself.
    Sought,
    /// It runs below the program.
    Found,
    /// It has ended, and the program runs on.
    Gone,
}

impl Session {
    /// Looks for the agent's process once the agent has shown itself, and as long as it is not there, whenever the program
    /// has written something that nobody understands: it may have started one.
    pub(crate) fn follow_agent(&mut self, written: bool) {
        let shown = !matches!(self.observer.detector().verdict().state, State::Starting | State::Unknown);
        let wanted = match self.agent_process {
            AgentProcess::Unsought => shown || written,
            AgentProcess::Sought | AgentProcess::Gone => written,
            AgentProcess::Found => false,
        };
        if wanted && self.is_attached() {
            self.find_agent();
        }
    }

    pub(crate) fn find_agent(&mut self) {
        let names = self.profile.agent.preset.run.processes.clone();
        if self.pid.is_none() || names.is_empty() {
            return;
        }
        if self.agent_process == AgentProcess::Unsought {
            self.agent_process = AgentProcess::Sought;
        }
        self.push(Effect::FindAgent { names });
    }

    pub(crate) fn on_agent_found(&mut self, pid: Option<u32>) {
        match (pid, self.agent_process) {
            (Some(pid), _) => {
                self.agent_process = AgentProcess::Found;
                self.push(Effect::AwaitAgentEnd { pid });
            }
            (None, AgentProcess::Found) => self.agent_process = AgentProcess::Gone,
            (None, _) => return,
        }
        self.note(Note::Detect(Event::AgentRuns(pid.is_some())));
    }
}
