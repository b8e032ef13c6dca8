//! When a session has to look again, and what it does then.

use ostler_agents::Observer;
use ostler_core::{Steady, continuation, judge, lifecycle};

use crate::note::Note;
use crate::session::Session;

impl Session {
    /// When [`Event::Tick`](crate::Event::Tick) is due, if nothing else happens.
    pub fn deadline(&self) -> Option<Steady> {
        [
            self.life.lifecycle.deadline(),
            self.life.leave_at,
            self.life.end_waits_until(),
            self.typing.deadline(),
            self.terminal.save_due(),
            self.terminal.catching_up_until(),
            self.journal.deadline(),
            self.inspectors.first().map(|(until, _)| *until),
            self.observing_until(),
            self.delivering_until(),
            self.human.deadline(!self.outbox.open.is_empty()),
            self.answering_until(),
            self.by_hand_until(),
            self.interrupting_until(),
            self.judge.deadline(),
            self.stops.deadline(),
            self.carrying_on_until(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    pub(crate) fn on_tick(&mut self) {
        let now = self.now.steady;
        self.save_screen_if_due();
        if self.terminal.take_caught_up(now) {
            self.on_caught_up();
        }
        if self.observing_until().is_some_and(|at| now >= at) {
            self.observe(Observer::tick);
        }
        self.human.forget(now);
        if self.judge.deadline().is_some_and(|at| now >= at) {
            self.note(Note::Judge(judge::Event::Tick));
        }
        if self.stops.deadline().is_some_and(|at| now >= at) {
            self.look_for_stop();
        }
        if self.carrying_on_until().is_some_and(|at| now >= at) {
            self.look_for_words();
            self.note(Note::CarryOn(continuation::Event::Tick));
        }
        if self.life.leave_at.is_some_and(|at| now >= at) {
            // The holder had its time.
            self.life.leave_at = None;
            self.disconnect();
        }
        if self.inspectors.first().is_some_and(|(until, _)| now >= *until) {
            self.answer_inspectors(None);
        }
        if self.life.end_waits_until().is_some_and(|at| now >= at) {
            self.on_spool_heard();
        }
        // What was refused is offered again when this step is over.
        let _ = self.journal.take_retry(now);
        self.note(Note::Life(lifecycle::Event::Tick));
        let actions = self.typing.tick(now);
        self.note(Note::Typing(actions));
        self.note(Note::LookAtDialog);
        self.note(Note::Deliver);
    }
}
