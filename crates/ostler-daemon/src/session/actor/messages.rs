//! Messages: recorded, offered to the holder, settled by its word.

use std::collections::VecDeque;

use ostler_core::detector::Event;
use ostler_core::lifecycle::Phase;
use ostler_core::typing::{self, Answer, Failure, Frame, Settled};
use ostler_hold::crc32;
use ostler_hold::wire::{Lane, Request};
use ostler_protocol::{ErrorKind, Problem};
use ostler_store::{Accepted, MessageState, NewMessage, Store, StoreError};

use super::ending::STORE_RETRY;
use super::{Actor, reused_id, store_problem};
use crate::clock;
use crate::session::{SendCommand, info};

impl Actor {
    pub(super) async fn load_messages(&mut self) -> Result<(), StoreError> {
        let id = self.record.start.id.clone();
        let (last, unsettled) =
            self.shared.store.run(move |store| Ok((store.last_seq(&id)?, store.unsettled(&id)?))).await?;
        self.last_seq = last;
        for seq in unsettled {
            let actions = self.typing.message(seq);
            debug_assert!(actions.is_empty(), "nothing is offered before the holder is there");
        }
        Ok(())
    }

    pub(super) async fn perform_typing(&mut self, actions: Vec<typing::Action>) {
        let mut actions = VecDeque::from(actions);
        while let Some(action) = actions.pop_front() {
            match action {
                typing::Action::Offer(frame) => self.offer(frame).await,
                typing::Action::Settle(seq, settled) => {
                    if matches!(settled, Settled::Written { .. }) {
                        let enter = self.entering.remove(&seq);
                        Box::pin(self.learn(Event::Typed { enter })).await;
                    }
                    let recorded = self.settle(seq, settled).await;
                    self.log_store(&recorded);
                    if recorded.is_err() {
                        // Not recorded is not told; it is tried again.
                        self.unsettled.insert(seq, settled);
                        self.store_retry_at.get_or_insert(clock::steady().plus(STORE_RETRY));
                    }
                }
                typing::Action::StandDown => {
                    tracing::error!(session = %self.record.start.name, "a newer daemon has the session");
                    self.stood_down = true;
                }
            }
        }
    }

    pub(super) async fn offer(&mut self, frame: Frame) {
        let (lane, seq, bytes) = match frame {
            Frame::Reply { seq, bytes } => (Lane::Reply, seq, bytes),
            Frame::Keys { seq, bytes } => (Lane::Keys, seq, bytes),
            Frame::Message { seq } => {
                let id = self.record.start.id.clone();
                match self.shared.store.run(move |store| store.begin_attempt(&id, seq)).await {
                    Ok(Some(body)) => {
                        if body.contains(&b'\r') {
                            self.entering.insert(seq);
                        }
                        (Lane::Message, seq, body)
                    }
                    Ok(None) => return tracing::error!(seq, "a queued message has no record"),
                    Err(error) => {
                        // Not offered, so not typed: as if the holder had no room yet.
                        tracing::debug!(%error, "a message has to wait for the store");
                        let waiting = self.typing.answered(Answer::Full, clock::steady());
                        debug_assert!(waiting.is_empty());
                        return;
                    }
                }
            }
        };
        let epoch = self.shared.epoch;
        self.request(&Request::Input { lane, epoch, seq, crc: crc32(&bytes), bytes: &bytes });
    }

    /// Records what became of a message, then tells those who wait for it.
    pub(super) async fn settle(&mut self, seq: u64, settled: Settled) -> Result<(), StoreError> {
        let (state, evidence) = match settled {
            Settled::Written { offset, earlier: false } => (
                MessageState::Written,
                format!("holder ledger: sequence {seq} typed at output offset {offset}"),
            ),
            Settled::Written { earlier: true, .. } => (
                MessageState::Written,
                format!("holder ledger: sequence {seq} was typed by an earlier attempt"),
            ),
            Settled::Failed(Failure::ProgramEnded) => (MessageState::Failed, "the program has ended".into()),
            Settled::Failed(Failure::LineTooLong) => (
                MessageState::Failed,
                "the terminal is in cooked mode and keeps 4095 bytes of a line; send shorter lines".into(),
            ),
            Settled::Failed(Failure::Unknown) => {
                (MessageState::Failed, "its holder was killed; whether it was typed is not known".into())
            }
            Settled::Failed(Failure::Damaged) => {
                (MessageState::Failed, "the bytes did not arrive whole".into())
            }
        };
        let (id, at) = (self.record.start.id.clone(), clock::now());
        let settle = move |store: &mut Store| {
            store.settle_message(&id, seq, state, &evidence, at)?;
            store.message_by_seq(&id, seq)
        };
        let message = self.shared.store.run(settle).await?;
        if let (Some(senders), Some(message)) = (self.senders.remove(&seq), message) {
            let message = info::message(&self.record.start.name, &message);
            for sender in senders {
                let _ = sender.send(message.clone());
            }
        }
        Ok(())
    }

    pub(super) async fn on_send(&mut self, command: SendCommand) {
        let SendCommand { id, body, queued, settled } = command;
        let seq = self.last_seq + 1;
        let session = self.record.start.id.clone();
        let message = NewMessage { session, id, seq, body, at: clock::now() };
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
                return drop(
                    queued.send(Err(Problem::new(ErrorKind::Internal, "the message has no record"))),
                );
            }
            Err(error) => return drop(queued.send(Err(store_problem(&error)))),
        };
        let shown = info::message(&self.record.start.name, &stored);
        match accepted {
            Accepted::Conflict => return drop(queued.send(Err(reused_id(&stored.id)))),
            Accepted::New => self.last_seq = seq,
            Accepted::Known(_) => {}
        }
        let _ = queued.send(Ok(shown.clone()));
        if stored.state == MessageState::Queued {
            self.senders.entry(stored.seq).or_default().push(settled);
        } else {
            let _ = settled.send(shown);
        }
        if matches!(accepted, Accepted::New) {
            let actions = if matches!(self.lifecycle.phase(), Phase::Ended(_)) {
                vec![typing::Action::Settle(seq, Settled::Failed(Failure::ProgramEnded))]
            } else {
                self.typing.message(seq)
            };
            self.perform_typing(actions).await;
        }
    }
}
