//! Writes: recorded, typed through the holder's ledger, settled by its answer.

use ostler_agents::Prompt;
use ostler_core::delivery::{Action, Delivery, Event, ProofEvidence, Write};
use ostler_core::lifecycle::Phase;
use ostler_core::message::MessageState;
use ostler_core::typing::{self, Failure, Frame, Settled};
use ostler_core::{Proof, detector};

use crate::change::Change;
use crate::effect::{Effect, Lane, Log, Request};
use crate::keys;
use crate::note::{Note, Stepped, Then};
use crate::outbox::UnderWay;
use crate::session::Session;

impl Session {
    /// Records a step that ends with a write; it is taken when that is recorded.
    pub(crate) fn begin_write(&mut self, order: u64, write: Write, stepped: Delivery, actions: &[Action]) {
        let seen = |action: &Action| matches!(action, Action::Prove(_, ProofEvidence::Composer));
        let evidence = |action: &Action| match action {
            Action::Prove(proof, because) => Some((*proof, self.evidence(order, *because))),
            _ => None,
        };
        let proofs: Vec<(Proof, String)> = actions.iter().filter_map(evidence).collect();
        let missed = actions.contains(&Action::Missed);
        let screen = &self.terminal.screen;
        let (modes, input) = (screen.modes(), &self.profile.agent.preset.input);
        let Some(open) = self.outbox.open.get(&order) else { return };
        let (mut echoes, mut prompt) = (open.echoes, open.prompt.clone());
        let bytes = match write {
            Write::Enter => keys::bytes(&["enter".to_owned()], &modes),
            Write::Clear => keys::bytes(&input.clear, &modes),
            Write::Interrupt => keys::bytes(&input.interrupt, &modes),
            Write::Body => {
                echoes = self.echoes(open, self.composer_top());
                prompt = stepped.is_blind().then(|| Prompt::at_cursor(screen));
                open.text.paste(modes.bracketed_paste)
            }
        };
        let id = open.message.id.clone();
        let mark = if actions.iter().any(seen) { self.mark_of(order) } else { open.message.mark.clone() };
        let mut changes = Vec::new();
        if missed {
            changes.push(Change::Missed { id: id.clone() });
        }
        for (proof, evidence) in &proofs {
            let (id, evidence) = (id.clone(), evidence.clone());
            changes.push(Change::Proven { id, proof: *proof, evidence, last: false });
        }
        let step = Stepped { order, delivery: Some(stepped), proofs, missed, echoes, prompt, mark };
        self.offer_write(step, Some(write), bytes, changes);
    }

    /// Records that something is about to be typed; nothing is before it is recorded.
    fn offer_write(&mut self, step: Stepped, write: Option<Write>, bytes: Vec<u8>, mut changes: Vec<Change>) {
        let order = step.order;
        let Some(open) = self.outbox.open.get(&order) else { return };
        let seq = self.outbox.number(order, write);
        changes.push(Change::WriteBegun {
            id: open.message.id.clone(),
            seq,
            write: write.map_or("raw", Write::as_str),
            echoes: u32::try_from(step.echoes).unwrap_or(u32::MAX),
            mark: step.mark.clone(),
        });
        self.outbox.take_in_hand(order);
        self.outbox.under_way = Some(UnderWay { seq, order, write, bytes });
        self.intend(changes, Then::Stepped(Box::new(step)), Some(Then::NotStepped { order }));
    }

    /// The write is recorded: it is made.
    pub(crate) fn on_stepped(&mut self, step: Stepped) {
        let Stepped { order, delivery, proofs, missed, echoes, prompt, mark } = step;
        let Some(UnderWay { seq, write, bytes, .. }) = self.outbox.under_way.clone() else { return };
        let enter = write == Some(Write::Enter) || (write.is_none() && bytes.contains(&b'\r'));
        // Keys alone are no draft.
        if write.is_none() && bytes.iter().any(|byte| !byte.is_ascii_control()) {
            self.human.touch(self.now.steady);
        }
        if write.is_none() {
            self.human.note_raw(self.now.steady);
            if enter {
                self.human.note_enter(self.now.steady);
            }
        }
        let again = self.outbox.number(order, write) != self.outbox.last_input + 1;
        self.outbox.use_number(seq, order);
        if let Some(open) = self.outbox.open.get_mut(&order) {
            let counts = matches!(write, None | Some(Write::Body));
            if !again {
                open.message.attempts += u32::from(counts);
                open.message.enters = if counts { 0 } else { open.message.enters + u32::from(enter) };
            }
            if let Some(delivery) = delivery {
                open.delivery = delivery;
            }
            if missed {
                open.forget_proofs();
            }
            (open.echoes, open.prompt) = (echoes, prompt);
            open.set_mark(mark);
            // From here on, for what follows may be seen before the holder's answer is.
            if enter {
                open.entered = Some(self.now.steady);
            }
        }
        for (proof, evidence) in proofs {
            if let Some(message) = self.apply_proof(order, proof, evidence) {
                self.notify_waiters(&message);
            }
        }
        if enter {
            self.conversation.summary.was_given();
            self.note_prompt();
            if let Some(terms) = self.outbox.open.get(&order).map(|open| open.message.terms.clone()) {
                self.carry_on_prompted(&terms, false);
            }
        }
        let actions = self.typing.message(seq);
        self.note(Note::Typing(actions));
        self.note(Note::Detect(detector::Event::Typed { enter }));
    }

