//! Enter, and what became of it.

use super::kept::Kept;
use super::{Action, ComposerView, Delivery, Event, FailReason, Mode, ProofEvidence, Stage, View, Write};
use crate::{State, Steady};

impl Delivery {
    pub(super) fn enter(&mut self, enter_at: Steady, event: Event, view: &View, now: Steady) -> Vec<Action> {
        let blind = self.is_blind() && view.sight != ComposerView::Garbled;
        if view.sight != ComposerView::Ours && !blind {
            self.stage = Stage::Looking { since: now };
            return self.look(now, Event::Looked, view, now);
        }
        if let Err(shut) = view.situation.admits_enter() {
            self.shut = Some(shut);
            return Vec::new();
        }
        if self.reading.is_overtyped() {
            return self.await_drawing(enter_at, event, now);
        }
        let rested = if self.command { view.changed.plus(self.policy.command_rest) } else { Steady(0) };
        // A screen that is never at rest is not waited for.
        let due = enter_at.max(rested.min(enter_at.plus(self.policy.rest)));
        if now < due {
            return self.come_back(due);
        }
        self.press_enter(view)
    }

    fn press_enter(&mut self, view: &View) -> Vec<Action> {
        self.enters += 1;
        // Its own Enter looks like work, too: what counts is what the first one was typed into.
        let wanted = matches!(self.mode, Mode::Queue | Mode::Now);
        let busy = if self.enters == 1 { view.at_work } else { self.entered_busy };
        self.entered_busy = wanted && busy && view.situation.state == State::Working;
        self.stage = Stage::Entering;
        self.reading.enter(view);
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
            Event::Inspected { cooked: true, pending: 0, .. }
                if now >= since.plus(self.policy.enter_delay) =>
            {
                return self.submitted(ProofEvidence::LineRead);
            }
            Event::Inspected { cooked: false, pending: 0, .. } => {}
            Event::Inspected { .. } => {
                self.deadline = Some(now.plus((now.since(since) / 4).max(self.policy.enter_delay)));
                return Vec::new();
            }
            _ => return vec![Action::Inspect],
        }
        if !blind && !view.current {
            return Vec::new();
        }
        if self.command && view.refused {
            self.refused = true;
            // Some leave it in the composer, where it would be in the way.
            let stands = view.sight == ComposerView::Ours && view.situation.admits_enter().is_ok();
            return if stands { self.begin_clearing(view, now) } else { self.fail(FailReason::NotACommand) };
        }
        // While it is at work, its own words may be the same.
        let rested = matches!(self.mode, Mode::WhenIdle | Mode::Interrupt);
        if view.sight == ComposerView::Ours {
            self.stood = now;
            return if view.echoed && !view.repeated && rested && !blind {
                self.submitted(ProofEvidence::PutBack)
            } else {
                self.enter_again(since, event, view, now)
            };
        }
        // Of a turn that ran before, a dialog may hide the composer, and the text in it.
        let gone =
            blind || view.sight == ComposerView::Empty || (view.sight == ComposerView::Hidden && rested);
        // Where no composer is known, the text is also echoed while it stands in one.
        let stays = matches!(view.sight, ComposerView::Part | ComposerView::Garbled)
            || (blind && view.sight != ComposerView::Empty);
        // What its queue shows stands above its composer, too.
        let queued = self.entered_busy && view.keeps && !self.command;
        if queued && gone && view.at_work && !view.other_entered {
            return self.keep(Kept::by_agent(now), ProofEvidence::Kept);
        }
        let sign = if gone && view.at_work && !view.other_entered {
            Some(if self.entered_busy { ProofEvidence::Steered } else { ProofEvidence::WentToWork })
        } else if view.echoed && !stays && !queued {
            Some(ProofEvidence::Echoed)
        } else {
            Some(ProofEvidence::Emptied).filter(|_| gone && self.command && !view.other_entered)
        };
        if let Some(because) = sign {
            // An agent that names the prompts it takes gives the better proof, a moment later.
            let first = at_work.unwrap_or(now);
            // And some go to work to find out that they do not know a command.
            let awaits = if self.command { view.tells_refusals } else { view.tells_prompts };
            if !awaits || now >= first.plus(self.policy.word) {
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
        self.fail(FailReason::Uncertain)
    }

    /// Nothing says yet what became of what was typed.
    fn await_drawing(&mut self, since: Steady, event: Event, now: Steady) -> Vec<Action> {
        if !self.reading.is_read() {
            return self.ask_whether_read(since, event, now);
        }
        let until = self.doubtful(since);
        if now >= until { self.fail(FailReason::Uncertain) } else { self.come_back(until) }
    }

    /// The text still stands there: the Enter is unread, or was read and not looked at, or swallowed, or became a line
    /// break. Only the last two are reasons to press it again.
    fn enter_again(&mut self, since: Steady, event: Event, view: &View, now: Steady) -> Vec<Action> {
        if let Err(shut) = view.situation.admits_enter() {
            self.shut = Some(shut);
            return Vec::new();
        }
        let Some(drawn) = self.reading.drawn_since() else { return self.await_drawing(since, event, now) };
        // It may be at it, and show the text until it is done.
        let due = since.plus(self.policy.enter_pause(self.enters)).max(drawn.plus(self.policy.rest));
        if now < due {
            return self.come_back(due);
        }
        if self.enters >= self.policy.max_enters {
            return self.fail(FailReason::NotSubmitted);
        }
        self.press_enter(view)
    }
}
