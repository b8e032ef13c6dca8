//! Prompts on their way into the agent: what is seen and heard goes to their deliveries, and what those say is done.

use std::fmt::Write as _;

use ostler_agents::{Body, Reader};
use ostler_core::delivery::{Action, Delivery, Event, FailReason, ProofEvidence, Write};
use ostler_core::detector;
use ostler_core::message::MessageState;
use ostler_core::queue::Priority;
use ostler_core::start_plan::{self, StartupRoute};
use ostler_core::{Proof, State, Steady};

use crate::change::Change;
use crate::effect::Effect;
use crate::event::{StoredBody, TerminalStatus};
use crate::note::Note;
use crate::outbox::{BodyFile, Detour, Open};
use crate::session::Session;

impl Session {
    /// Lets the deliveries go on.
    pub(crate) fn deliver(&mut self) {
        self.deliver_next();
        self.type_others();
    }

    /// Lets those type who waited for a message.
    pub(crate) fn type_others(&mut self) {
        self.release_keys();
        self.type_raw();
    }

    fn deliver_next(&mut self) {
        self.see_untouched();
        if self.outbox.open.is_empty() || !self.outbox.settled_in || self.life.is_ending() {
            return;
        }
        self.look_after_given();
        self.look_after_kept();
        self.look_after_windows();
        for order in self.outbox.expired(self.now) {
            self.escalate_expired(order);
            self.give_up(order, MessageState::Failed, "it was not typed in time".into());
        }
        if self.life.connected && !self.life.abilities.keys {
            return self.give_up_typing();
        }
        if let Some(order) = self.outbox.choose(self.situation(), self.now) {
            self.step_delivery(order, Event::Looked);
        }
    }

    /// Nothing can be typed: what waits for it will not go.
    fn give_up_typing(&mut self) {
        let waiting = self.outbox.open.values().filter(|open| !open.delivery.is_aside());
        let orders: Vec<u64> = waiting.map(|open| open.message.seq).collect();
        for order in orders {
            let reason = "nothing can be typed into this session";
            self.give_up(order, MessageState::Failed, reason.to_owned());
        }
    }

    /// Sees what became of the messages that the agent gets from its start.
    fn look_after_given(&mut self) {
        let given = self.outbox.open.values().filter(|open| open.delivery.is_given());
        let orders: Vec<u64> = given.map(|open| open.message.seq).collect();
        for order in orders {
            // One message at a time is typed.
            let free = self.outbox.held().is_none() && self.outbox.under_way.is_none();
            if free {
                self.step_delivery(order, Event::Looked);
            }
        }
    }

    /// Sees whether a turn began with what the agent has.
    fn look_after_kept(&mut self) {
        for order in self.outbox.kept() {
            // What an agent has put back is entered again: one message at a time is typed.
            let free = self.outbox.held().is_none() && self.outbox.under_way.is_none();
            let queued = |open: &Open| open.delivery.is_queued_by_agent();
            if !free && self.outbox.open.get(&order).is_some_and(queued) {
                continue;
            }
            self.step_delivery(order, Event::Looked);
        }
    }

    /// Gives an event to the delivery of a message and does what it says.
    pub(crate) fn step_delivery(&mut self, order: u64, event: Event) {
        if self.life.is_ending() && !matches!(event, Event::Reported { .. }) {
            return;
        }
        let situation = self.situation();
        let Some(view) = self.delivery_view(order, situation) else { return };
        // One write at a time: it goes on when the other one is settled, and when the store takes records again.
        let barred = (self.outbox.under_way.is_some() && !is_answer(event)) || self.is_store_stuck();
        // What is not on the screen yet, or cannot be read, proves nothing.
        let blind = !self.watches() && self.guards(crate::Safeguard::OldOutputProvesNothing);
        let barred = barred || blind;
        let barred = barred && situation.state != State::Exited;
        let Some(open) = self.outbox.open.get_mut(&order) else { return };
        let storing = matches!(open.file, BodyFile::Storing(_)) && situation.state != State::Exited;
        if storing || (barred && may_type(event, &open.delivery)) {
            return open.delivery.postpone();
        }
        let was_kept = open.delivery.is_kept();
        let mut stepped = open.delivery.clone();
        let actions = stepped.handle(event, &view, self.now.steady);
        let write = actions.iter().find_map(|action| match action {
            Action::Type(write) => Some(*write),
            _ => None,
        });
        if let Some(write) = write {
            if write == Write::Body
                && let Some(why) = self.detour(order)
            {
                return self.store_body(order, why);
            }
            return self.begin_write(order, write, stepped, &actions);
        }
        if let Some(open) = self.outbox.open.get_mut(&order) {
            open.delivery = stepped;
        }
        if actions.is_empty() {
            return;
        }
        let aside = |open: &Open| open.delivery.is_aside();
        if !was_kept && !self.outbox.open.get(&order).is_some_and(aside) {
            self.outbox.take_in_hand(order);
        }
        for action in actions {
            self.perform(order, action);
        }
        if self.outbox.under_way.is_none() && self.outbox.inspecting.is_none() {
            self.note(Note::Deliver);
        }
    }

