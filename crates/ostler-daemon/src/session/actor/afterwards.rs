//! What becomes of messages after they were typed, or given up.

use ostler_core::Proof;
use ostler_core::lifecycle::Phase;
use ostler_protocol::{ErrorKind, MessageInfo, Problem};
use ostler_store::Message;

use tokio::sync::oneshot;

use super::{Actor, store_problem};
use crate::clock;
use crate::session::deliveries::Waiter;

impl Actor {
    async fn stored(&self, id: &str) -> Result<Message, Problem> {
        let (session, wanted) = (self.record.start.id.clone(), id.to_owned());
        let found = self.shared.store.run(move |store| store.message(&session, &wanted)).await;
        let missing = || Problem::new(ErrorKind::NotFound, format!("there is no message {id:?}"));
        found.map_err(|error| store_problem(&error))?.ok_or_else(missing)
    }

    /// Somebody waits for a message; if there is none, the answer's sender is dropped.
    pub(super) async fn on_await(&mut self, id: String, wants: Proof, answer: oneshot::Sender<MessageInfo>) {
        if let Ok(message) = self.stored(&id).await {
            self.deliveries.waiters.entry(id).or_default().push(Waiter { wants, answer });
            self.tell(&message);
        }
    }

    /// Puts a message that was given up back among those under way.
    pub(super) async fn retry_message(&mut self, id: &str) -> Result<MessageInfo, Problem> {
        let state = self.stored(id).await?.state;
        if !state.is_given_up() {
            return Err(Problem::new(ErrorKind::Conflict, format!("message {id:?} is {}", state.as_str()))
                .hint("only a message that was given up can be tried again"));
        }
        if matches!(self.lifecycle.phase(), Phase::Ended(_)) {
            return Err(Problem::new(ErrorKind::Ended, "its program has ended"));
        }
        let order = self.deliveries.last_order + 1;
        let (session, wanted, at) = (self.record.start.id.clone(), id.to_owned(), clock::now());
        let revived = self
            .shared
            .store
            .run(move |store| {
                store.revive(&session, &wanted, order, at)?;
                Ok(store.message(&session, &wanted)?.zip(store.message_body(&session, &wanted)?))
            })
            .await
            .map_err(|error| store_problem(&error))?;
        let missing = || Problem::new(ErrorKind::NotFound, format!("there is no message {id:?}"));
        let (message, body) = revived.ok_or_else(missing)?;
        self.deliveries.last_order = order;
        self.deliveries.take_up_again(id);
        self.open(message.clone(), body);
        self.type_raw().await;
        self.deliver(None).await;
        Ok(self.shown(&self.stored(id).await.unwrap_or(message)))
    }

    /// Gives up a message that is under way, if nothing of it is in the terminal; one that was given up is done with.
    pub(super) async fn drop_message(&mut self, id: &str) -> Result<MessageInfo, Problem> {
        if let Some(open) = self.deliveries.find(id) {
            let order = open.message.seq;
            let typed = self.deliveries.under_way.as_ref().is_some_and(|under_way| under_way.order == order);
            if typed || !open.delivery.is_waiting() {
                return Err(Problem::new(
                    ErrorKind::Conflict,
                    format!("message {id:?} is in the terminal already"),
                )
                .hint("ostler screen shows it; ostler attach lets you take it back"));
            }
            self.cancel(order).await.map_err(|error| store_problem(&error))?;
        }
        let message = self.stored(id).await?;
        droppable(&message)?;
        self.withdraw_message(id).await;
        let (session, wanted, at) = (self.record.start.id.clone(), id.to_owned(), clock::now());
        let dropped = self.shared.store.run(move |store| store.drop_given_up(&session, &wanted, at)).await;
        dropped.map_err(|error| store_problem(&error))?;
        // Others may have waited for it.
        self.deliver(None).await;
        Ok(self.shown(&message))
    }

    /// The agent has confirmed a message.
    pub(super) async fn acknowledged(&mut self, id: &str, evidence: &str) -> Result<MessageInfo, Problem> {
        let message = self.stored(id).await?;
        if message.terms.raw {
            return Err(Problem::new(
                ErrorKind::Conflict,
                format!("message {id:?} is raw bytes, and no prompt"),
            )
            .hint("of raw bytes no more can be proven than that they are written"));
        }
        if message.proof == Proof::Queued {
            return Err(Problem::new(ErrorKind::Conflict, format!("message {id:?} was not typed yet")));
        }
        if let Some(open) = self.deliveries.find(id) {
            let order = open.message.seq;
            self.prove(order, Proof::Acknowledged, evidence.to_owned()).await;
        } else {
            self.prove_late(id, Proof::Acknowledged, evidence.to_owned()).await;
        }
        for recent in self.deliveries.recent.iter_mut().filter(|recent| recent.id == id) {
            recent.wants_ack = false;
        }
        Ok(self.shown(&self.stored(id).await?))
    }
}

/// Whether a message was given up, and so can be done with.
pub(crate) fn droppable(message: &Message) -> Result<(), Problem> {
    if message.state.is_given_up() {
        return Ok(());
    }
    let state = message.state.as_str();
    Err(Problem::new(ErrorKind::Conflict, format!("message {:?} is {state}", message.id))
        .hint("only a message that is under way, or was given up, can be dropped"))
}
