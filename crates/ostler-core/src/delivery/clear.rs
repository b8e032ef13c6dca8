//! Emptying the composer of what is ours.

use super::{Action, Delivery, Event, Shut, Sight, Stage, Up, View, Write};
use crate::Timestamp;

impl Delivery {
    pub(super) fn begin_clearing(&mut self, now: Timestamp) -> Vec<Action> {
        if !self.policy.can_clear {
            self.stage = Stage::Waiting { not_before: Timestamp(0) };
            return if self.attempts > 0 { self.give(Up::Mixed) } else { self.drafted(now) };
        }
        self.stage = Stage::Clearing { typed: None };
        vec![Action::Type(Write::Clear)]
    }

    fn drafted(&mut self, now: Timestamp) -> Vec<Action> {
        self.shut = Some(Shut::Draft);
        self.deadline = Some(now.plus(self.policy.look));
        Vec::new()
    }

    pub(super) fn clear(
        &mut self,
        typed: Option<Timestamp>,
        event: Event,
        view: &View,
        now: Timestamp,
    ) -> Vec<Action> {
        let Some(typed) = typed else {
            match event {
                Event::Typed => {
                    self.stage = Stage::Clearing { typed: Some(now) };
                    self.deadline = Some(now.plus(self.policy.rest));
                }
                Event::Refused => return self.give(Up::Refused),
                _ => {}
            }
            return Vec::new();
        };
        if view.sight == Sight::Empty {
            return if self.attempts > 0 { self.missing(now) } else { self.start_over(view, now) };
        }
        if now < typed.plus(self.policy.rest) {
            self.deadline = Some(typed.plus(self.policy.rest));
            return Vec::new();
        }
        if self.attempts > 0 {
            return self.give(Up::Mixed);
        }
        self.stage = Stage::Waiting { not_before: now.plus(self.policy.look) };
        self.drafted(now)
    }

    fn start_over(&mut self, view: &View, now: Timestamp) -> Vec<Action> {
        self.stage = Stage::Waiting { not_before: Timestamp(0) };
        self.wait(Timestamp(0), view, now)
    }
}
