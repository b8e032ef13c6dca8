//! The messages of a session that are under way, and those that were.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use ostler_agents::{Body, Input, Placeholder, Prompt};
use ostler_core::delivery::{ClosedWindow, Delivery, HoldReason, Mode, Policy, Situation, Write};
use ostler_core::message::{LastWrite, Message, MessageState};
use ostler_core::queue::{self, Waiting};
use ostler_core::{Now, Proof, Steady, Wall};
use ostler_screen::SafeText;

use crate::carrying_on::{CARRIES_ON, RUN};
use crate::event::Ticket;
use crate::recent::Recent;
use crate::startup_context::StartupContexts;

/// What others type is held back for this long at most while a text waits for its Enter.
pub(crate) const HOLD: Duration = Duration::from_secs(1);
/// Messages that may wait for one session.
pub(crate) const MAX_OPEN: usize = 1_000;
/// Bytes of text that may wait for one session.
pub(crate) const MAX_OPEN_BYTES: usize = 64 << 20;

/// A message under way.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) message: Message,
    /// The bytes that are still to be typed as they are.
    pub(crate) raw: Option<Vec<u8>>,
    /// The text.
    pub(crate) plain: SafeText,
    /// What is typed: the text, such that the agent takes it as it is.
    pub(crate) text: SafeText,
    /// The same, as it can be recognised.
    pub(crate) body: Body,
    pub(crate) delivery: Delivery,
    /// The text is in a file, or on its way there.
    pub(crate) file: BodyFile,
    /// How often its beginning stood on the screen before it was typed.
    pub(crate) echoes: usize,
    /// Where the cursor was before it was typed, if no composer is known.
    pub(crate) prompt: Option<Prompt>,
    /// When its Enter was typed.
    pub(crate) entered: Option<Steady>,
    /// Since when it is here.
    pub(crate) since: Steady,
    /// How often it could not be typed because the agent could take nothing.
    pub(crate) window: ClosedWindow,
}

/// Whether a text is in a file instead of being typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BodyFile {
    /// It is typed.
    None,
    /// It is being put into one.
    Storing(Detour),
    /// It is in one, and a line that says where is typed.
    Stored {
        /// Path of the file.
        path: String,
        /// Why, unless an earlier daemon decided it.
        why: Option<Detour>,
    },
}

/// Why a text cannot be typed as one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detour {
    /// It is longer than so many bytes.
    TooLong(usize),
    /// Every line end would be an Enter.
    NoBrackets,
}

impl BodyFile {
    /// What a proof has to add about a text that was replaced.
    pub(crate) fn evidence(&self) -> Option<String> {
        let Self::Stored { path, why } = self else { return None };
        let why = match why {
            Some(Detour::TooLong(limit)) => format!(", which is longer than {limit} bytes"),
            Some(Detour::NoBrackets) => {
                ", which has several lines, and the terminal takes no bracketed paste".to_owned()
            }
            None => String::new(),
        };
        Some(format!("file: a reference to {path} was typed instead of the text{why}"))
    }
}

impl Open {
    /// Takes in how text is put into the agent.
    pub(crate) fn configure(&mut self, input: &Input) {
        let plain = self.plain.as_str();
        let typed = if self.message.terms.command { plain.into() } else { input.literally(plain) };
        // Kept for after a turn, the guard may be trimmed off, and the text be run as a command.
        if typed != plain {
            self.delivery.wait_for_rest();
        }
        self.text = SafeText::new(&typed);
        self.body = Body::new(&typed).marked(self.message.mark.clone());
    }

    /// The message, with what its delivery has counted.
    pub(crate) fn current(&self) -> Message {
        let mut message = self.message.clone();
        if !message.terms.raw && !self.delivery.is_given() {
            (message.attempts, message.enters) = (self.delivery.attempts(), self.delivery.enters());
        }
        message
    }
}

/// A write that the holder was asked for, or will be as soon as it is recorded.
#[derive(Debug, Clone)]
pub(crate) struct UnderWay {
    /// Its number in the holder's ledger.
    pub(crate) seq: u64,
    /// The message's place in the order.
    pub(crate) order: u64,
    /// What it is; nothing for bytes that are typed as they are.
    pub(crate) write: Option<Write>,
    pub(crate) bytes: Vec<u8>,
}

