//! What is proven of messages: recorded, then told; and other ways for what cannot be typed.

use std::time::Duration;

use ostler_agents::Likeness;
use ostler_core::delivery::{Event, ProofEvidence, Witness};
use ostler_core::message::{Message, MessageState};
use ostler_core::start_plan::StartupRoute;
use ostler_core::{Proof, Steady};

use crate::Safeguard;
use crate::change::Change;
use crate::effect::{Answer, Effect, Escalation};
use crate::note::{Note, Then};
use crate::outbox::Open;
use crate::session::Session;

/// What an agent says of a prompt that it took, it says within this.
const SOON: Duration = Duration::from_secs(5);

impl Session {
    /// The agent says which prompt it took.
    pub(crate) fn on_prompt_taken(&mut self, by: Witness, text: Option<&str>) {
        if by == Witness::Hook {
            self.note_turn_began();
        }
        let Some(text) = text else { return };
        let Some(id) = self.outbox.meant(by, text) else { return };
        match self.outbox.compare(&id, text) {
            Likeness::Differs(how) if self.guards(Safeguard::WordForWord) => {
                return self.on_difference(&id, by, &how);
            }
            Likeness::Other => return,
            Likeness::Same | Likeness::Differs(_) => {}
        }
        if let Some(recent) = self.outbox.recent.iter_mut().find(|recent| recent.message.id == id) {
            recent.told.push(by);
            if recent.message.state != MessageState::Delivered {
                let evidence = self.evidence(0, ProofEvidence::Reported(by));
                self.prove_late(&id, Proof::Submitted, evidence);
            }
            return;
        }
        let Some(order) = self.outbox.find(&id).map(|open| open.message.seq) else { return };
        self.note(Note::Delivery(order, Event::Reported { by }));
        self.note(Note::Deliver);
    }

    /// The agent has taken something else than was sent. What another witness said word for word stands.
    fn on_difference(&mut self, id: &str, by: Witness, how: &str) {
        let evidence = match by {
            Witness::Hook => "hook: the agent took a different text",
            Witness::Transcript => "transcript: the agent took a different text",
        };
        let failure = format!("the agent took a different text than was sent: {how}");
        let order = self.outbox.find(id).map(|open| open.message.seq);
        let (now, human) = (self.now.steady, &self.human);
        // Later on it is about something else that somebody entered.
        let just_now = |entered: Steady| now.since(entered) <= SOON && !human.has_entered_since(entered);
        let recent = self.outbox.recent.iter_mut().find(|recent| recent.message.id == id);
        let recent = recent.filter(|recent| recent.entered.is_some_and(just_now));
        let message = match (order.and_then(|order| self.outbox.open.get_mut(&order)), recent) {
            (Some(open), _) => &mut open.message,
            (None, Some(recent))
                if recent.told.is_empty() && recent.message.state != MessageState::Failed =>
            {
                &mut recent.message
            }
            _ => return,
        };
        message.evidence.push(evidence.into());
        (message.state, message.failure) = (MessageState::Failed, Some(failure.clone()));
        let mut message = message.clone();
        if let Some(order) = order {
            self.escalate(order, true);
            message = self.outbox.open.get(&order).map_or(message, Open::current);
            self.outbox.done_with(order, self.now);
            self.note_prompt_taken(true);
        }
        let change = Change::Differed { id: id.to_owned(), evidence: evidence.into(), failure };
        self.record_then(change, vec![Then::Tell(Box::new(message))]);
        self.note(Note::Deliver);
    }

    /// Records what is proven of a message, then tells those who wait for it.
    pub(crate) fn prove(&mut self, order: u64, proof: Proof, evidence: String) {
        self.prove_then(order, proof, evidence, Vec::new());
    }

    /// The same, with what follows then.
    pub(crate) fn prove_then(&mut self, order: u64, proof: Proof, evidence: String, mut then: Vec<Then>) {
        let Some(message) = self.apply_proof(order, proof, evidence.clone()) else { return };
        let last = message.state == MessageState::Delivered;
        let id = message.id.clone();
        let awaited = last || self.outbox.is_awaited(&id, proof) || !then.is_empty();
        let change = Change::Proven { id, proof, evidence, last };
        if !awaited {
            return self.record_lazily(change);
        }
        let got_through = (proof >= Proof::Submitted).then(|| Effect::GotThrough(Box::new(message.clone())));
        then.push(Then::Tell(Box::new(message)));
        then.extend(got_through.map(Then::Do));
        if self.guards(Safeguard::RecordedBeforeTold) {
            self.record_then(change, then);
        } else {
            self.tell_unrecorded(change, then);
        }
    }

