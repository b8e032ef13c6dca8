//! A turn that somebody wants stopped.

use std::time::Duration;

use ostler_core::interrupt::{Action, Interrupt, Outcome, View};
use ostler_core::{Steady, continuation, detector};
use serde_json::json;

use crate::change::Change;
use crate::effect::{Answer, Effect};
use crate::event::Ticket;
use crate::keys;
use crate::note::Note;
use crate::refusal::Refusal;
use crate::session::Session;

/// A turn that is being stopped, and who waits for that.
#[derive(Debug)]
pub(crate) struct Interrupting {
    interrupt: Interrupt,
    tickets: Vec<Ticket>,
}

impl Session {
    /// Somebody wants the turn stopped. Who asks while it is being stopped is told what becomes of that.
    pub(crate) fn on_interrupt(&mut self, patience: Duration, ticket: Ticket) {
        let agent = &self.profile.agent;
        if agent.preset.input.interrupt.is_empty() {
            return self.refuse(vec![ticket], &Refusal::NoInterrupt { agent: agent.title().to_owned() });
        }
        if !self.life.abilities.keys {
            return self.refuse(vec![ticket], &Refusal::NoKeys);
        }
        if let Some(interrupting) = &mut self.interrupting {
            interrupting.tickets.push(ticket);
        } else {
            let interrupt = Interrupt::new(patience, self.now.steady);
            self.interrupting = Some(Interrupting { interrupt, tickets: vec![ticket] });
        }
        self.look_at_interrupt();
    }

    fn interrupt_view(&self) -> View {
        let quiet = self.observer.is_current() && !self.outbox.is_composing();
        View { state: self.described().0, quiet }
    }

    /// Looks whether the keys can be pressed, or what became of them.
    pub(crate) fn look_at_interrupt(&mut self) {
        let (view, now) = (self.interrupt_view(), self.now.steady);
        let action = self.interrupting.as_mut().and_then(|it| it.interrupt.look(view, now));
        self.act_on_interrupt(action);
    }

    /// The holder told how much of what was typed the program has not read.
    pub(crate) fn inspected_for_interrupt(&mut self, unread: u32) {
        let (view, now) = (self.interrupt_view(), self.now.steady);
        let action = self.interrupting.as_mut().and_then(|it| it.interrupt.inspected(unread, view, now));
        self.act_on_interrupt(action);
    }

    fn act_on_interrupt(&mut self, action: Option<Action>) {
        match action {
            Some(Action::Inspect) => self.inspect(),
            Some(Action::Press) => {
                let input = &self.profile.agent.preset.input;
                let bytes = keys::bytes(&input.interrupt, &self.terminal.screen.modes());
                let details = json!({ "keys": input.interrupt });
                self.record_note(Change::Event { event: "session.interrupting", details });
                self.note(Note::CarryOn(continuation::Event::TakenOver));
                if let Ok(actions) = self.typing.keys(&bytes) {
                    self.note(Note::Typing(actions));
                    self.note(Note::Detect(detector::Event::Typed { enter: false }));
                }
            }
            Some(Action::Finish(outcome)) => self.end_interrupt(outcome),
            None => {}
        }
    }

    fn end_interrupt(&mut self, outcome: Outcome) {
        let Some(Interrupting { tickets, .. }) = self.interrupting.take() else { return };
        if outcome.pressed() {
            let details = json!({ "outcome": outcome.as_str() });
            self.record_note(Change::Event { event: "session.interrupted", details });
        }
        for ticket in tickets {
            self.push_behind(Effect::Answer(ticket, Answer::Interrupted(outcome)));
        }
    }

    /// When the turn that is being stopped is to be looked at again, if nothing happens.
    pub(crate) fn interrupting_until(&self) -> Option<Steady> {
        self.interrupting.as_ref().and_then(|interrupting| interrupting.interrupt.deadline())
    }
}
