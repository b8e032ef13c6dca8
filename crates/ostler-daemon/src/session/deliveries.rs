//! The messages of a session that are under way, and those that were.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use ostler_agents::{Body, Input, Placeholder, Prompt, speech};
use ostler_core::delivery::{Delivery, Mode, Policy, Shut, Situation, Witness, Write};
use ostler_core::queue::{self, Waiting};
use ostler_core::{Proof, Timestamp};
use ostler_protocol::MessageInfo;
use ostler_screen::SafeText;
use ostler_store::{Message, MessageState};
use tokio::sync::oneshot;

/// A person who typed is taken to be typing for this long.
pub(super) const PERSON: Duration = Duration::from_secs(3);
/// What others type is held back for this long at most while a text waits for its Enter.
pub(super) const HOLD: Duration = Duration::from_secs(1);
/// Messages that may wait for one session.
pub(super) const MAX_OPEN: usize = 1_000;
/// Bytes of text that may wait for one session.
pub(super) const MAX_OPEN_BYTES: usize = 64 << 20;
/// Messages that are remembered after they were taken.
const RECENT: usize = 32;
/// A text of so many letters is found in another only if it is meant.
const DISTINCT: usize = 20;

/// A message under way.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) message: Message,
    /// The bytes that are still to be typed as they are.
    pub(super) raw: Option<Vec<u8>>,
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
    /// Where the cursor was before it was typed, if no composer is known.
    pub(super) prompt: Option<Prompt>,
    /// When its Enter was typed.
    pub(super) entered: Option<Timestamp>,
    /// Since when it is here.
    pub(super) since: Timestamp,
}

impl Open {
    /// Takes in how text is put into the agent.
    pub(super) fn learn(&mut self, input: &Input) {
        let plain = self.plain.as_str();
        let typed = if self.message.terms.command { plain.into() } else { input.literally(plain) };
        // Kept for after a turn, the guard may be trimmed off, and the text be run as a command.
        if typed != plain {
            self.delivery.wait_for_rest();
        }
        self.text = SafeText::new(&typed);
        self.body = Body::new(&typed).marked(self.message.mark.clone());
    }
}

/// A message that was taken, or of which that cannot be told.
#[derive(Debug)]
pub(super) struct Recent {
    pub(super) id: String,
    pub(super) body: Body,
    pub(super) state: MessageState,
    pub(super) wants_ack: bool,
    /// Something that was typed has a line like its confirmation: the screen cannot tell whose it is.
    pub(super) quoted: bool,
    /// Its text has a line like a wish for context.
    pub(super) quotes_wish: bool,
    /// When it was asked to confirm its context: the next message is for an agent that knows it.
    pub(super) asked: Option<Timestamp>,
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

/// A write of an earlier daemon that is not in the holder's ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Resumed {
    seq: u64,
    order: u64,
    write: Option<Write>,
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
    resumed: Option<Resumed>,
    /// Bytes that it typed as they are, and did not record as typed: the number by the place in the order.
    typed_raw: HashMap<u64, u64>,
    /// Highest place in the order.
    pub(super) last_order: u64,
    /// Highest number of a write.
    pub(super) last_input: u64,
    /// The holder's ledger was read, and deliveries of an earlier daemon go on.
    pub(super) settled_in: bool,
    pub(super) waiters: HashMap<String, Vec<Waiter>>,
    pub(super) recent: VecDeque<Recent>,
    /// Texts of messages that were given up and are tried again: what was typed before may still stand there.
    left: VecDeque<Body>,
    pub(super) placeholder: Option<Placeholder>,
    pub(super) policy: Policy,
    /// How long the confirmation of a context is waited for.
    pub(super) ack_wait: Duration,
    /// A person is typing, until this moment.
    pub(super) person: Option<Timestamp>,
    /// When somebody else last typed, until the composer is seen empty behind it.
    pub(super) touched: Option<Timestamp>,
    /// At the last look an editor or a pager had the terminal.
    pub(super) taken: bool,
    /// When the screen changed last.
    pub(super) changed: Timestamp,
    /// The agent's composer was seen, or may have been by an earlier daemon.
    pub(super) composer_seen: bool,
    /// The agent has told which prompt it took.
    pub(super) tells_prompts: bool,
    /// The terminal is being looked at, for this message.
    pub(super) inspecting: Option<u64>,
    /// When it was last decided which message is next.
    chosen: Timestamp,
    /// The confirmation of a context was waited for then.
    awaits_ack: bool,
    /// Where the cursor was before a text was typed of which it cannot be told what became, if no composer is known:
    /// while it is elsewhere, that text may stand there.
    pub(super) unsure: Option<Prompt>,
}

