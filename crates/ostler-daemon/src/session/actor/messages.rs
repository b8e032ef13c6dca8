//! Messages under way: what is proven of them, recorded and told.

use std::time::Duration;

use ostler_agents::Body;
use ostler_core::delivery::{Delivery, Event as News, Mode, Policy, Witness};
use ostler_core::queue::Priority;
use ostler_core::start_plan::Way;
use ostler_core::{Proof, Timestamp};
use ostler_protocol::MessageInfo;
use ostler_screen::SafeText;
use ostler_store::{Message, MessageState, Store, StoreError, Terms};

use super::Actor;
use super::ending::STORE_RETRY;
use crate::clock;
use crate::session::deliveries::{Open, Recent, Waiter};
use crate::session::{by_file, info};

impl Actor {
    /// What is typed for a message, or was, and whether that only says where the message is.
    pub(super) fn typed_text(&self, message: &Message, bytes: &[u8]) -> (SafeText, bool) {
        if message.terms.raw {
            return (SafeText::default(), false);
        }
        if message.attempts > 0
            && let Some(pointer) = by_file::find(self.dir.path(), &message.id)
        {
            return (pointer, true);
        }
        let text = prompt(&String::from_utf8_lossy(bytes));
        (if message.terms.ack { with_request(&text, &message.id) } else { text }, false)
    }

    /// Adds a message to those under way.
    pub(super) fn open(&mut self, message: Message, bytes: Vec<u8>) {
        let (plain, by_file) = self.typed_text(&message, &bytes);
        let Terms { mode, command, way, .. } = message.terms;
        let delivery = match way {
            Way::Message => Delivery::new(mode, self.deliveries.policy).of_command(command),
            way => Delivery::given(way, self.deliveries.policy),
        };
        let entered = delivery.is_given().then(clock::steady);
        let (raw, since) = (message.terms.raw.then_some(bytes), clock::steady());
        let (body, text) = (Body::new(""), SafeText::default());
        let mut open = Open {
            raw,
            body,
            plain,
            text,
            delivery,
            by_file,
            echoes: 0,
            prompt: None,
            entered,
            since,
            message,
        };
        open.learn(&self.known.agent.preset.input);
        self.deliveries.open.insert(open.message.seq, open);
    }

    /// Records what is proven of a message, then tells those who wait for it.
    pub(super) async fn prove(&mut self, order: u64, proof: Proof, evidence: String) {
        let Some(open) = self.deliveries.open.get_mut(&order) else { return };
        let (session, id, at) = (self.record.start.id.clone(), open.message.id.clone(), clock::now());
        let last = proof >= Proof::Submitted || open.message.terms.raw;
        open.message.proof = proof;
        open.message.evidence.push(evidence.clone());
        let recorded = self
            .shared
            .store
            .run(move |store| {
                store.prove(&session, &id, proof, &evidence, last, at)?;
                store.message(&session, &id)
            })
            .await;
        self.log_store(&recorded);
        match recorded {
            Ok(Some(message)) => {
                if last {
                    self.done_with(order, &message);
                }
                self.tell(&message);
                if proof >= Proof::Submitted {
                    self.de_escalate(&message).await;
                }
            }
            Ok(None) => {}
            // Not recorded is not told; it is tried again.
            Err(_) => {
                self.unproven.insert(order, proof);
                self.store_retry_at.get_or_insert(clock::steady().plus(STORE_RETRY));
            }
        }
    }

    /// Tries again to record what the store refused.
    pub(super) async fn retry_messages(&mut self) {
        for (order, proof) in std::mem::take(&mut self.unproven) {
            let evidence = self.deliveries.open.get_mut(&order).and_then(|open| open.message.evidence.pop());
            self.prove(order, proof, evidence.unwrap_or_default()).await;
        }
        for (order, (state, failure)) in std::mem::take(&mut self.ungiven) {
            self.give_up(order, state, failure).await;
        }
        self.record_write().await;
        self.deliver(None).await;
    }

    /// Records that nothing more is done for a message, then tells those who wait for it.
    pub(super) async fn give_up(&mut self, order: u64, state: MessageState, failure: String) {
        let reason = failure.clone();
        let recorded = self
            .conclude(order, move |store, session, id, at| store.give_up(session, id, state, &reason, at));
        if recorded.await.is_err() {
            self.ungiven.insert(order, (state, failure));
            self.store_retry_at.get_or_insert(clock::steady().plus(STORE_RETRY));
        }
    }

    /// Records that a message is not wanted any more, then tells those who wait for it.
    pub(super) async fn cancel(&mut self, order: u64) -> Result<(), StoreError> {
        self.conclude(order, Store::cancel).await
    }

    async fn conclude(
        &mut self,
        order: u64,
        record: impl FnOnce(&mut Store, &str, &str, Timestamp) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        let Some(open) = self.deliveries.open.get(&order) else { return Ok(()) };
        let (session, id, at) = (self.record.start.id.clone(), open.message.id.clone(), clock::now());
        let recorded = self
            .shared
            .store
            .run(move |store| {
                record(store, &session, &id, at)?;
                store.message(&session, &id)
            })
            .await;
        self.log_store(&recorded);
        if let Some(message) = recorded? {
            self.done_with(order, &message);
            self.tell(&message);
        }
        Ok(())
    }

