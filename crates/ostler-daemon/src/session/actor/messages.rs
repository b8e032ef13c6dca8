//! Messages: recorded, typed through the holder's ledger, settled by what is proven of them.

use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

use ostler_agents::Body;
use ostler_core::delivery::{Delivery, Event as News, Mode, Policy, Write};
use ostler_core::detector::Event;
use ostler_core::lifecycle::Phase;
use ostler_core::queue::Priority;
use ostler_core::start_plan::Way;
use ostler_core::typing::{self, Answer, Failure, Frame, Settled};
use ostler_core::{Proof, Timestamp};
use ostler_hold::crc32;
use ostler_hold::wire::{Lane, Request};
use ostler_protocol::{ErrorKind, MessageInfo, Problem, SendTerms};
use ostler_screen::SafeText;
use ostler_store::{Accepted, Intent, Message, MessageState, NewMessage, Terms};

use super::ending::STORE_RETRY;
use super::{Actor, reused_id, store_problem};
use crate::clock;
use crate::session::deliveries::{MAX_OPEN, MAX_OPEN_BYTES, Open, Recent, UnderWay, Waiter};
use crate::session::{SendCommand, by_file, info};

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
        let raw = message.terms.raw.then_some(bytes);
        let (body, text) = (Body::new(""), SafeText::default());
        let mut open =
            Open { raw, body, plain, text, delivery, by_file, echoes: 0, prompt: None, entered, message };
        open.learn(&self.known.agent.preset.input);
        self.deliveries.open.insert(open.message.seq, open);
    }

    pub(super) async fn perform_typing(&mut self, actions: Vec<typing::Action>) {
        let mut actions = VecDeque::from(actions);
        while let Some(action) = actions.pop_front() {
            match action {
                typing::Action::Offer(frame) => self.offer(frame),
                typing::Action::Settle(seq, settled) => self.settle(seq, settled).await,
                typing::Action::StandDown => {
                    tracing::error!(session = %self.record.start.name, "a newer daemon has the session");
                    self.stood_down = true;
                }
            }
        }
    }

    fn offer(&mut self, frame: Frame) {
        let (lane, seq, bytes) = match frame {
            Frame::Reply { seq, bytes } => (Lane::Reply, seq, bytes),
            Frame::Keys { seq, bytes } => (Lane::Keys, seq, bytes),
            Frame::Message { seq } => match &self.deliveries.under_way {
                Some(under_way) if under_way.seq == seq => (Lane::Message, seq, under_way.bytes.clone()),
                _ => {
                    tracing::error!(seq, "a write that nobody asked for");
                    let nothing = self.typing.answered(Answer::Full, clock::steady());
                    debug_assert!(nothing.is_empty());
                    return;
                }
            },
        };
        let epoch = self.shared.epoch;
        self.request(&Request::Input { lane, epoch, seq, crc: crc32(&bytes), bytes: &bytes });
    }

    /// Records a write, then asks the holder for it.
    pub(super) async fn type_for(&mut self, order: u64, write: Option<Write>, bytes: Vec<u8>) {
        let seq = self.deliveries.number(order, write);
        self.deliveries.under_way = Some(UnderWay { seq, order, write, bytes, recorded: false });
        self.record_write().await;
    }

    /// Records the write under way; nothing is typed before it is in the store.
    pub(super) async fn record_write(&mut self) {
        let Some(UnderWay { seq, order, write, recorded: false, .. }) = self.deliveries.under_way else {
            return;
        };
        let Some(open) = self.deliveries.open.get(&order) else { return };
        let (session, id, at) = (self.record.start.id.clone(), open.message.id.clone(), clock::now());
        let intent = Intent {
            seq,
            write: write.map_or("raw", Write::as_str),
            echoes: u32::try_from(open.echoes).unwrap_or(u32::MAX),
            mark: open.message.mark.clone(),
        };
        let recorded =
            self.shared.store.run(move |store| store.begin_write(&session, &id, &intent, at)).await;
        if let Err(error) = recorded {
            tracing::debug!(%error, "a message has to wait for the store");
            self.store_retry_at.get_or_insert(clock::steady().plus(STORE_RETRY));
            return;
        }
        let Some(under_way) = &mut self.deliveries.under_way else { return };
        under_way.recorded = true;
        let enter = write == Some(Write::Enter) || (write.is_none() && under_way.bytes.contains(&b'\r'));
        // Keys alone are no draft.
        if write.is_none() && under_way.bytes.iter().any(|byte| !byte.is_ascii_control()) {
            self.deliveries.touched = Some(clock::steady());
        }
        // From here on, for what follows may be seen before the holder's answer is.
        if enter {
            self.conversation.told.was_given();
            if let Some(open) = self.deliveries.open.get_mut(&order) {
                open.entered = Some(clock::steady());
            }
        }
        self.learn(Event::Typed { enter }).await;
        let actions = self.typing.message(seq);
        self.perform_typing(actions).await;
    }

    /// The same as [`Self::on_typed`], of a type with a name: what follows from a write may be another one, and the
    /// compiler does not look through that circle.
    fn settle(&mut self, seq: u64, settled: Settled) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.on_typed(seq, settled))
    }

    /// The holder said what became of a write.
    async fn on_typed(&mut self, seq: u64, settled: Settled) {
        let Some(under_way) = self.deliveries.under_way.take_if(|under_way| under_way.seq == seq) else {
            return;
        };
        let written = matches!(settled, Settled::Written { .. });
        let UnderWay { order, write, .. } = under_way;
        if written {
            let session = self.record.start.id.clone();
            let recorded = self.shared.store.run(move |store| store.end_write(&session, seq)).await;
            self.log_store(&recorded);
        }
        match write {
            None => {
                self.settle_raw(order, seq, settled).await;
                // A prompt may have waited for it.
                self.deliver(None).await;
            }
            Some(_) if written => self.deliver(Some((order, News::Typed))).await,
            Some(_) => {
                self.why_refused = Some(refusal(settled));
                self.deliver(Some((order, News::Refused))).await;
            }
        }
        self.type_raw().await;
    }

    /// Types the bytes that wait to be typed as they are.
    pub(super) async fn type_raw(&mut self) {
        if !matches!(self.lifecycle.phase(), Phase::Attached) {
            return;
        }
        if let Some(order) = self.deliveries.next_raw()
            && let Some(open) = self.deliveries.open.get(&order)
            && let Some(bytes) = open.raw.clone()
        {
            Box::pin(self.type_for(order, None, bytes)).await;
        }
    }

    async fn settle_raw(&mut self, order: u64, seq: u64, settled: Settled) {
        // Not typed again, also while the store does not take what became of it.
        if let Some(open) = self.deliveries.open.get_mut(&order) {
            open.raw = None;
        }
        let outcome = match settled {
            Settled::Written { offset, earlier: false } => {
                Ok(format!("holder ledger: write {seq} typed at output offset {offset}"))
            }
            Settled::Written { earlier: true, .. } => {
                Ok(format!("holder ledger: write {seq} was typed by an earlier attempt"))
            }
            Settled::Failed(_) => Err(refusal(settled)),
        };
        match outcome {
            Ok(evidence) => self.prove(order, Proof::Written, evidence).await,
            Err(failure) => self.give_up(order, MessageState::Failed, failure).await,
        }
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
        let Some(open) = self.deliveries.open.get(&order) else { return };
        let (session, id, at) = (self.record.start.id.clone(), open.message.id.clone(), clock::now());
        let reason = failure.clone();
        let recorded = self
            .shared
            .store
            .run(move |store| {
                store.give_up(&session, &id, state, &reason, at)?;
                store.message(&session, &id)
            })
            .await;
        self.log_store(&recorded);
        match recorded {
            Ok(Some(message)) => {
                self.done_with(order, &message);
                self.tell(&message);
            }
            Ok(None) => {}
            Err(_) => {
                self.ungiven.insert(order, (state, failure));
                self.store_retry_at.get_or_insert(clock::steady().plus(STORE_RETRY));
            }
        }
    }

    /// Takes a message from those under way; something may still be heard of it.
    fn done_with(&mut self, order: u64, message: &Message) {
        let Some(open) = self.deliveries.open.remove(&order) else { return };
        if self.deliveries.in_hand == Some(order) {
            self.deliveries.in_hand = None;
        }
        if !message.terms.raw {
            self.deliveries.unsure = open.prompt.filter(|_| message.state != MessageState::Delivered);
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

    pub(super) async fn on_send(&mut self, command: SendCommand) {
        let SendCommand { id, body, terms, wait, queued, settled } = command;
        if terms.mode == Mode::Interrupt {
            self.await_rules().await;
        }
        if let Err(problem) = self.acceptable(&body, &terms) {
            return drop(queued.send(Err(problem)));
        }
        let order = self.deliveries.last_order + 1;
        let session = self.record.start.id.clone();
        let message = NewMessage {
            session,
            id,
            seq: order,
            body: body.clone(),
            terms: agreed(terms),
            at: clock::now(),
        };
        let accepted = self
            .shared
            .store
            .run(move |store| {
                let accepted = store.add_message(&message)?;
                Ok((accepted, store.message(&message.session, &message.id)?))
            })
            .await;
        let (accepted, stored) = match accepted {
            Ok((accepted, Some(stored))) => (accepted, stored),
            Ok((_, None)) => {
                let problem = Problem::new(ErrorKind::Internal, "the message has no record");
                return drop(queued.send(Err(problem)));
            }
            Err(error) => return drop(queued.send(Err(store_problem(&error)))),
        };
        if matches!(accepted, Accepted::Conflict) {
            return drop(queued.send(Err(reused_id(&stored.id))));
        }
        let new = matches!(accepted, Accepted::New);
        if new {
            self.deliveries.last_order = order;
            self.open(stored.clone(), body);
        }
        let _ = queued.send(Ok(self.shown(&stored)));
        let waiter = Waiter { wants: wait, answer: settled };
        self.deliveries.waiters.entry(stored.id.clone()).or_default().push(waiter);
        self.tell(&stored);
        if !new {
            return;
        }
        if matches!(self.lifecycle.phase(), Phase::Ended(_)) {
            self.give_up(order, MessageState::Failed, "the program has ended".into()).await;
        } else if stored.terms.raw {
            self.type_raw().await;
        } else {
            self.deliver(None).await;
        }
    }

    fn acceptable(&self, body: &[u8], terms: &SendTerms) -> Result<(), Problem> {
        let waiting: usize = self
            .deliveries
            .open
            .values()
            .map(|open| open.raw.as_ref().map_or(0, Vec::len) + open.text.as_str().len())
            .sum();
        if self.deliveries.open.len() >= MAX_OPEN || waiting + body.len() > MAX_OPEN_BYTES {
            let message = format!("{} messages wait for this session already", self.deliveries.open.len());
            return Err(Problem::new(ErrorKind::Conflict, message)
                .hint("ostler messages list shows them; ostler messages drop ID takes one back"));
        }
        if terms.raw {
            return Ok(());
        }
        if std::str::from_utf8(body).is_err() {
            return Err(Problem::new(ErrorKind::Usage, "the message is not valid UTF-8")
                .hint("--raw types bytes as they are"));
        }
        if prompt(&String::from_utf8_lossy(body)).as_str().is_empty() {
            return Err(Problem::new(
                ErrorKind::Usage,
                "nothing is left of the message without blanks and control characters",
            )
            .hint("--raw types bytes as they are"));
        }
        if terms.mode == Mode::Interrupt && self.known.agent.preset.input.interrupt.is_empty() {
            let message = format!("it is not known how to interrupt {}", self.known.agent.title());
            return Err(Problem::new(ErrorKind::Usage, message)
                .hint("set input.interrupt in its preset, or use --mode queue"));
        }
        Ok(())
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
fn prompt(text: &str) -> SafeText {
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
        asked,
        told: Vec::new(),
    }
}

fn agreed(terms: SendTerms) -> Terms {
    let SendTerms { raw, sender, priority, mode, ack, command, expires_ms } = terms;
    let way = Way::Message;
    let expires = expires_ms.map(|ms| Timestamp(clock::now().0.saturating_add(ms)));
    Terms { raw, sender, priority, mode, ack, expires, way, command }
}

/// Why the terminal did not take a write.
fn refusal(settled: Settled) -> String {
    match settled {
        Settled::Failed(Failure::ProgramEnded) => "the program has ended".into(),
        Settled::Failed(Failure::LineTooLong) => {
            "the terminal is in cooked mode and keeps 4095 bytes of a line; send shorter lines".into()
        }
        Settled::Failed(Failure::Unknown) => {
            "its holder was killed; whether it was typed is not known".into()
        }
        Settled::Failed(Failure::Damaged) => "the bytes did not arrive whole".into(),
        Settled::Written { .. } => String::new(),
    }
}