impl Deliveries {
    /// The message of which something is in the terminal, or about to be. Nothing is typed for another one meanwhile,
    /// whatever is heard of that.
    pub(super) fn held(&self) -> Option<u64> {
        let in_terminal = |open: &&Open| {
            let delivery = &open.delivery;
            !delivery.is_waiting() && !delivery.is_given() && !delivery.is_done()
        };
        self.open.values().find(in_terminal).map(|open| open.message.seq)
    }

    /// Takes a message in hand, unless something of another one is in the terminal.
    pub(super) fn take_in_hand(&mut self, order: u64) {
        if self.held().is_none_or(|held| held == order) {
            self.in_hand = Some(order);
        }
    }

    /// The write under way was not recorded, so it was not made: asked for again, it bears the same number.
    pub(super) fn take_back(&mut self) -> Option<u64> {
        let UnderWay { seq, order, write, .. } = self.under_way.take()?;
        self.resumed = Some(Resumed { seq, order, write });
        Some(order)
    }

    /// Something is being typed for another message.
    pub(super) fn is_barred(&self, order: u64) -> bool {
        self.under_way.as_ref().is_some_and(|under_way| under_way.order != order)
    }

    /// The message to work on: the one in hand, or whichever is next while nothing of that one is in the terminal.
    pub(super) fn choose(&mut self, situation: Situation, wall: Timestamp, steady: Timestamp) -> Option<u64> {
        let held = self.held();
        if held.is_some() {
            return held;
        }
        // What the agent is started with comes first; before that nobody knows whose turn it is.
        self.awaits_ack = self.ack_until().is_some_and(|until| steady < until);
        let given = self.has_given();
        let due = |message: &Waiting| !given || message.mode != Mode::WhenIdle;
        let waiting: Vec<Waiting> = self.waiting(steady).filter(due).collect();
        self.chosen = steady;
        self.in_hand = queue::next(&waiting, situation, wall);
        self.in_hand
    }

    /// The agent gets something another way, and it is not settled whether it did; or it has yet to confirm its context.
    pub(super) fn has_given(&self) -> bool {
        self.awaits_ack || self.open.values().any(|open| open.delivery.is_given())
    }

    /// How long the confirmation of a context is waited for, if one is.
    fn ack_until(&self) -> Option<Timestamp> {
        let asked = self.recent.iter().filter(|recent| recent.wants_ack).filter_map(|recent| recent.asked);
        asked.max().map(|asked| asked.plus(self.ack_wait))
    }

    /// Takes note of a write of an earlier daemon.
    pub(super) fn resume(&mut self, seq: u64, order: u64, write: Option<Write>, done: bool) {
        if done && write.is_none() {
            self.typed_raw.insert(order, seq);
        } else if !done {
            self.resumed = Some(Resumed { seq, order, write });
        }
    }

    /// The number of a write: its own if an earlier daemon was about to make it, else the next.
    pub(super) fn number(&mut self, order: u64, write: Option<Write>) -> u64 {
        if write.is_none()
            && let Some(seq) = self.typed_raw.remove(&order)
        {
            return seq;
        }
        // Behind a higher number the holder would take it for one that was made.
        if let Some(resumed) = self.resumed.take()
            && (resumed.order, resumed.write) == (order, write)
        {
            return resumed.seq;
        }
        self.last_input += 1;
        self.last_input
    }

