//! What the agent itself says to ostler: that it has a message, or that it wants its context.

use ostler_agents::speech;
use ostler_core::State;
use ostler_core::queue::Priority;
use ostler_protocol::SendTerms;
use tokio::sync::oneshot;

use super::Actor;
use crate::session::SendCommand;
use crate::{clock, context};

impl Actor {
    /// Hears what the agent wrote, word for word.
    pub(super) async fn hear(&mut self, text: &str) {
        let ids = self.unacknowledged(false);
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        if let Some(id) = speech::text_acknowledges(text, &ids) {
            let _ = self.acknowledged(id, "transcript: the agent says that it has it").await;
        }
        if speech::text_requests_context(text) {
            self.give_wanted_context().await;
        }
    }

    /// Looks at what the agent said on its screen.
    pub(super) async fn overhear(&mut self) {
        let ids = self.unacknowledged(true);
        // What the screen shows of a reply may leave out that a line is an example: a transcript has all of it.
        let wants = self.known.book.speech().is_some()
            && !self.conversation.tells_replies
            && self.observer.detector().verdict().state == State::Idle;
        if ids.is_empty() && !wants {
            return;
        }
        let Some(composer) = self.observer.composer() else { return };
        let rows = speech::rows_above(&self.output.screen, Some(composer));
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let acknowledged = speech::acknowledged(&rows, self.known.book.speech(), &ids).map(str::to_owned);
        let asks = wants
            && speech::requests_context(&rows, self.known.book.speech())
            && !self.deliveries.quotes_wish();
        if let Some(id) = acknowledged {
            let _ = self.acknowledged(&id, "screen: the agent says that it has it").await;
        }
        if asks {
            self.give_wanted_context().await;
        }
    }

    /// Messages that the agent was asked to confirm, and has not; without those that the screen cannot tell about, if
    /// it is to.
    fn unacknowledged(&self, on_screen: bool) -> Vec<String> {
        let recent = self.deliveries.recent.iter();
        let wanting = recent.filter(|recent| recent.wants_ack && !(on_screen && recent.quoted));
        wanting.map(|recent| recent.id.clone()).collect()
    }

    /// The agent wants its context: it gets it as a message, once per wish.
    async fn give_wanted_context(&mut self) {
        if self.deliveries.open.values().any(|open| open.message.terms.sender == WISH) {
            return;
        }
        // A wish that stands on the screen until the answer does is one wish.
        if self.wished.is_some_and(|at| clock::steady() < at.plus(PATIENCE)) {
            return;
        }
        self.wished = Some(clock::steady());
        let cwd = self.record.start.cwd.clone();
        let session = Some(self.record.start.id.as_str());
        let found = context::for_session(&self.shared, session, cwd.as_ref(), None, None).await;
        let found =
            found.inspect_err(|error| tracing::warn!(%error, "what waits for the session cannot be read"));
        let unknown = || "Nothing is known of this project yet.".to_owned();
        let text = found.map(|found| found.text).ok().filter(|text| !text.is_empty()).unwrap_or_else(unknown);
        let (queued, _) = oneshot::channel();
        let (settled, _) = oneshot::channel();
        let command = SendCommand {
            id: format!("context-{}", self.deliveries.last_order + 1),
            body: text.into_bytes(),
            terms: SendTerms { sender: WISH.into(), priority: Priority::Startup, ..SendTerms::default() },
            wait: ostler_protocol::Proof::Submitted,
            queued,
            settled,
        };
        Box::pin(self.on_send(command)).await;
    }
}

/// Who sends a context that the agent wished for.
pub(super) const WISH: &str = "context";
/// How long a wish is taken to be the same one.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);