    /// The write could not be recorded, so it is not made.
    pub(crate) fn on_not_stepped(&mut self, order: u64) {
        self.outbox.under_way = None;
        if let Some(open) = self.outbox.open.get_mut(&order) {
            open.delivery.postpone();
        }
    }

    /// Does what the order of input says.
    pub(crate) fn perform_typing(&mut self, actions: Vec<typing::Action>) {
        for action in actions {
            match action {
                typing::Action::Offer(frame) => self.offer(frame),
                typing::Action::Settle(seq, settled) => self.note(Note::Settled(seq, settled)),
                typing::Action::StandDown => {
                    let warning = "a newer daemon has the session".to_owned();
                    self.push(Effect::Log(Log::Warning(warning)));
                    self.life.stood_down = true;
                }
            }
        }
    }

    fn offer(&mut self, frame: Frame) {
        let (lane, seq, bytes) = match frame {
            Frame::Reply { seq, bytes } => (Lane::Reply, seq, bytes),
            Frame::Keys { seq, bytes } => (Lane::Keys, seq, bytes),
            Frame::Message { seq } => match &self.outbox.under_way {
                Some(under_way) if under_way.seq == seq => (Lane::Message, seq, under_way.bytes.clone()),
                _ => {
                    // A write that nobody asked for.
                    let nothing = self.typing.answered(typing::Answer::Full, self.now.steady);
                    debug_assert!(nothing.is_empty());
                    return;
                }
            },
        };
        self.request(Request::Input { lane, seq, bytes });
    }

    /// The holder said what became of a write.
    pub(crate) fn on_settled(&mut self, seq: u64, settled: Settled) {
        let Some(under_way) = self.outbox.under_way.take_if(|under_way| under_way.seq == seq) else {
            return;
        };
        let written = matches!(settled, Settled::Written { .. });
        let UnderWay { order, write, .. } = under_way;
        if written {
            self.outbox.last_written = seq;
            self.record_lazily(Change::WriteEnded { seq });
        }
        match write {
            None => {
                self.settle_raw(order, seq, settled);
                // A prompt may have waited for it.
                self.note(Note::Deliver);
            }
            Some(_) if written => self.note(Note::Delivery(order, Event::Typed)),
            Some(_) => {
                self.outbox.why_refused = Some(refusal(settled));
                self.note(Note::Delivery(order, Event::Refused));
            }
        }
    }

    /// Types the bytes that wait to be typed as they are.
    pub(crate) fn type_raw(&mut self) {
        if !matches!(self.life.lifecycle.phase(), Phase::Attached) || self.is_store_stuck() {
            return;
        }
        if let Some(order) = self.outbox.next_raw(self.now.steady)
            && let Some(open) = self.outbox.open.get(&order)
            && let Some(bytes) = open.raw.clone()
        {
            let (echoes, prompt, mark) = (open.echoes, open.prompt.clone(), open.message.mark.clone());
            let step =
                Stepped { order, delivery: None, proofs: Vec::new(), missed: false, echoes, prompt, mark };
            self.offer_write(step, None, bytes, Vec::new());
        }
    }

    fn settle_raw(&mut self, order: u64, seq: u64, settled: Settled) {
        // Not typed again, also while the store does not take what became of it.
        if let Some(open) = self.outbox.open.get_mut(&order) {
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
            Ok(evidence) => self.prove(order, Proof::Written, evidence),
            Err(failure) => self.give_up(order, MessageState::Failed, failure.to_owned()),
        }
    }
}

/// Why the terminal did not take a write.
fn refusal(settled: Settled) -> &'static str {
    match settled {
        Settled::Failed(Failure::ProgramEnded) => "the program has ended",
        Settled::Failed(Failure::LineTooLong) => {
            "the terminal is in cooked mode and keeps 4095 bytes of a line; send shorter lines"
        }
        Settled::Failed(Failure::Unknown) => "its holder was killed; whether it was typed is not known",
        Settled::Failed(Failure::Damaged) => "the bytes did not arrive whole",
        Settled::Written { .. } => "",
    }
}
