//! Writes: recorded, typed through the holder's ledger, settled by its answer.

use std::collections::VecDeque;
use std::pin::Pin;

use ostler_core::Proof;
use ostler_core::delivery::{Event as News, Write};
use ostler_core::detector::Event;
use ostler_core::lifecycle::Phase;
use ostler_core::typing::{self, Answer, Failure, Frame, Settled};
use ostler_hold::crc32;
use ostler_hold::wire::{Lane, Request};
use ostler_store::{Intent, MessageState};

use super::Actor;
use super::ending::STORE_RETRY;
use crate::clock;
use crate::session::deliveries::UnderWay;

impl Actor {
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
        let Some(open) = self.deliveries.open.get_mut(&order) else {
            self.deliveries.under_way = None;
            return;
        };
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
            let again = *self.store_retry_at.get_or_insert(clock::steady().plus(STORE_RETRY));
            // Bytes that are typed as they are ask for no look. What is right for a prompt now may not be then.
            if write.is_some()
                && let Some(open) =
                    self.deliveries.take_back().and_then(|order| self.deliveries.open.get_mut(&order))
            {
                open.delivery.not_recorded(again);
            }
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
    }

    /// Types the bytes that wait to be typed as they are.
    pub(super) async fn type_raw(&mut self) {
        if !matches!(self.lifecycle.phase(), Phase::Attached) {
            return;
        }
        if let Some(order) = self.deliveries.next_raw(clock::steady())
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
