//! What the agent itself says to ostler: that it has a message, or that it wants its context.

use std::time::Duration;

use ostler_agents::speech;
use ostler_core::State;
use ostler_core::message::Terms;
use ostler_core::queue::Priority;

use crate::effect::Effect;
use crate::event::Send;
use crate::session::Session;

/// Who sends a context that the agent wished for.
pub const WISH: &str = "context";
/// How long a wish is taken to be the same one.
const PATIENCE: Duration = Duration::from_secs(10);

impl Session {
    /// Hears what the agent wrote, word for word.
    pub(crate) fn on_agent_text(&mut self, text: &str) {
        let ids = self.unacknowledged(false);
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        if let Some(id) = speech::text_acknowledges(text, &ids, &self.outbox.ack_words) {
            self.acknowledge(id, "transcript: the agent says that it has it");
        }
        if speech::text_requests_context(text) {
            self.give_wanted_context();
        }
    }

    /// Looks at what the agent said on its screen.
    pub(crate) fn read_agent_speech(&mut self) {
        let ids = self.unacknowledged(true);
        // What the screen shows of a reply may leave out that a line is an example: a transcript has all of it.
        let speech = self.profile.book.speech();
        let wants = speech.is_some()
            && !self.conversation.tells_replies
            && self.observer.detector().verdict().state == State::Idle;
        if ids.is_empty() && !wants {
            return;
        }
        let Some(composer) = self.observer.composer() else { return };
        let rows = speech::rows_above(&self.terminal.screen, Some(composer));
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let acknowledged =
            speech::acknowledged(&rows, speech, &ids, &self.outbox.ack_words).map(str::to_owned);
        let asks = wants && speech::requests_context(&rows, speech) && !self.outbox.quotes_wish();
        if let Some(id) = acknowledged {
            self.acknowledge(&id, "screen: the agent says that it has it");
        }
        if asks {
            self.give_wanted_context();
        }
    }

    /// Messages that the agent was asked to confirm, and has not; without those that the screen cannot tell about, if
    /// it is to.
    fn unacknowledged(&self, on_screen: bool) -> Vec<String> {
        let recent = self.outbox.recent.iter();
        let wanting = recent.filter(|recent| recent.wants_ack && !(on_screen && recent.quoted));
        let kept = self.outbox.open.values().filter(|open| open.delivery.is_kept() && open.message.terms.ack);
        let kept = kept.map(|open| &open.message.id);
        wanting.map(|recent| &recent.message.id).chain(kept).cloned().collect()
    }

    /// The agent wants its context: it gets it as a message, once per wish.
    fn give_wanted_context(&mut self) {
        if self.outbox.open.values().any(|open| open.message.terms.sender == WISH) {
            return;
        }
        // A wish that stands on the screen until the answer does is one wish.
        if self.wished.is_some_and(|at| self.now.steady < at.plus(PATIENCE)) {
            return;
        }
        self.wished = Some(self.now.steady);
        self.push(Effect::GatherContext);
    }

    /// The context that the agent wished for was gathered.
    pub(crate) fn on_context(&mut self, text: String) {
        self.on_send(Send {
            id: format!("context-{}", self.outbox.last_order + 1),
            body: text.into_bytes(),
            terms: Terms { sender: WISH.into(), priority: Priority::Startup, ..Terms::default() },
            known: None,
            queued: None,
            waiter: None,
        });
    }
}
