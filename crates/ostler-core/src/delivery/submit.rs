//! Enter, and what became of it.

use std::time::Duration;

use super::{Action, Because, Delivery, Event, Mode, Sight, Stage, Up, View, Write};
use crate::Steady;

impl Delivery {
    pub(super) fn enter(&mut self, enter_at: Steady, view: &View, now: Steady) -> Vec<Action> {
        let blind = self.is_blind();
        if view.sight != Sight::Ours && !blind {
            self.stage = Stage::Looking { since: now, inspecting: false };
            return self.look(now, false, Event::Looked, view, now);
        }
        if let Err(shut) = view.situation.admits_enter() {
            self.shut = Some(shut);
            return Vec::new();
        }
        if now < enter_at {
            self.deadline = Some(enter_at);
            return Vec::new();
        }
        self.enters += 1;
        self.stage = Stage::Entering;
        vec![Action::Type(Write::Enter)]
    }

    pub(super) fn confirm(
        &mut self,
        since: Steady,
        at_work: Option<Steady>,
        event: Event,
        view: &View,
        now: Steady,
    ) -> Vec<Action> {
        let blind = self.is_blind();
        let asks = blind && !self.policy.raw_only;
        // A program of which nothing is known may read lines: its terminal tells what became of one.
        match event {
            _ if !asks => {}
            // The terminal is a moment behind what was written to it.
            Event::Inspected { cooked: true, pending: 0 } if now >= since.plus(self.policy.enter_delay) => {
                return self.submitted(Because::LineRead);
            }
            Event::Inspected { cooked: false, pending: 0 } => {}
            Event::Inspected { .. } => {
                self.deadline = Some(now.plus((now.since(since) / 4).max(self.policy.enter_delay)));
                return Vec::new();
            }
            _ => return vec![Action::Inspect],
        }
        if !blind && !view.current {
            return Vec::new();
        }
        // While it is at work, its own words may be the same.
        let rested = matches!(self.mode, Mode::WhenIdle | Mode::Interrupt);
        if view.sight == Sight::Ours {
            self.stood = now;
            return if view.echoed && !view.repeated && rested && !blind {
                self.submitted(Because::PutBack)
            } else {
                self.enter_again(since, event, view, now)
            };
        }
        // Of a turn that ran before, a dialog may hide the composer, and the text in it.
        let gone = blind || view.sight == Sight::Empty || (view.sight == Sight::Hidden && rested);
        // Where no composer is known, the text is also echoed while it stands in one.
        let stays = view.sight == Sight::Part || (blind && view.sight != Sight::Empty);
        let sign = if gone && view.at_work && !view.other_entered {
            Some(if self.mode == Mode::Queue { Because::Kept } else { Because::WentToWork })
        } else if view.echoed && !stays {
            Some(Because::Echoed)
        } else {
            Some(Because::Emptied).filter(|_| gone && self.command && !view.other_entered)
        };
        if let Some(because) = sign {
            // An agent that names the prompts it takes gives the better proof, a moment later.
            let first = at_work.unwrap_or(now);
            if !view.tells_prompts || self.command || now >= first.plus(self.policy.word) {
                return self.submitted(because);
            }
            self.stage = Stage::Confirming { since, at_work: Some(first) };
            self.deadline = Some(first.plus(self.policy.word));
            return Vec::new();
        }
        let rested = view.changed.plus(self.policy.rest).min(self.latest(since));
        // An agent that was slow to take it is as slow to go to work.
        let due = since.max(self.stood).plus(self.policy.confirm).max(rested);
        if now < due || view.situation.admits_enter().is_err() {
            self.shut = view.situation.admits_enter().err();
            self.deadline = Some(due).filter(|due| *due > now);
            return Vec::new();
        }
        // Enter was pressed, whatever stands there now.
        self.give(Up::Uncertain)
    }

    /// The text still stands there: the Enter was swallowed, or became a line break.
    fn enter_again(&mut self, since: Steady, event: Event, view: &View, now: Steady) -> Vec<Action> {
        if let Err(shut) = view.situation.admits_enter() {
            self.shut = Some(shut);
            return Vec::new();
        }
        let unmoved = if view.changed < since { self.policy.unmoved } else { Duration::ZERO };
        let due = since.plus(self.policy.enter_pause(self.enters).max(unmoved));
        if now < due {
            self.deadline = Some(due);
            return Vec::new();
        }
        match event {
            Event::Inspected { pending: 0, .. } => {}
            // It has not read the last one yet.
            Event::Inspected { .. } => {
                self.deadline = Some(now.plus(self.policy.enter_again));
                return Vec::new();
            }
            _ => return vec![Action::Inspect],
        }
        if self.enters >= self.policy.max_enters {
            return self.give(Up::NotSubmitted);
        }
        self.enters += 1;
        self.stage = Stage::Entering;
        vec![Action::Type(Write::Enter)]
    }
}