/// A write of an earlier daemon that is not in the holder's ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Resumed {
    seq: u64,
    order: u64,
    write: Option<Write>,
}

/// Somebody who waits for a message to get that far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiter {
    pub(crate) wants: Proof,
    pub(crate) ticket: Ticket,
}

/// The last writes of an earlier daemon, until the ledger says which of them were made.
#[derive(Debug, Default)]
pub(crate) struct Resumable {
    /// By the place of their message in the order.
    pub(crate) writes: BTreeMap<u64, LastWrite>,
    /// The last write for any prompt, also for one that is done with.
    pub(crate) last: u64,
    /// Bytes were typed as they are since then.
    pub(crate) raw: bool,
}

/// All messages of one session.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pub(crate) open: BTreeMap<u64, Open>,
    /// The message that is being delivered.
    pub(crate) in_hand: Option<u64>,
    pub(crate) under_way: Option<UnderWay>,
    /// A write that an earlier daemon may or may not have got through: asked for again, it bears the same number.
    resumed: Option<Resumed>,
    /// Bytes that it typed as they are, and did not record as typed: the number by the place in the order.
    typed_raw: HashMap<u64, u64>,
    pub(crate) resumable: Resumable,
    /// Highest place in the order.
    pub(crate) last_order: u64,
    /// Highest number of a write.
    pub(crate) last_input: u64,
    /// The last write that the holder has made.
    pub(crate) last_written: u64,
    /// The holder's ledger was read, and deliveries of an earlier daemon go on.
    pub(crate) settled_in: bool,
    pub(crate) waiters: HashMap<String, Vec<Waiter>>,
    pub(crate) recent: VecDeque<Recent>,
    /// Texts of messages that were given up and are tried again: what was typed before may still stand there.
    pub(crate) left: VecDeque<Body>,
    pub(crate) placeholder: Option<Placeholder>,
    pub(crate) policy: Policy,
    /// Words with which the agent may confirm a message, besides the usual one.
    pub(crate) ack_words: Vec<String>,
    /// How long the confirmation of a context is waited for.
    pub(crate) ack_wait: Duration,
    /// At the last look an editor or a pager had the terminal.
    pub(crate) taken: bool,
    /// The agent's composer was seen, or may have been by an earlier daemon.
    pub(crate) composer_seen: bool,
    /// It was seen when the agent was ready, or may have been: some draw it for a moment before their dialogs.
    pub(crate) was_ready: bool,
    /// The prompts of runs wait: a person holds everything automatic.
    pub(crate) held_back: bool,
    /// The agent's hooks run, and one tells which prompt it takes.
    pub(crate) tells_prompts: bool,
    /// The terminal is being looked at, for this message.
    pub(crate) inspecting: Option<u64>,
    /// When it was last decided which message is next.
    chosen: Steady,
    /// The confirmation of a context was waited for then.
    awaits_ack: bool,
    /// Where the cursor was before a text was typed of which it cannot be told what became, if no composer is known:
    /// while it is elsewhere, that text may stand there.
    pub(crate) unsure: Option<Prompt>,
    /// Why the terminal did not take the last write.
    pub(crate) why_refused: Option<&'static str>,
    /// What the agent is given by its hook, each time that a conversation begins anew.
    pub(crate) contexts: StartupContexts,
}

impl Outbox {
    /// The message of which something is in the terminal, or about to be. Nothing is typed for another one meanwhile,
    /// whatever is heard of that.
    pub(crate) fn held(&self) -> Option<u64> {
        let in_terminal = |open: &&Open| {
            let delivery = &open.delivery;
            !delivery.is_waiting() && !delivery.is_aside() && !delivery.is_done()
        };
        self.open.values().find(in_terminal).map(|open| open.message.seq)
    }

    /// Takes a message in hand, unless something of another one is in the terminal.
    pub(crate) fn take_in_hand(&mut self, order: u64) {
        if self.held().is_none_or(|held| held == order) {
            self.in_hand = Some(order);
        }
    }

    /// Something is being typed for another message.
    pub(crate) fn is_barred(&self, order: u64) -> bool {
        self.under_way.as_ref().is_some_and(|under_way| under_way.order != order)
    }

