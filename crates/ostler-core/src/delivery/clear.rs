//! Emptying the composer of what is ours.

use super::{Action, ComposerView, Delivery, Event, FailReason, HoldReason, Stage, View, Write};
use crate::{State, Steady};

impl Delivery {
    pub(super) fn begin_clearing(&mut self, view: &View, now: Steady) -> Vec<Action> {
        if !self.policy.can_clear {
            self.stage = Stage::Waiting { not_before: Steady(0) };
            return if self.attempts > 0 { self.fail(self.mixed()) } else { self.drafted(now) };
        }
        if self.policy.clear_stops && view.situation.state == State::Working {
            // A part of it is there, and no other message may come between.
            self.stage = match self.stage {
                looking @ Stage::Looking { .. } => looking,
                _ => Stage::Waiting { not_before: Steady(0) },
            };
            self.shut = Some(HoldReason::Working);
            return Vec::new();
        }
        self.stage = Stage::Clearing { typed: None };
        vec![Action::Type(Write::Clear)]
    }

    fn drafted(&mut self, now: Steady) -> Vec<Action> {
        self.shut = Some(HoldReason::Draft);
        self.deadline = Some(now.plus(self.policy.look));
        Vec::new()
    }

    pub(super) fn clear(
        &mut self,
        typed: Option<Steady>,
        event: Event,
        view: &View,
        now: Steady,
    ) -> Vec<Action> {
        let Some(typed) = typed else {
            let typed = Stage::Clearing { typed: Some(now) };
            return self.await_keys(event, typed, now.plus(self.policy.rest));
        };
        if view.sight == ComposerView::Empty {
            return if self.attempts > 0 { self.missing(now) } else { self.start_over(view, now) };
        }
        if now < typed.plus(self.policy.rest) {
            self.deadline = Some(typed.plus(self.policy.rest));
            return Vec::new();
        }
        if self.attempts > 0 {
            return self.fail(self.mixed());
        }
        self.stage = Stage::Waiting { not_before: now.plus(self.policy.look) };
        self.drafted(now)
    }

    /// Why a text cannot be entered that stands there otherwise than it was typed.
    fn mixed(&self) -> FailReason {
        match (self.refused, self.garbled) {
            (true, _) => FailReason::NotACommand,
            (false, true) => FailReason::Garbled,
            (false, false) => FailReason::Mixed,
        }
    }

    fn start_over(&mut self, view: &View, now: Steady) -> Vec<Action> {
        self.stage = Stage::Waiting { not_before: Steady(0) };
        self.wait(Steady(0), view, now)
    }
}