    fn perform(&mut self, order: u64, action: Action) {
        match action {
            Action::Inspect => {
                if self.outbox.inspecting.replace(order).is_none() {
                    self.inspect();
                }
            }
            // Decided with the whole step.
            Action::Type(_) => {}
            Action::Prove(proof, because) => {
                if because == ProofEvidence::Composer {
                    let mark = self.mark_of(order);
                    if let Some(open) = self.outbox.open.get_mut(&order) {
                        open.set_mark(mark);
                    }
                }
                let evidence = self.evidence(order, because);
                if matches!(because, ProofEvidence::WentToWork | ProofEvidence::Echoed) {
                    // Its hook was waited for, where one tells prompts, and said nothing.
                    self.outbox.tells_prompts = false;
                }
                let begins = proof == Proof::Submitted && self.is_on_command_line(order);
                self.prove(order, proof, evidence);
                // Nobody pressed Enter, from which the detector would know.
                if begins && self.observer.detector().shows_work() {
                    self.note(Note::Detect(detector::Event::Begun));
                }
            }
            Action::Missed => {
                self.missed(order);
                self.escalate(order, false);
            }
            Action::Fail(up) => {
                let uncertain = matches!(up, FailReason::Uncertain);
                let state = if uncertain { MessageState::Uncertain } else { MessageState::Failed };
                let refused = self.outbox.why_refused.take().filter(|_| up == FailReason::Refused);
                let mut reason = refused.unwrap_or_else(|| up.as_str()).to_owned();
                let open = self.outbox.open.get(&order).filter(|_| up == FailReason::NotACommand);
                if let Some(row) = open.and_then(|open| self.refusals(open, self.composer_top()).last()) {
                    _ = write!(reason, ": {row:?}");
                }
                match up {
                    FailReason::Ended => {}
                    // Another way could give the agent twice what it has.
                    FailReason::Uncertain => self.withdraw(order),
                    _ => self.escalate(order, true),
                }
                self.give_up(order, state, reason);
            }
        }
    }

    /// Whether the agent has a message from its command line, and nothing was typed for it.
    pub(crate) fn is_on_command_line(&self, order: u64) -> bool {
        let open = self.outbox.open.get(&order);
        open.is_some_and(|open| {
            open.message.terms.way == StartupRoute::Argument && open.delivery.enters() == 0
        })
    }

    /// The mark that the agent shows in place of a text: some leave it there when they took the text.
    pub(crate) fn mark_of(&self, order: u64) -> Option<String> {
        let (screen, book) = (&self.terminal.screen, &self.profile.book);
        let open = self.outbox.open.get(&order)?;
        match Reader::glance(book, screen) {
            Some(composer) => open.body.mark_in(screen, book, &composer, self.outbox.placeholder.as_ref()),
            None => open.message.mark.clone(),
        }
    }

    /// Nothing of a text is where it was typed.
    pub(crate) fn missed(&mut self, order: u64) {
        let Some(open) = self.outbox.open.get_mut(&order) else { return };
        open.forget_proofs();
        let id = open.message.id.clone();
        self.record(Change::Missed { id });
    }

    /// Why a text cannot be typed as one piece, if it cannot.
    fn detour(&self, order: u64) -> Option<Detour> {
        let bracketed = self.terminal.screen.modes().bracketed_paste;
        let input = &self.profile.agent.preset.input;
        let limit = input.paste_limit.map_or(usize::MAX, |limit| limit as usize);
        let open = self.outbox.open.get(&order).filter(|open| open.file == BodyFile::None)?;
        let context = open.message.terms.priority == Priority::Startup;
        let limit = if context { limit.min(start_plan::MAX_CONTEXT) } else { limit };
        let text = open.text.as_str();
        if text.len() > limit {
            return Some(Detour::TooLong(limit));
        }
        // Without brackets every line end would be an Enter.
        let broken = !bracketed && self.outbox.policy.raw_only && text.contains('\n');
        broken.then_some(Detour::NoBrackets)
    }

    /// Has a text put into a file; a line that says where is typed instead.
    fn store_body(&mut self, order: u64, why: Detour) {
        let Some(open) = self.outbox.open.get_mut(&order) else { return };
        open.delivery.postpone();
        open.file = BodyFile::Storing(why);
        let (id, text) = (open.message.id.clone(), open.plain.to_string());
        self.push(Effect::StoreBody { order, id, text });
    }