    /// The message to work on: the one in hand, or whichever is next while nothing of that one is in the terminal.
    pub(crate) fn choose(&mut self, situation: Situation, now: Now) -> Option<u64> {
        let held = self.held();
        if held.is_some() {
            return held;
        }
        // What the agent is started with comes first; before that nobody knows whose turn it is.
        self.awaits_ack = self.ack_until().is_some_and(|until| now.steady < until);
        let given = self.has_given();
        let may = |order: u64| !self.open.get(&order).is_some_and(|open| self.holds_back(open));
        let due = |message: &Waiting| (!given || message.mode != Mode::WhenIdle) && may(message.order);
        let waiting: Vec<Waiting> = self.waiting(now.steady).filter(due).collect();
        self.chosen = now.steady;
        self.in_hand = queue::next(&waiting, situation, now.wall);
        self.in_hand
    }

    /// Whether a person holds it back: it is automatic.
    pub(crate) fn holds_back(&self, open: &Open) -> bool {
        self.held_back && [RUN, CARRIES_ON].contains(&open.message.terms.sender.as_str())
    }

    /// Messages that the agent has, and that no turn began with.
    pub(crate) fn kept(&self) -> Vec<u64> {
        let kept = self.open.values().filter(|open| open.delivery.is_kept());
        kept.map(|open| open.message.seq).collect()
    }

    /// The agent gets something another way, and it is not settled whether it did; or it has yet to confirm its context.
    /// With something in its own queue it goes on by itself, however much at rest it looks.
    pub(crate) fn has_given(&self) -> bool {
        let first = |open: &Open| open.delivery.is_given() || open.delivery.is_queued_by_agent();
        self.awaits_ack || self.open.values().any(first)
    }

    /// How long the confirmation of a context is waited for, if one is.
    fn ack_until(&self) -> Option<Steady> {
        let asked = self.recent.iter().filter(|recent| recent.wants_ack).filter_map(|recent| recent.asked);
        asked.max().map(|asked| asked.plus(self.ack_wait))
    }

    /// Takes note of a write of an earlier daemon.
    pub(crate) fn resume(&mut self, seq: u64, order: u64, write: Option<Write>, done: bool) {
        if done && write.is_none() {
            self.typed_raw.insert(order, seq);
        } else if !done {
            self.resumed = Some(Resumed { seq, order, write });
        }
    }

    /// The number of a write: its own if an earlier daemon was about to make it, else the next.
    pub(crate) fn number(&self, order: u64, write: Option<Write>) -> u64 {
        if let Some(seq) = self.typed_raw.get(&order).filter(|_| write.is_none()) {
            return *seq;
        }
        match self.resumed {
            Some(resumed) if (resumed.order, resumed.write) == (order, write) => resumed.seq,
            _ => self.last_input + 1,
        }
    }

    /// A write of this number is recorded: the next one has another.
    pub(crate) fn use_number(&mut self, seq: u64, order: u64) {
        self.typed_raw.remove(&order);
        // Behind a higher number the holder would take it for one that was made.
        self.resumed = None;
        self.last_input = self.last_input.max(seq);
    }

