//! What is asked about messages: sending them, waiting for them, trying them again, dropping and confirming them.

use std::collections::BTreeMap;
use std::time::Duration;

use ostler_agents::{Body, Placeholder};
use ostler_core::Proof;
use ostler_core::delivery::{ClosedWindow, Delivery, Mode, Policy, Progress, Write};
use ostler_core::message::{LastWrite, MISSED, Message, MessageState, Terms};
use ostler_core::start_plan::StartupRoute;
use ostler_screen::SafeText;

use crate::change::Change;
use crate::delivery_view::KEPT;
use crate::effect::{Answer, Effect};
use crate::escalating::NOTICE;
use crate::event::{Send, StoredBody, Ticket};
use crate::note::{Deferred, Note, Then};
use crate::outbox::{BodyFile, MAX_OPEN, MAX_OPEN_BYTES, Open, Resumable, Waiter};
use crate::recent::Recent;
use crate::refusal::Refusal;
use crate::saved::{SavedMessage, SavedMessages};
use crate::session::Session;

/// Bytes that the id of a message may have.
pub const MAX_ID: usize = 128;

impl Session {
    /// Accepts a message, or says why not.
    pub(crate) fn on_send(&mut self, send: Send) {
        // How to interrupt an agent is in the rules.
        if send.terms.mode == Mode::Interrupt
            && let Some(deferred) = &mut self.unread_rules
        {
            return deferred.push(Deferred::Send(Box::new(send)));
        }
        let asking = send.queued.into_iter().chain(send.waiter.map(|(_, ticket)| ticket)).collect();
        if let Some(refusal) = self.why_not(&send) {
            return self.refuse(asking, &refusal);
        }
        let Send { id, body, terms, known, queued, waiter } = send;
        let waiter = waiter.map(|(wants, ticket)| Waiter { wants, ticket });
        if let Some((message, _)) = known {
            let message = self.newest(message);
            return self.tell_queued(&message, queued, waiter);
        }
        let order = self.outbox.last_order + 1;
        self.outbox.last_order = order;
        let message = Message {
            session: self.id.clone(),
            id: id.clone(),
            seq: order,
            terms: terms.clone(),
            state: MessageState::Queued,
            proof: Proof::Queued,
            evidence: Vec::new(),
            failure: None,
            attempts: 0,
            enters: 0,
            escalated: None,
            created: self.now.wall,
            submitted: None,
            bytes: body.len(),
            mark: None,
        };
        self.outbox.contexts.add(&message, &body);
        let open = Box::new(self.opened(message, &body, None));
        let otherwise = Some(Then::Refuse(asking, Refusal::NotRecorded));
        let changes = vec![Change::Accepted { id, order, body, terms }];
        self.intend(changes, Then::Opened { open, queued, waiter }, otherwise);
    }

    /// Tells who sent a message that it is recorded, and remembers who waits for more.
    fn tell_queued(&mut self, message: &Message, queued: Option<Ticket>, waiter: Option<Waiter>) {
        if let Some(ticket) = queued {
            let view = self.message_view(message);
            self.push(Effect::Answer(ticket, Answer::Message(Box::new(view))));
        }
        if let Some(waiter) = waiter {
            self.outbox.waiters.entry(message.id.clone()).or_default().push(waiter);
        }
        self.notify_waiters(message);
    }

    /// A message is recorded: it is under way.
    pub(crate) fn on_opened(&mut self, open: Open, queued: Option<Ticket>, waiter: Option<Waiter>) {
        // Sent twice before the first was recorded: it is one message.
        if let Some(known) = self.outbox.find(&open.message.id) {
            let same = known.plain == open.plain && known.raw == open.raw;
            let message = known.current();
            if same {
                return self.tell_queued(&message, queued, waiter);
            }
            let asking = queued.into_iter().chain(waiter.map(|waiter| waiter.ticket)).collect();
            return self.refuse(asking, &Refusal::ReusedId { id: message.id });
        }
        let (order, message) = (open.message.seq, open.message.clone());
        self.outbox.open.insert(order, open);
        self.tell_queued(&message, queued, waiter);
        if self.life.is_ended() {
            self.give_up(order, MessageState::Failed, "the program has ended".into());
        } else {
            self.note(Note::Deliver);
        }
    }

