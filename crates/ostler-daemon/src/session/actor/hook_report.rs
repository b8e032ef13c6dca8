//! What the agent's own hooks say.

use ostler_agents::hooks::decode;
use ostler_core::detector::{Event, Reporter};

use super::Actor;
use crate::session::HookCommand;

impl Actor {
    /// Hears what a hook saw.
    pub(super) async fn on_hook(&mut self, report: HookCommand) {
        let session = &self.record.start.name;
        let HookCommand { id, agent, event, payload, at, print } = report;
        let bytes = payload.len();
        tracing::debug!(%session, id, agent, event, bytes, at = at.0, "hook");
        // Answered first: the agent waits for its hook.
        if let Some(print) = print {
            let _ = print.send(None);
        }
        // An agent that this one started inherits its environment, and speaks of itself.
        if agent.as_ref().is_some_and(|agent| Some(agent) != self.record.start.agent.as_ref()) {
            return;
        }
        let Some(spec) = &self.known.agent.preset.hooks else { return };
        let decoded = decode(spec, &event, &payload);
        self.name_conversation(decoded.transcript, decoded.agent_session);
        for fact in decoded.facts {
            self.conversation.told.hear(&fact);
            self.learn(Event::Reported(Reporter::Hook, fact)).await;
        }
    }
}