    fn waiting(&self, steady: Steady) -> impl Iterator<Item = Waiting> {
        let typed = |open: &&Open| !open.message.terms.raw && !open.delivery.is_aside();
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
    pub(crate) fn expired(&self, now: Now) -> Vec<u64> {
        let mut expired = queue::expired(&self.waiting(now.steady).collect::<Vec<_>>(), now.wall);
        expired.retain(|order| self.open.get(order).is_some_and(|open| open.delivery.is_waiting()));
        expired
    }

    /// When the next of them will be.
    pub(crate) fn next_expiry(&self) -> Option<Wall> {
        let idle =
            |message: &Waiting| self.open.get(&message.order).is_some_and(|open| open.delivery.is_waiting());
        queue::next_expiry(&self.waiting(Steady(0)).filter(idle).collect::<Vec<_>>())
    }

    fn held_delivery(&self) -> Option<&Delivery> {
        self.held().and_then(|order| self.open.get(&order)).map(|open| &open.delivery)
    }

    /// A text is in the composer, or on its way there, and its Enter is still to come.
    pub(crate) fn is_composing(&self) -> bool {
        let typing = self
            .under_way
            .as_ref()
            .is_some_and(|under_way| matches!(under_way.write, Some(Write::Body | Write::Enter)));
        typing || self.held_delivery().is_some_and(Delivery::is_composing)
    }

    /// The bytes that may be typed as they are now: never between a text and its Enter. For a text that is not seen
    /// they wait a moment; and not at all for one that something is in front of, which they may be meant for.
    pub(crate) fn next_raw(&self, steady: Steady) -> Option<u64> {
        let open = self.open.values().find(|open| open.raw.is_some())?;
        let awaited = self.raw_until().is_some_and(|until| steady < until);
        let typing = self.held_delivery().is_some_and(Delivery::is_typing);
        (!typing && !awaited && self.under_way.is_none()).then_some(open.message.seq)
    }

    /// How long bytes that are to be typed as they are wait for a text to be seen, if they do.
    fn raw_until(&self) -> Option<Steady> {
        let open = self.open.values().find(|open| open.raw.is_some())?;
        let unseen = self.held_delivery().is_some_and(|held| held.is_looking() && held.shut().is_none());
        unseen.then(|| open.since.plus(HOLD))
    }

    /// When something is due, if nothing happens.
    ///
    /// A moment that was missed by a message whose turn it is not is no reason to wake: it is asked when its turn has
    /// come. Nor is one of a message that waits for another's write.
    pub(crate) fn deadline(&self) -> Option<Steady> {
        let held = self.held();
        let due = |(order, open): (&u64, &Open)| {
            let at = open.delivery.deadline().filter(|_| !self.is_barred(*order))?;
            let counts = match held {
                Some(held) => held == *order,
                None => self.in_hand == Some(*order) || open.delivery.is_aside() || at > self.chosen,
            };
            counts.then_some(at)
        };
        let ack = self.ack_until().filter(|until| self.awaits_ack && held.is_none() && *until > self.chosen);
        let raw = self.raw_until().filter(|_| self.under_way.is_none());
        self.open.iter().filter_map(due).chain(ack).chain(raw).min()
    }

    pub(crate) fn find(&self, id: &str) -> Option<&Open> {
        self.open.values().find(|open| open.message.id == id)
    }

    /// Bytes that wait.
    pub(crate) fn bytes(&self) -> usize {
        let size = |open: &Open| open.raw.as_ref().map_or(0, Vec::len) + open.text.as_str().len();
        self.open.values().map(size).sum()
    }

    /// Whether somebody waits for a message to get this far and no farther.
    pub(crate) fn is_awaited(&self, id: &str, proof: Proof) -> bool {
        self.waiters.get(id).is_some_and(|waiters| waiters.iter().any(|waiter| waiter.wants <= proof))
    }

    /// Takes out those who wait for what is known of a message now, or wait for what never will be.
    pub(crate) fn take_answered(&mut self, message: &Message) -> Vec<Ticket> {
        let over = message.state != MessageState::Queued;
        let Some(waiters) = self.waiters.get_mut(&message.id) else { return Vec::new() };
        // A confirmation may come long after the message was taken.
        let confirmable = message.state == MessageState::Delivered && !message.terms.raw && message.terms.ack;
        let answered = |waiter: &mut Waiter| {
            message.proof >= waiter.wants || (over && !(confirmable && waiter.wants == Proof::Acknowledged))
        };
        let tickets = waiters.extract_if(.., answered).map(|waiter| waiter.ticket).collect();
        if waiters.is_empty() {
            self.waiters.remove(&message.id);
        }
        tickets
    }

    /// Takes a message from those under way; something may still be heard of it.
    pub(crate) fn done_with(&mut self, order: u64, now: Now) {
        let Some(open) = self.open.remove(&order) else { return };
        if self.in_hand == Some(order) {
            self.in_hand = None;
        }
        let delivered = open.message.state == MessageState::Delivered;
        if open.message.terms.raw {
            return;
        }
        // Of what was never typed nothing is left, and nothing will be heard.
        let typed = open.delivery.attempts() > 0;
        let message = open.current();
        if typed {
            self.unsure = open.prompt.filter(|_| !delivered);
        }
        if typed || delivered {
            let recent = Recent { entered: open.entered, ..Recent::new(message, open.body, now) };
            self.remember(recent, open.plain.as_str());
        }
    }

    /// Why a message is not typed now.
    pub(crate) fn shut(&self, order: u64) -> Option<HoldReason> {
        self.open.get(&order).and_then(|open| open.delivery.shut())
    }
}