    fn waiting(&self, steady: Timestamp) -> impl Iterator<Item = Waiting> {
        let typed = |open: &&Open| !open.message.terms.raw && !open.delivery.is_given();
        self.open.values().filter(typed).map(move |open| Waiting {
            order: open.message.seq,
            priority: open.message.terms.priority,
            mode: open.delivery.mode(),
            since: open.message.created,
            expires: open.message.terms.expires,
            held_up: open.delivery.is_held_up(steady),
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
        let idle =
            |message: &Waiting| self.open.get(&message.order).is_some_and(|open| open.delivery.is_waiting());
        queue::next_expiry(&self.waiting(steady).filter(idle).collect::<Vec<_>>())
    }

    fn held_delivery(&self) -> Option<&Delivery> {
        self.held().and_then(|order| self.open.get(&order)).map(|open| &open.delivery)
    }

    /// A text is in the composer, or on its way there, and its Enter is still to come.
    pub(super) fn is_composing(&self) -> bool {
        self.held_delivery().is_some_and(Delivery::is_composing)
    }

    /// The bytes that may be typed as they are now: never between a text and its Enter. For a text that is not seen
    /// they wait a moment; and not at all for one that something is in front of, which they may be meant for.
    pub(super) fn next_raw(&self, steady: Timestamp) -> Option<u64> {
        let open = self.open.values().find(|open| open.raw.is_some())?;
        let awaited = self.raw_until().is_some_and(|until| steady < until);
        let typing = self.held_delivery().is_some_and(Delivery::is_typing);
        (!typing && !awaited && self.under_way.is_none()).then_some(open.message.seq)
    }

    /// How long bytes that are to be typed as they are wait for a text to be seen, if they do.
    fn raw_until(&self) -> Option<Timestamp> {
        let open = self.open.values().find(|open| open.raw.is_some())?;
        let unseen = self.held_delivery().is_some_and(|held| held.is_looking() && held.shut().is_none());
        unseen.then(|| open.since.plus(HOLD))
    }

    /// When something is due, if nothing happens.
    ///
    /// A moment that was missed by a message whose turn it is not is no reason to wake: it is asked when its turn has
    /// come. Nor is one of a message that waits for another's write.
    pub(super) fn deadline(&self) -> Option<Timestamp> {
        let held = self.held();
        let due = |(order, open): (&u64, &Open)| {
            let at = open.delivery.deadline().filter(|_| !self.is_barred(*order))?;
            let counts = match held {
                Some(held) => held == *order,
                None => self.in_hand == Some(*order) || open.delivery.is_given() || at > self.chosen,
            };
            counts.then_some(at)
        };
        let person = self.person.filter(|_| !self.open.is_empty());
        let ack = self.ack_until().filter(|until| self.awaits_ack && held.is_none() && *until > self.chosen);
        let raw = self.raw_until().filter(|_| self.under_way.is_none());
        self.open.iter().filter_map(due).chain(person).chain(ack).chain(raw).min()
    }

    pub(super) fn find(&self, id: &str) -> Option<&Open> {
        self.open.values().find(|open| open.message.id == id)
    }

    /// The message that an agent means which says what prompt it took.
    ///
    /// Of equal messages the oldest is meant that was not spoken of before. Agents may put words of their own before
    /// and behind it; then the longest one is meant, for a short one may be a part of anything.
    pub(super) fn meant(&self, by: Witness, text: &str) -> Option<String> {
        let recent = self.recent.iter().filter(|recent| !recent.told.contains(&by));
        let recent = recent.map(|recent| (&recent.body, &recent.id));
        let begun = self.open.values().filter(|open| open.delivery.attempts() > 0);
        let all: Vec<_> = recent.chain(begun.map(|open| (&open.body, &open.message.id))).collect();
        let exact = all.iter().find(|(body, _)| body.is(text));
        let held = self.held().and_then(|order| self.open.get(&order)).map(|open| &open.message.id);
        let within = || {
            let likely = |(body, id): &&(&Body, &String)| {
                body.is_in(text) && (body.weight() >= DISTINCT || held == Some(*id))
            };
            all.iter().filter(likely).rev().max_by_key(|(body, _)| body.weight())
        };
        exact.or_else(within).map(|(_, id)| (*id).clone())
    }

    /// Remembers a message that something may still be heard of, and whose text this is.
    pub(super) fn remember(&mut self, mut recent: Recent, text: &str) {
        recent.quotes_wish = speech::quotes_request(text);
        self.recent.retain(|known| known.id != recent.id);
        self.recent.push_back(recent);
        for recent in &mut self.recent {
            recent.quoted |= speech::text_acknowledges(text, &[&recent.id]).is_some();
        }
        while self.recent.len() > RECENT {
            self.recent.pop_front();
        }
    }

    /// A message that was given up is tried again.
    pub(super) fn take_up_again(&mut self, id: &str) {
        if let Some(at) = self.recent.iter().position(|recent| recent.id == id) {
            self.left.extend(self.recent.remove(at).map(|recent| recent.body));
        }
        while self.left.len() > RECENT {
            self.left.pop_front();
        }
    }

    /// Texts of earlier messages that may stand in the composer.
    pub(super) fn earlier(&self) -> impl Iterator<Item = &Body> {
        self.recent.iter().map(|recent| &recent.body).chain(&self.left)
    }

    /// Whether this text was typed before, for a message that was then given up.
    pub(super) fn is_left(&self, body: &Body) -> bool {
        self.left.iter().any(|left| left.reads_like(body))
    }

    /// Whether something that may be the last prompt on the screen has a line like a wish for context: then the screen
    /// cannot tell whose it is. The last message that was taken stands below all before it.
    pub(super) fn quotes_wish(&self) -> bool {
        let taken = self.recent.iter().rposition(|recent| recent.state == MessageState::Delivered);
        self.recent.iter().skip(taken.unwrap_or(0)).any(|recent| recent.quotes_wish)
            || self.open.values().any(|open| speech::quotes_request(open.plain.as_str()))
    }

    /// Why a message is not typed now.
    pub(super) fn shut(&self, order: u64) -> Option<Shut> {
        self.open.get(&order).and_then(|open| open.delivery.shut())
    }
}
