//! What the agent's own hooks say.

use ostler_agents::hooks::{context_output, decode};
use ostler_core::delivery::Witness;
use ostler_core::detector::{Event, Reporter};
use ostler_core::{Fact, Proof};

use tokio::sync::oneshot;

use super::Actor;
use crate::session::HookCommand;

impl Actor {
    /// Gives the agent the context that waits for this moment.
    async fn give_context(&mut self, event: &str, print: oneshot::Sender<Option<String>>) {
        let spec = self.known.agent.preset.hooks.clone();
        let found = self.context_for_hook().and_then(|(order, text)| {
            let printed = context_output(spec.as_ref()?, event, &text)?;
            Some((order, printed))
        });
        let Some((order, printed)) = found else { return drop(print.send(None)) };
        // Recorded before it is given: after a crash nobody could tell, and it is not given twice.
        self.prove(order, Proof::Written, "hook: it is being handed to the session-start hook".into()).await;
        if print.send(Some(printed)).is_ok() {
            self.hook_took(order).await;
        } else {
            self.missed(order).await;
        }
    }

    /// Hears what a hook saw.
    pub(super) async fn on_hook(&mut self, report: HookCommand) {
        let HookCommand { claim, id, agent, event, payload, at, print } = report;
        self.hear_hook(agent.as_ref(), &event, &payload, print).await;
        let (session, bytes) = (&self.record.start.name, payload.len());
        tracing::debug!(%session, id, agent, event, bytes, at = at.0, "hook");
        claim.heard();
    }

    async fn hear_hook(
        &mut self,
        agent: Option<&String>,
        event: &str,
        payload: &[u8],
        print: Option<oneshot::Sender<Option<String>>>,
    ) {
        // An agent that this one started inherits its environment, and speaks of itself.
        if agent.is_some_and(|agent| Some(agent) != self.record.start.agent.as_ref()) {
            return;
        }
        // What a report means is in the rules, and the first one may be quicker than their reader.
        self.await_rules().await;
        // Answered first: the agent waits for its hook.
        if let Some(print) = print {
            self.give_context(event, print).await;
        }
        let Some(spec) = &self.known.agent.preset.hooks else { return };
        let decoded = decode(spec, event, payload);
        self.name_conversation(decoded.transcript, decoded.agent_session);
        for fact in decoded.facts {
            let (prompt, said) = match &fact {
                Fact::PromptSubmitted { text } => (Some(text.clone()), None),
                Fact::Said { text } => (None, Some(text.clone())),
                _ => (None, None),
            };
            self.conversation.told.hear(&fact);
            self.learn(Event::Reported(Reporter::Hook, fact)).await;
            if let Some(text) = prompt {
                self.on_prompt(Witness::Hook, text.as_deref()).await;
            }
            if let Some(text) = said {
                self.hear(&text).await;
                // A message may have waited for a confirmation.
                self.deliver(None).await;
            }
        }
    }
}
