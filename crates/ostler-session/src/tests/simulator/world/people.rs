//! People and clients.

use ostler_core::Proof;
use ostler_core::dialog::Policy;
use ostler_core::message::Message;

use super::super::plan::DAY;
use super::{Happening, LONG, Promised, Sent, World};
use crate::Session;
use crate::effect::Answer;
use crate::event::{AnswerCommand, Command, Event, Send, Ticket};

impl World {
    pub(super) fn ticket(&mut self, of: String) -> Ticket {
        self.last_ticket += 1;
        let ticket = Ticket(self.last_ticket);
        self.tickets.insert(ticket, of);
        ticket
    }

    pub(super) fn send(&mut self, at: usize) {
        let listens = self.session.as_ref().is_some_and(Session::listens);
        let Sent { id, body, terms, .. } = self.plan.sends[at].clone();
        if !listens {
            return self.schedule(self.now + 40, Happening::Send(at));
        }
        let known = self.store.message(&id).map(|(message, _)| (message.clone(), true));
        let queued = Some(self.ticket(id.clone()));
        let any = *self.rng.choice(&[Proof::Written, Proof::Seen, Proof::Submitted]).unwrap();
        let wants = self.plan.wants.unwrap_or(any);
        let waiter = Some((wants, self.ticket(id.clone())));
        let send = Send { id: id.clone(), body: body.into_bytes(), terms, known, queued, waiter };
        self.hand(Event::Command(Command::Send(Box::new(send))));
        // A client whose daemon dies, or whose message is refused, asks again.
        if self.store.message(&id).is_none() && self.agent.ended.is_none() {
            self.schedule(self.now + 400, Happening::Send(at));
        }
    }

    pub(super) fn interrupt(&mut self) {
        if self.session.as_ref().is_some_and(Session::listens) {
            self.narrate("somebody wants the turn stopped");
            let ticket = self.ticket("interrupt".into());
            let patience = std::time::Duration::from_secs(10);
            self.hand(Event::Command(Command::Interrupt { patience, ticket }));
        }
    }

    /// Somebody answers the dialog that they see, or tries again in a moment.
    pub(super) fn answer_dialog(&mut self, word: &str) {
        let Some(pending) = self.session.as_ref().and_then(Session::pending_dialog) else { return };
        self.narrate(format!("somebody answers dialog {} with {word:?}", pending.id));
        self.answered_at = Some(self.now);
        let ticket = self.ticket("answer".into());
        let first = self.first_dialog.get_or_insert_with(|| pending.id.clone()).clone();
        let (dialog, word) = match word.strip_prefix('=') {
            Some(word) => (first, word.to_owned()),
            None => (pending.id, word.to_owned()),
        };
        let command = AnswerCommand { dialog, word, own_words: false, always: false, ticket };
        self.hand(Event::Command(Command::AnswerDialog(command)));
    }

    pub(super) fn answer(&mut self, ticket: Ticket, answer: Answer) {
        let Some(id) = self.tickets.remove(&ticket) else { return };
        match answer {
            Answer::Interrupted(outcome) => return self.interrupted.push(outcome),
            Answer::Answered(answered) => return self.answers.push((answered.left, answered.pressed)),
            Answer::Refused(refusal) if id == "answer" => {
                self.narrate(format!("the answer is refused: {refusal:?}"));
                return self.answers.push((Some("refused"), false));
            }
            _ => {}
        }
        if let Answer::Message(view) = answer {
            let Message { proof, state, .. } = view.message;
            self.told.push(Promised { at: self.now, id, proof, state });
        }
    }

    /// A person sees to dialogs that nobody else answers, and in the end to drafts.
    pub(super) fn person(&mut self) {
        // Late in the day only now and then.
        let pause = if self.now < DAY { 500 } else { 30_000 };
        self.schedule(self.now + pause, Happening::Person);
        if self.session.as_ref().is_none_or(|session| !session.listens()) {
            return;
        }
        let waited = self.dialog_since.is_some_and(|since| self.now >= since + self.plan.answers_after)
            && self.answered_at.is_none_or(|at| self.now >= at + 6_000)
            && self.now >= self.agent.stalled_until
            // What a daemon that was killed has sent is there by then.
            && self.now >= self.killed_at + 4_000
            && self.agent.unread().is_empty();
        let alone = self.session.as_ref().is_some_and(|session| !session.is_answering());
        if waited && alone {
            let key = match self.agent.dialog() {
                Some("permission" | "question") => "1",
                // The arrow first, and Enter when it is seen to have worked: an agent may read both at once.
                Some("trust") if !self.shows("❯ Yes, I trust") => "\x1b[B",
                Some("trust" | "theme") => "\r",
                _ => return,
            };
            self.narrate(format!("a person answers with {key:?}"));
            self.answered_at = Some(self.now);
            self.hand(Event::Command(Command::Keys(key.as_bytes().to_vec())));
        }
        let last_keys = self.plan.keys.last().map_or(0, |(at, _)| *at);
        let idle = !self.agent.is_working() && self.agent.dialog().is_none();
        let early = (last_keys + 12_000..DAY).contains(&self.now);
        if self.healed && idle && early && self.now % 20_000 < 500 {
            // Whatever is left in the composer is taken out, as a person would who comes back to it.
            self.narrate("a person clears the composer");
            self.hand(Event::Command(Command::Keys(b"\x15".to_vec())));
        }
    }

    fn shows(&self, text: &str) -> bool {
        self.session.as_ref().is_some_and(|session| session.screen().text().contains(text))
    }

    /// Answers come from people, or from the policy.
    pub(super) fn answered_by(&mut self, kind: &str, choice: &str) {
        let by_person = self.answered_at.is_some_and(|at| self.now < at + 12_000 + LONG);
        let allowed = self.plan.policy == Policy::Allow && kind != "question"
            || kind == "trust" && self.plan.grants.folder;
        let wanted = match kind {
            "trust" => "Yes, I trust this folder",
            "theme" => "Light mode",
            _ => "Yes",
        };
        let by_message = self.agent.strays.last().is_some_and(|stray| stray.at == self.now);
        // Keys of messages have a verdict of their own.
        let meant = by_person || by_message || (allowed && choice == wanted);
        if !meant && self.plan.keys.is_empty() {
            self.complaints.push(format!("the {kind} dialog was answered with {choice:?} by nobody"));
        }
    }
}