    /// Takes note of what is proven of a message; one that nothing more is done for is done with.
    pub(crate) fn apply_proof(&mut self, order: u64, proof: Proof, evidence: String) -> Option<Message> {
        let now = self.now.wall;
        let open = self.outbox.open.get_mut(&order)?;
        let message = &mut open.message;
        message.proof = proof;
        message.evidence.push(evidence);
        if proof >= Proof::Submitted {
            message.submitted.get_or_insert(now);
        }
        let last = proof >= Proof::Submitted || message.terms.raw;
        if last {
            message.state = MessageState::Delivered;
            message.failure = None;
        }
        let message = open.current();
        let entered = open.entered.is_some() || message.terms.way != StartupRoute::Message;
        if last {
            self.outbox.done_with(order, self.now);
        }
        if proof >= Proof::Submitted {
            self.withdraw_notice(&message.id);
            self.outbox.contexts.note_given(&message.id);
            self.carry_on_prompted(&message.terms, true);
            self.note_prompt_taken(entered);
            if !message.terms.command {
                self.note_turn_began();
            }
        }
        Some(message)
    }

    /// Records what was learnt of a message after it was done with.
    pub(crate) fn prove_late(&mut self, id: &str, proof: Proof, evidence: String) {
        let now = self.now.wall;
        let Some(recent) = self.outbox.recent.iter_mut().find(|recent| recent.message.id == id) else {
            return;
        };
        let message = &mut recent.message;
        if message.proof < proof {
            message.proof = proof;
            message.evidence.push(evidence.clone());
            message.submitted.get_or_insert(now);
        }
        (message.state, message.failure) = (MessageState::Delivered, None);
        let message = Box::new(message.clone());
        self.outbox.contexts.note_given(id);
        let then = vec![Then::Tell(message.clone()), Then::Do(Effect::GotThrough(message))];
        self.record_then(Change::ProvenLate { id: id.to_owned(), proof, evidence }, then);
    }

    /// Records that nothing more is done for a message, then tells those who wait for it.
    pub(crate) fn give_up(&mut self, order: u64, state: MessageState, failure: String) {
        let Some(open) = self.outbox.open.get_mut(&order) else { return };
        open.message.state = state;
        open.message.failure = Some(failure.clone());
        let message = open.current();
        self.outbox.done_with(order, self.now);
        self.carry_on_gave_up(&message.terms);
        let change = Change::GivenUp { id: message.id.clone(), state, failure };
        self.record_then(change, vec![Then::Tell(Box::new(message))]);
    }

    /// Tells those who wait for a message what is known of it now.
    pub(crate) fn notify_waiters(&mut self, message: &Message) {
        for ticket in self.outbox.take_answered(message) {
            let view = self.message_view(message);
            self.push(Effect::Answer(ticket, Answer::Message(Box::new(view))));
        }
    }

    /// A try has failed: what an agent has to know can be loaded after some, and goes into its instructions file.
    pub(crate) fn escalate(&mut self, order: u64, last: bool) {
        let Some(open) = self.outbox.open.get(&order).filter(|open| open.is_essential()) else { return };
        let failures = open.delivery.attempts().saturating_add(open.window.failures());
        if failures < self.profile.delivery.file_after.get() && !last {
            return;
        }
        let (id, text) = (open.message.id.clone(), open.plain.to_string());
        let notice = self.profile.delivery.notify.then(|| crate::escalating::notice_id(&id));
        self.push(Effect::Escalate(Escalation { id, text, notice }));
    }

    /// The agent may have a message, or nobody wants it to: nothing of it goes another way.
    pub(crate) fn withdraw(&mut self, order: u64) {
        if let Some(open) = self.outbox.open.get(&order).filter(|open| open.is_essential()) {
            let id = open.message.id.clone();
            self.push(Effect::Withdraw { id });
        }
    }

    /// Shows what is lost when something is told before it is recorded.
    pub(crate) fn tell_unrecorded(&mut self, change: Change, then: Vec<Then>) {
        self.record_lazily(change);
        for then in then {
            match then {
                Then::Tell(message) => self.notify_waiters(&message),
                Then::Do(effect) => self.push(effect),
                _ => {}
            }
        }
    }
}