    fn why_not(&self, send: &Send) -> Option<Refusal> {
        let Send { id, body, terms, known, .. } = send;
        // An agent may have to repeat it, and a person sees it in a terminal.
        if id.is_empty() || id.len() > MAX_ID || id.contains(|c: char| c.is_control() || c.is_whitespace()) {
            return Some(Refusal::BadId { id: id.chars().take(40).collect() });
        }
        match known {
            Some((_, true)) => return None,
            Some((message, false)) => return Some(Refusal::ReusedId { id: message.id.clone() }),
            None => {}
        }
        let waiting = self.outbox.open.len();
        if waiting >= MAX_OPEN || self.outbox.bytes() + body.len() > MAX_OPEN_BYTES {
            return Some(Refusal::QueueFull { waiting });
        }
        if terms.raw {
            return None;
        }
        let Ok(text) = std::str::from_utf8(body) else { return Some(Refusal::NotText) };
        if prompt(text).as_str().is_empty() {
            return Some(Refusal::Empty);
        }
        let agent = &self.profile.agent;
        let no_interrupt = terms.mode == Mode::Interrupt && agent.preset.input.interrupt.is_empty();
        no_interrupt.then(|| Refusal::NoInterrupt { agent: agent.title().to_owned() })
    }

    /// Tells those who asked that it cannot be done.
    pub(crate) fn refuse(&mut self, tickets: Vec<Ticket>, refusal: &Refusal) {
        for ticket in tickets {
            self.push(Effect::Answer(ticket, Answer::Refused(refusal.clone())));
        }
    }

    /// A message to be delivered; `pointer` is what was typed instead of it, if it is in a file.
    fn opened(&self, message: Message, bytes: &[u8], pointer: Option<StoredBody>) -> Open {
        let (plain, file) = typed_text(&message, bytes, pointer);
        let Terms { mode, command, way, .. } = message.terms;
        let delivery = match way {
            StartupRoute::Message => Delivery::new(mode, self.outbox.policy).of_command(command),
            way => Delivery::given(way, self.outbox.policy),
        };
        let entered = delivery.is_given().then_some(self.now.steady);
        let mut open = Open {
            raw: message.terms.raw.then(|| bytes.to_vec()),
            body: Body::new(""),
            plain,
            text: SafeText::default(),
            delivery,
            file,
            echoes: 0,
            prompt: None,
            entered,
            since: self.now.steady,
            window: ClosedWindow::default(),
            message,
        };
        open.configure(&self.profile.agent.preset.input);
        open
    }

    /// Somebody waits for a message.
    pub(crate) fn on_await(&mut self, stored: Message, wants: Proof, ticket: Ticket) {
        self.outbox.waiters.entry(stored.id.clone()).or_default().push(Waiter { wants, ticket });
        let message = self.newest(stored);
        self.notify_waiters(&message);
    }

    /// What is known of a message that was recorded so.
    fn newest(&self, stored: Message) -> Message {
        let open = self.outbox.find(&stored.id).map(Open::current);
        let recent = || self.outbox.recent.iter().find(|recent| recent.message.id == stored.id);
        open.or_else(|| recent().map(|recent| recent.message.clone())).unwrap_or(stored)
    }

    /// Puts a message that was given up back among those under way.
    pub(crate) fn on_retry(&mut self, stored: Message, body: &[u8], ticket: Ticket) {
        let stored = self.newest(stored);
        let (id, state) = (stored.id.clone(), stored.state);
        if !state.is_given_up() {
            return self.refuse(vec![ticket], &Refusal::NotGivenUp { id, state });
        }
        if self.life.is_ended() {
            return self.refuse(vec![ticket], &Refusal::Ended);
        }
        let order = self.outbox.last_order + 1;
        self.outbox.last_order = order;
        let terms = Terms { way: StartupRoute::Message, expires: None, ..stored.terms };
        let message = Message {
            seq: order,
            terms,
            state: MessageState::Queued,
            proof: Proof::Queued,
            evidence: Vec::new(),
            failure: None,
            attempts: 0,
            enters: 0,
            ..stored
        };
        let open = Box::new(self.opened(message, body, None));
        let changes = vec![Change::Revived { id, order }];
        let otherwise = Some(Then::Refuse(vec![ticket], Refusal::NotRecorded));
        self.intend(changes, Then::Revived { open, ticket }, otherwise);
    }

    /// A message is under way again.
    pub(crate) fn on_revived(&mut self, open: Open, ticket: Ticket) {
        self.outbox.take_up_again(&open.message.id);
        self.on_opened(open, Some(ticket), None);
    }

    /// Gives up a message that is under way, if nothing of it is in the terminal; one that was given up is done with.
    pub(crate) fn on_drop(&mut self, stored: Message, ticket: Ticket) {
        let stored = self.newest(stored);
        let (id, state) = (stored.id.clone(), stored.state);
        let refused = Some(Then::Refuse(vec![ticket], Refusal::NotRecorded));
        if let Some(open) = self.outbox.find(&id) {
            let order = open.message.seq;
            let typed = self.outbox.under_way.as_ref().is_some_and(|under_way| under_way.order == order);
            if typed || !open.delivery.is_waiting() {
                return self.refuse(vec![ticket], &Refusal::InTerminal { id });
            }
            let changes = vec![Change::Cancelled { id }];
            return self.intend(changes, Then::Cancelled { order, ticket }, refused);
        }
        if !state.is_given_up() {
            return self.refuse(vec![ticket], &Refusal::NotDroppable { id, state });
        }
        let changes = vec![Change::Dropped { id }];
        self.intend(changes, Then::Dropped { message: Box::new(stored), ticket }, refused);
    }