    /// A text is in a file, or could not be put there.
    pub(crate) fn on_body_stored(&mut self, order: u64, stored: Result<StoredBody, String>) {
        let Some(open) = self.outbox.open.get_mut(&order) else { return };
        match stored {
            Ok(StoredBody { path, line }) => {
                let why = if let BodyFile::Storing(why) = open.file { Some(why) } else { None };
                open.plain = line;
                open.file = BodyFile::Stored { path, why };
                open.configure(&self.profile.agent.preset.input);
                self.note(Note::Deliver);
            }
            Err(error) => {
                // As it is, it would be cut, or every line of it be a prompt.
                let reason = format!("it has to go by file, and the file cannot be written: {error}");
                self.escalate(order, true);
                self.give_up(order, MessageState::Failed, reason);
            }
        }
    }

    /// The holder told about its terminal.
    pub(crate) fn on_inspected(&mut self, status: TerminalStatus) {
        self.answer_inspectors(Some(status));
        self.inspected_for_dialog(status.pending, status.written);
        self.inspected_for_interrupt(status.pending);
        let Some(order) = self.outbox.inspecting.take() else { return };
        // Where a composer is known, its sight tells whose terminal it is.
        let names = &self.profile.agent.preset.input.key_driven;
        if !names.is_empty() && !self.profile.book.knows_composer() && self.pid.is_some() {
            let (group, names) = (status.foreground, names.clone());
            self.inspected = Some((order, status));
            self.push(Effect::FindKeyDriven { group, names });
        } else {
            self.outbox.taken = false;
            self.terminal_inspected(order, status);
        }
    }

    /// It is known whether a program that takes keys for commands has the terminal.
    pub(crate) fn on_key_driven(&mut self, taken: bool) {
        if let Some((order, status)) = self.inspected.take() {
            self.outbox.taken = taken;
            self.terminal_inspected(order, status);
        }
    }

    fn terminal_inspected(&mut self, order: u64, status: TerminalStatus) {
        let TerminalStatus { canonical: cooked, pending, written: drawn, .. } = status;
        if status.messages < self.outbox.last_written {
            // It is the answer to a question that was asked before the last write.
            self.outbox.inspecting = Some(order);
            return self.inspect();
        }
        let pending = if self.guards(crate::Safeguard::UnreadIsNotMissing) { pending } else { 0 };
        self.note(Note::Delivery(order, Event::Inspected { cooked, pending, drawn }));
    }

    /// When something is due for a delivery.
    pub(crate) fn delivering_until(&self) -> Option<Steady> {
        // Until it is known what was typed, and when nothing will be any more, nothing is decided.
        if !self.outbox.settled_in || self.life.is_ending() {
            return None;
        }
        let expiry = self.outbox.next_expiry().map(|at| self.now.steady_until(at));
        let expiry = expiry.into_iter().chain(self.windows_until());
        // What the store does not take has a time of its own.
        self.outbox.deadline().into_iter().chain(expiry).min().filter(|_| !self.is_store_stuck())
    }

    /// The program has ended: nothing that waits will be typed.
    pub(crate) fn end_messages(&mut self) {
        let orders: Vec<u64> = self.outbox.open.keys().copied().collect();
        for order in orders {
            let Some(open) = self.outbox.open.get(&order) else { continue };
            if open.message.terms.raw {
                self.give_up(order, MessageState::Failed, "the program has ended".into());
            } else {
                self.step_delivery(order, Event::Looked);
            }
        }
    }
}

impl Open {
    /// Takes note of what the agent shows in place of the text.
    pub(crate) fn set_mark(&mut self, mark: Option<String>) {
        if self.message.mark != mark {
            self.message.mark.clone_from(&mark);
            self.body = std::mem::replace(&mut self.body, Body::new("")).marked(mark);
        }
    }

    pub(crate) fn forget_proofs(&mut self) {
        self.message.proof = Proof::Queued;
        self.message.evidence.clear();
        self.message.terms.way = StartupRoute::Message;
    }

    /// Whether an agent has to know it, by whatever way. What it asked for itself it can ask for again.
    pub(crate) fn is_essential(&self) -> bool {
        let terms = &self.message.terms;
        !terms.raw
            && terms.sender != crate::agent_speech::WISH
            && terms.sender != crate::escalating::NOTICE
            && (terms.ack || terms.priority == Priority::Startup)
    }
}

/// Whether a delivery may want to type because of this.
fn may_type(event: Event, delivery: &Delivery) -> bool {
    match event {
        Event::Looked | Event::Inspected { .. } => true,
        Event::Taken => delivery.attempts() > 0,
        Event::Typed | Event::Refused | Event::Reported { .. } | Event::TurnBegan => false,
    }
}

/// Whether this is what became of the write under way.
fn is_answer(event: Event) -> bool {
    matches!(event, Event::Typed | Event::Refused)
}
