//! The messages of a session that are under way, and those that were.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use ostler_agents::{Body, Input, Placeholder};
use ostler_core::delivery::{Delivery, Policy, Shut, Situation, Witness, Write};
use ostler_core::queue::{self, Waiting};
use ostler_core::start_plan::Way;
use ostler_core::{Proof, Timestamp};
use ostler_protocol::MessageInfo;
use ostler_screen::SafeText;
use ostler_store::{Message, MessageState};
use tokio::sync::oneshot;

/// A person who typed is taken to be typing for this long.
pub(super) const PERSON: Duration = Duration::from_secs(3);
/// Messages that may wait for one session.
pub(super) const MAX_OPEN: usize = 1_000;
/// Bytes of text that may wait for one session.
pub(super) const MAX_OPEN_BYTES: usize = 64 << 20;
/// Messages that are remembered after they were taken.
const RECENT: usize = 32;

/// A message under way.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) message: Message,
    /// The bytes, where they are typed as they are.
    pub(super) raw: Vec<u8>,
    /// The text.
    pub(super) plain: SafeText,
    /// What is typed: the text, such that the agent takes it as it is.
    pub(super) text: SafeText,
    /// The same, as it can be recognised.
    pub(super) body: Body,
    pub(super) delivery: Delivery,
    /// The text is in a file.
    pub(super) by_file: bool,
    /// How often its beginning stood on the screen before it was typed.
    pub(super) echoes: usize,
    /// When its Enter was typed.
    pub(super) entered: Option<Timestamp>,
}

impl Open {
    /// Takes in how text is put into the agent.
    pub(super) fn learn(&mut self, input: &Input) {
        let plain = self.plain.as_str();
        let typed = if self.message.terms.way == Way::Command { plain.into() } else { input.literally(plain) };
        self.text = SafeText::new(&typed);
        self.body = Body::new(&typed);
    }
}

/// A message that was taken, or of which that cannot be told.
#[derive(Debug)]
pub(super) struct Recent {
    pub(super) id: String,
    pub(super) body: Body,
    pub(super) state: MessageState,
    pub(super) wants_ack: bool,
    /// Who has said so.
    pub(super) told: Vec<Witness>,
}

/// A write that the holder was asked for.
#[derive(Debug, Clone)]
pub(super) struct UnderWay {
    /// Its number in the holder's ledger.
    pub(super) seq: u64,
    /// The message's place in the order.
    pub(super) order: u64,
    /// What it is; nothing for bytes that are typed as they are.
    pub(super) write: Option<Write>,
    pub(super) bytes: Vec<u8>,
    /// It is in the store, so it may be offered.
    pub(super) recorded: bool,
}

/// Somebody who waits for a message to get that far.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) wants: Proof,
    pub(super) answer: oneshot::Sender<MessageInfo>,
}

/// All messages of one session.
#[derive(Debug, Default)]
pub(super) struct Deliveries {
    pub(super) open: BTreeMap<u64, Open>,
    /// The message that is being delivered.
    pub(super) in_hand: Option<u64>,
    pub(super) under_way: Option<UnderWay>,
    /// A write that an earlier daemon may or may not have got through: asked for again, it bears the same number.
    pub(super) resumed: Option<(u64, u64, Write)>,
    /// The same for bytes that are typed as they are, by their place in the order.
    pub(super) resumed_raw: HashMap<u64, u64>,
    /// Highest place in the order.
    pub(super) last_order: u64,
    /// Highest number of a write.
    pub(super) last_input: u64,
    /// The holder's ledger was read, and deliveries of an earlier daemon go on.
    pub(super) settled_in: bool,
    pub(super) waiters: HashMap<String, Vec<Waiter>>,
    pub(super) recent: VecDeque<Recent>,
    pub(super) placeholder: Option<Placeholder>,
    pub(super) policy: Policy,
    /// A person is typing, until this moment.
    pub(super) person: Option<Timestamp>,
    /// When the screen changed last.
    pub(super) changed: Timestamp,
    /// The agent has told which prompt it took.
    pub(super) tells_prompts: bool,
    /// The terminal is being looked at.
    pub(super) inspecting: bool,
}

impl Deliveries {
    /// The message to work on: the one in hand, or whichever is next while nothing of that one is in the terminal.
    pub(super) fn choose(&mut self, situation: Situation, wall: Timestamp, steady: Timestamp) -> Option<u64> {
        let held = self.in_hand.filter(|order| {
            self.open.get(order).is_some_and(|open| !open.delivery.is_waiting() && !open.delivery.is_done())
        });
        if held.is_some() {
            return held;
        }
        let waiting: Vec<Waiting> = self.waiting(steady).collect();
        self.in_hand = queue::next(&waiting, situation, wall);
        self.in_hand
    }

    fn waiting(&self, steady: Timestamp) -> impl Iterator<Item = Waiting> {
        let typed = |open: &&Open| !open.message.terms.raw && !open.delivery.is_given();
        self.open.values().filter(typed).map(move |open| Waiting {
            order: open.message.seq,
            priority: open.message.terms.priority,
            mode: open.message.terms.mode,
            since: open.message.created,
            expires: open.message.terms.expires,
            paused: open.delivery.is_paused(steady),
        })
    }

    /// Messages that nothing was typed of and that are of no use any more.
    pub(super) fn expired(&self, wall: Timestamp, steady: Timestamp) -> Vec<u64> {
        let mut expired = queue::expired(&self.waiting(steady).collect::<Vec<_>>(), wall);
        expired.retain(|order| self.open.get(order).is_some_and(|open| open.delivery.is_waiting()));
        expired
    }

    /// When the next of them will be.
    pub(super) fn next_expiry(&self, steady: Timestamp) -> Option<Timestamp> {
        queue::next_expiry(&self.waiting(steady).collect::<Vec<_>>())
    }

    /// The bytes that may be typed as they are now: never between a text and its Enter.
    pub(super) fn next_raw(&self) -> Option<u64> {
        let typing = self
            .in_hand
            .and_then(|order| self.open.get(&order))
            .is_some_and(|open| open.delivery.is_typing());
        if typing || self.under_way.is_some() {
            return None;
        }
        self.open.values().find(|open| open.message.terms.raw).map(|open| open.message.seq)
    }

    /// When something is due, if nothing happens.
    pub(super) fn deadline(&self) -> Option<Timestamp> {
        let paused = self.open.values().filter_map(|open| open.delivery.deadline());
        paused.chain(self.person.filter(|_| !self.open.is_empty())).min()
    }

    pub(super) fn find(&self, id: &str) -> Option<&Open> {
        self.open.values().find(|open| open.message.id == id)
    }

    /// Remembers a message that something may still be heard of.
    pub(super) fn remember(&mut self, recent: Recent) {
        self.recent.retain(|known| known.id != recent.id);
        self.recent.push_back(recent);
        while self.recent.len() > RECENT {
            self.recent.pop_front();
        }
    }

    /// What was typed of late, or is about to be.
    pub(super) fn texts(&self) -> Vec<String> {
        self.open.values().map(|open| open.plain.to_string()).collect()
    }

    /// Why a message is not typed now.
    pub(super) fn shut(&self, order: u64) -> Option<Shut> {
        self.open.get(&order).and_then(|open| open.delivery.shut())
    }
}