    /// A message that waited is not wanted any more.
    pub(crate) fn on_cancelled(&mut self, order: u64, ticket: Ticket) {
        let Some(open) = self.outbox.open.get_mut(&order) else { return };
        open.message.state = MessageState::Failed;
        open.message.failure = Some("it was dropped on request".into());
        let message = open.current();
        self.outbox.done_with(order, self.now);
        self.carry_on_gave_up(&message.terms);
        self.notify_waiters(&message);
        self.on_dropped(&message, ticket);
    }

    /// A message is done with.
    pub(crate) fn on_dropped(&mut self, message: &Message, ticket: Ticket) {
        self.push(Effect::Withdraw { id: message.id.clone() });
        let view = self.message_view(message);
        self.push(Effect::Answer(ticket, Answer::Message(Box::new(view))));
        // Others may have waited for it.
        self.note(Note::Deliver);
    }

    /// The agent says by a command that it has a message.
    pub(crate) fn on_acknowledge(&mut self, stored: Message, ticket: Ticket) {
        let stored = self.newest(stored);
        let id = stored.id.clone();
        if stored.terms.raw {
            return self.refuse(vec![ticket], &Refusal::RawBytes { id });
        }
        if stored.proof == Proof::Queued {
            return self.refuse(vec![ticket], &Refusal::NotTyped { id });
        }
        let waiter = Waiter { wants: Proof::Acknowledged, ticket };
        self.outbox.waiters.entry(id.clone()).or_default().push(waiter);
        // It may be too long ago to be remembered.
        if self.outbox.find(&id).is_none() && !self.outbox.recent.iter().any(|recent| recent.message.id == id)
        {
            let text = SafeText::default();
            let recent = Recent::new(stored, Body::new(""), self.now);
            self.outbox.remember(recent, text.as_str());
        }
        self.acknowledge(&id, "command: ostler ack");
        self.note(Note::Deliver);
    }

    /// The agent has confirmed a message.
    pub(crate) fn acknowledge(&mut self, id: &str, evidence: &str) {
        if let Some(order) = self.outbox.find(id).map(|open| open.message.seq) {
            self.prove(order, Proof::Acknowledged, evidence.to_owned());
        } else {
            self.prove_late(id, Proof::Acknowledged, evidence.to_owned());
        }
        for recent in self.outbox.recent.iter_mut().filter(|recent| recent.message.id == id) {
            recent.wants_ack = false;
        }
        self.outbox.contexts.acknowledged(id);
    }

    /// Takes up the messages that the record has.
    pub(crate) fn load_messages(&mut self, saved: SavedMessages, recovered: bool) {
        let SavedMessages { open, taken, essential, last_order, last_input, .. } = saved;
        let (last, last_raw_write) = (saved.last_prompt_write, saved.last_raw_write);
        for SavedMessage { message, body, .. } in &essential {
            self.outbox.contexts.add(message, body);
        }
        (self.outbox.composer_seen, self.outbox.was_ready) = (recovered, recovered);
        (self.outbox.last_order, self.outbox.last_input) = (last_order, last_input);
        self.outbox.resumable = Resumable { writes: BTreeMap::new(), last, raw: last_raw_write > last };
        for SavedMessage { message, body, pointer, .. } in taken.into_iter().rev() {
            if let Some(submitted) = message.submitted.filter(|_| recovered) {
                self.note_recorded_prompt(submitted);
            }
            let (text, _) = typed_text(&message, &body, pointer);
            let body = Body::new(text.as_str()).marked(message.mark.clone());
            self.outbox.remember(Recent::new(message, body, self.now), text.as_str());
        }
        for SavedMessage { message, body, last, pointer } in open {
            let (order, way, proof) = (message.seq, message.terms.way, message.proof);
            let by_prompt_hook = message.terms.sender == NOTICE && message.attempts == 0;
            self.outbox.resumable.writes.extend(last.map(|last| (order, last)));
            let mut open = self.opened(message, &body, pointer);
            if recovered {
                open.delivery = open.delivery.unwatched();
            }
            if way == StartupRoute::Hook && proof > Proof::Written {
                open.delivery = open.delivery.held_by_hook();
            }
            self.outbox.open.insert(order, open);
            // The program was started with it.
            if way == StartupRoute::Argument && !recovered {
                self.note_prompt();
            }
            let handed = way == StartupRoute::Hook || by_prompt_hook;
            if handed && proof == Proof::Written {
                let reason = "whether the agent's hook got it cannot be told".to_owned();
                self.give_up(order, MessageState::Uncertain, reason);
            }
        }
    }

