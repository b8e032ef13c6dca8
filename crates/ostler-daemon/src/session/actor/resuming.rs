//! Going on with what an earlier daemon had in hand.

use std::collections::BTreeMap;

use ostler_agents::Body;
use ostler_core::Proof;
use ostler_core::delivery::{Delivery, Progress, Write};
use ostler_core::start_plan::Way;
use ostler_store::{LastWrite, MISSED, Message, MessageState, Store, StoreError, Terms};

use super::Actor;
use super::messages::recent;
use crate::clock;

/// Earlier messages that are remembered when a session is taken up.
const REMEMBERED: u32 = 16;

/// The last writes of an earlier daemon, until the ledger says which of them were made.
#[derive(Debug, Default)]
pub(super) struct Resumable {
    /// By the place of their message in the order.
    writes: BTreeMap<u64, LastWrite>,
    /// The last write for any prompt, also for one that is done with.
    last: u64,
    /// Bytes were typed as they are since then.
    raw: bool,
}

impl Actor {
    /// Reads the messages from the store; `recovered` is a session that an earlier daemon looked after.
    pub(super) async fn load_messages(&mut self, recovered: bool) -> Result<(), StoreError> {
        let id = self.record.start.id.clone();
        let load = move |store: &mut Store| {
            let mut open = Vec::new();
            for message in store.open_messages(&id)? {
                let body = store.message_body(&id, &message.id)?.unwrap_or_default();
                let last = store.last_write(&id, &message.id)?;
                open.push((message, body, last));
            }
            let mut taken = Vec::new();
            for message in store.typed_messages(&id, REMEMBERED)? {
                let body = store.message_body(&id, &message.id)?.unwrap_or_default();
                taken.push((message, body));
            }
            let numbers = (store.last_seq(&id)?, store.last_input(&id)?);
            let writes = (store.last_prompt_write(&id)?, store.last_raw_write(&id)?);
            Ok((numbers, writes, open, taken))
        };
        let ((last_order, last_input), (last, raw), open, taken) = self.shared.store.run(load).await?;
        self.deliveries.composer_seen = recovered;
        self.deliveries.last_order = last_order;
        self.deliveries.last_input = last_input;
        (self.resumable.last, self.resumable.raw) = (last, raw > last);
        for (message, body) in taken.into_iter().rev() {
            let (text, _) = self.typed_text(&message, &body);
            let body = Body::new(text.as_str()).marked(message.mark.clone());
            self.deliveries.remember(recent(&message, body), text.as_str());
        }
        for (message, body, last) in open {
            let (order, way, proof) = (message.seq, message.terms.way, message.proof);
            self.resumable.writes.extend(last.map(|last| (order, last)));
            self.open(message, body);
            if recovered && let Some(open) = self.deliveries.open.get_mut(&order) {
                open.delivery = open.delivery.clone().unwatched();
            }
            if way == Way::Hook && proof > Proof::Queued {
                let reason = "whether the session-start hook got it cannot be told".to_owned();
                self.give_up(order, MessageState::Uncertain, reason).await;
            }
        }
        Ok(())
    }

    /// The ledger says what was done of the last writes; without one, nobody can. `keys` were typed by people.
    pub(super) fn resume_deliveries(&mut self, ledger: Option<u64>, keys: bool) {
        self.deliveries.last_input = self.deliveries.last_input.max(ledger.unwrap_or_default());
        if std::mem::replace(&mut self.deliveries.settled_in, true) {
            return;
        }
        let now = clock::steady();
        let Resumable { writes, last, raw } = std::mem::take(&mut self.resumable);
        // What a person typed before may stand in the composer, unless something of ours was typed into it since.
        let of_ours = |last: u64| writes.values().any(|write| write.seq == last && write.write != MISSED);
        if (keys && !of_ours(last)) || raw {
            self.deliveries.touched = Some(now);
        }
        for (order, LastWrite { seq, write, echoes, done }) in writes {
            let Some(open) = self.deliveries.open.get_mut(&order) else { continue };
            // An Enter of which nobody knows may have been pressed.
            let done = done || ledger.map_or(write == Write::Enter.as_str(), |ledger| seq <= ledger);
            if open.message.terms.raw {
                // Bytes that are typed as they are: asked for again, they bear the same number.
                self.deliveries.resume(seq, order, None, done);
                continue;
            }
            let Message { attempts, enters, proof, .. } = open.message;
            // Something was typed for another message since: nothing of this one was in the terminal then. Nor is
            // anything there that was found to be missing.
            let write = Write::from_name(&write).map(|write| (write, done)).filter(|_| seq == last);
            let progress = Progress { attempts, enters, proof, last: write };
            let Terms { mode, command, .. } = open.message.terms;
            let policy = self.deliveries.policy;
            open.delivery = Delivery::resumed(mode, policy, progress, now).of_command(command);
            open.echoes = usize::try_from(echoes).unwrap_or(usize::MAX);
            if open.delivery.is_confirming() {
                open.entered = Some(now);
            }
            let is_waiting = open.delivery.is_waiting();
            if let Some((write, false)) = write {
                self.deliveries.resume(seq, order, Some(write), false);
            }
            if !is_waiting {
                self.deliveries.in_hand = Some(order);
            }
        }
    }
}