    /// Takes a message from those under way; something may still be heard of it.
    fn done_with(&mut self, order: u64, message: &Message) {
        let Some(open) = self.deliveries.open.remove(&order) else { return };
        if self.deliveries.in_hand == Some(order) {
            self.deliveries.in_hand = None;
        }
        let delivered = message.state == MessageState::Delivered;
        if message.terms.raw {
            return;
        }
        // Of what was never typed nothing is left, and nothing will be heard.
        let typed = open.delivery.attempts() > 0;
        if typed {
            self.deliveries.unsure = open.prompt.filter(|_| !delivered);
        }
        if typed || delivered {
            self.deliveries.remember(recent(message, open.body), open.plain.as_str());
        }
    }

    /// Tells those who wait for a message what is known of it now.
    pub(super) fn tell(&mut self, message: &Message) {
        let shown = self.shown(message);
        let over = message.state != MessageState::Queued;
        let raw = message.terms.raw;
        let Some(waiters) = self.deliveries.waiters.get_mut(&message.id) else { return };
        // A confirmation may come long after the message was taken.
        let answered = |waiter: &Waiter| {
            let confirmable = message.state == MessageState::Delivered && !raw && message.terms.ack;
            message.proof >= waiter.wants || (over && !(confirmable && waiter.wants == Proof::Acknowledged))
        };
        for waiter in waiters.extract_if(.., |waiter| answered(waiter)) {
            let _ = waiter.answer.send(shown.clone());
        }
        if waiters.is_empty() {
            self.deliveries.waiters.remove(&message.id);
        }
    }

    pub(super) fn shown(&self, message: &Message) -> MessageInfo {
        let mut shown = info::message(&self.record.start.name, message);
        if let Some(open) = self.deliveries.open.get(&message.seq).filter(|open| !open.message.terms.raw) {
            if !open.delivery.is_given() {
                (shown.attempts, shown.enters) = (open.delivery.attempts(), open.delivery.enters());
            }
            shown.waits_for = self.waits_for(open);
        }
        shown
    }

    /// Why a message is not typed now.
    fn waits_for(&self, open: &Open) -> Option<String> {
        if let Some(shut) = open.delivery.shut() {
            return Some(shut.as_str().to_owned());
        }
        if open.delivery.is_given() {
            return self.situation().admits(Mode::WhenIdle).err().map(|shut| shut.as_str().to_owned());
        }
        if !open.delivery.is_waiting() {
            return None;
        }
        // Another one is to go first: what that waits for, this one does too.
        let first = self.deliveries.in_hand.filter(|order| *order != open.message.seq);
        let shut = first.and_then(|order| self.deliveries.shut(order));
        let shut = shut.or_else(|| self.situation().admits(open.message.terms.mode).err());
        let behind = || {
            (first.is_some() || self.deliveries.has_given()).then(|| "another message goes first".to_owned())
        };
        shut.map(|shut| shut.as_str().to_owned()).or_else(behind)
    }

    /// What the agent's preset says about typing.
    pub(super) fn learn_policy(&mut self) {
        let input = &self.known.agent.preset.input;
        let has_composer = self.known.book.knows_composer();
        self.deliveries.placeholder =
            input.paste_placeholder.as_deref().and_then(ostler_agents::Placeholder::new);
        self.deliveries.policy = Policy {
            enter_delay: Duration::from_millis(input.enter_delay_ms.into()),
            raw_only: self.record.start.agent.is_some(),
            has_composer,
            can_clear: !input.clear.is_empty(),
            clear_stops: input.clear.iter().any(|key| input.stops(key)),
            max_attempts: self.known.delivery.max_attempts.get(),
            ..Policy::default()
        };
        self.deliveries.ack_wait = Duration::from_secs(self.known.delivery.ack_wait_seconds.into());
        for open in self.deliveries.open.values_mut() {
            open.delivery.configure(self.deliveries.policy);
            open.learn(input);
        }
    }

    /// The program has ended: nothing that waits will be typed.
    pub(super) async fn end_messages(&mut self) {
        let orders: Vec<u64> = self.deliveries.open.keys().copied().collect();
        for order in orders {
            let Some(open) = self.deliveries.open.get(&order) else { continue };
            if open.message.terms.raw {
                self.give_up(order, MessageState::Failed, "the program has ended".into()).await;
            } else {
                self.deliver(Some((order, News::Looked))).await;
            }
        }
    }
}

/// The text of a prompt: safe to type, without line ends at its end.
pub(super) fn prompt(text: &str) -> SafeText {
    SafeText::new(SafeText::new(text).as_str().trim_end())
}

/// The text with the request to confirm it.
pub(crate) fn with_request(text: &SafeText, id: &str) -> SafeText {
    SafeText::new(&format!(
        "[CONTEXT {id} - please acknowledge]\n{text}\n[END CONTEXT - reply \"ACK: {id}\"]"
    ))
}

pub(super) fn recent(message: &Message, body: Body) -> Recent {
    let wants_ack = message.terms.ack && message.proof < Proof::Acknowledged;
    let context = wants_ack && message.terms.priority == Priority::Startup;
    let ago = |at| clock::steady().minus(clock::now().since(at));
    let asked = message.submitted.filter(|_| context).map(ago);
    Recent {
        id: message.id.clone(),
        body,
        state: message.state,
        wants_ack,
        quoted: false,
        quotes_wish: false,
        asked,
        told: Witness::ALL
            .into_iter()
            .filter(|by| message.evidence.iter().any(|said| said == told(*by)))
            .collect(),
    }
}

/// The evidence for a prompt that the agent said it took.
pub(super) fn told(by: Witness) -> &'static str {
    match by {
        Witness::Hook => "hook: the agent took this prompt",
        Witness::Transcript => "transcript: the agent took this prompt",
    }
}