    /// The ledger says what was done of the last writes; without one, nobody can. `keys` were typed by people.
    pub(crate) fn resume_deliveries(&mut self, ledger: Option<u64>, keys: bool) {
        self.outbox.last_input = self.outbox.last_input.max(ledger.unwrap_or_default());
        if std::mem::replace(&mut self.outbox.settled_in, true) {
            return;
        }
        let now = self.now.steady;
        let Resumable { writes, last, raw } = std::mem::take(&mut self.outbox.resumable);
        // What a person typed before may stand in the composer, unless something of ours was typed into it since.
        let of_ours = |last: u64| writes.values().any(|write| write.seq == last && write.write != MISSED);
        if (keys && !of_ours(last)) || raw {
            self.human.touch(now);
        }
        // They may have been a prompt.
        if raw {
            self.human.note_enter(now);
        }
        for (order, LastWrite { seq, write, echoes, done }) in writes {
            let Some(open) = self.outbox.open.get_mut(&order) else { continue };
            // An Enter of which nobody knows may have been pressed.
            let done = done || ledger.map_or(write == Write::Enter.as_str(), |ledger| seq <= ledger);
            if open.message.terms.raw {
                // Bytes that are typed as they are: asked for again, they bear the same number.
                self.outbox.resume(seq, order, None, done);
                continue;
            }
            let Message { attempts, enters, proof, .. } = open.message;
            // Something was typed for another message since: nothing of this one was in the terminal then. Nor is
            // anything there that was found to be missing.
            let write = Write::from_name(&write).map(|write| (write, done)).filter(|_| seq == last);
            let progress = Progress { attempts, enters, proof, last: write };
            let Terms { mode, command, .. } = open.message.terms;
            let policy = self.outbox.policy;
            open.delivery = Delivery::resumed(mode, policy, progress, now).of_command(command);
            if open.message.evidence.iter().any(|line| line.starts_with(KEPT))
                && open.message.proof == Proof::Seen
            {
                open.delivery = open.delivery.clone().queued_by_agent(now);
                open.entered = Some(now);
                continue;
            }
            open.echoes = usize::try_from(echoes).unwrap_or(usize::MAX);
            let entered = open.delivery.is_confirming();
            if entered {
                open.entered = Some(now);
            }
            let is_waiting = open.delivery.is_waiting();
            if let Some((write, false)) = write {
                self.outbox.resume(seq, order, Some(write), false);
            }
            if !is_waiting {
                self.outbox.in_hand = Some(order);
            }
            if entered {
                self.note_resumed_prompt();
            }
        }
    }

    /// What the agent's preset and the settings say about typing.
    pub(crate) fn configure_deliveries(&mut self) {
        let (input, delivery) = (&self.profile.agent.preset.input, &self.profile.delivery);
        self.outbox.placeholder = input.paste_placeholder.as_deref().and_then(Placeholder::new);
        self.outbox.policy = Policy {
            enter_delay: Duration::from_millis(input.enter_delay_ms.into()),
            raw_only: self.agent.is_some(),
            has_composer: self.profile.book.knows_composer(),
            can_clear: !input.clear.is_empty(),
            clear_stops: input.clear.iter().any(|key| input.stops(key)),
            max_attempts: delivery.max_attempts.get(),
            backoff: delivery.backoff,
            ..Policy::default()
        };
        self.outbox.ack_words.clone_from(&self.profile.agent.preset.conversation.acknowledge);
        self.outbox.ack_wait = Duration::from_secs(delivery.ack_wait_seconds.into());
        for open in self.outbox.open.values_mut() {
            open.delivery.configure(self.outbox.policy);
            open.configure(input);
        }
    }
}

/// What is typed for a message, or was, and whether that only says where the message is.
fn typed_text(message: &Message, bytes: &[u8], pointer: Option<StoredBody>) -> (SafeText, BodyFile) {
    if message.terms.raw {
        return (SafeText::default(), BodyFile::None);
    }
    if let Some(StoredBody { path, line }) = pointer.filter(|_| message.attempts > 0) {
        return (line, BodyFile::Stored { path, why: None });
    }
    let text = prompt(&String::from_utf8_lossy(bytes));
    let text = if message.terms.ack { with_request(&text, &message.id) } else { text };
    (text, BodyFile::None)
}

/// The text of a prompt: safe to type, without line ends at its end.
pub(crate) fn prompt(text: &str) -> SafeText {
    SafeText::new(SafeText::new(text).as_str().trim_end())
}

/// The text with the request to confirm it.
pub fn with_request(text: &SafeText, id: &str) -> SafeText {
    SafeText::new(&format!(
        "[CONTEXT {id} - please acknowledge]\n{text}\n[END CONTEXT - reply \"ACK: {id}\"]"
    ))
}
