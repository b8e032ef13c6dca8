//! Whether the agent has read the last write, and done anything since.

use std::time::Duration;

use super::{Action, ComposerView, Delivery, Event, HoldReason, Shape, Stage, View};
use crate::Steady;

/// What the agent is known to have done since the last write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Reading {
    /// When it was first seen to have read everything, and how much it had drawn until then.
    read: Option<(Steady, u64)>,
    /// Since when a complete frame stands that it drew afterwards.
    drawn: Option<Steady>,
    /// The text was seen.
    shown: bool,
    /// When the terminal is asked, if not a moment after the write.
    ask_at: Option<Steady>,
    /// The terminal was asked, and has not answered.
    asking: bool,
    /// When bytes were last typed as they are, and whether that was behind the last write.
    raw: Option<Steady>,
    overtyped: bool,
    /// The shape of the composer when Enter was pressed.
    shape: Option<Shape>,
}

impl Reading {
    pub(super) fn is_read(&self) -> bool {
        self.read.is_some()
    }

    pub(super) fn read_at(&self) -> Steady {
        self.read.map_or(Steady(0), |(at, _)| at)
    }

    /// Since when a frame stands that the agent drew after it had read the last write.
    pub(super) fn drawn_since(&self) -> Option<Steady> {
        self.drawn
    }

    /// Whether a text that is not there will not be: it was there, and the agent drew without it; or the agent drew, and
    /// did so again so much later. What it has read and not shown by then it will not show.
    pub(super) fn is_gone(&self, lasting: Duration, view: &View) -> bool {
        self.drawn.is_some_and(|drawn| self.shown || view.changed >= drawn.plus(lasting))
    }

    /// Whether something else was typed behind the last write, and what that did is not seen yet.
    pub(super) fn is_overtyped(&self) -> bool {
        self.overtyped && self.drawn.is_none()
    }

    /// What was asked is not answered, or the answer is of no use.
    pub(super) fn ask_again(&mut self) {
        self.asking = false;
    }

    /// Enter is about to be pressed.
    pub(super) fn enter(&mut self, view: &View) {
        self.shape = view.shape.filter(|_| view.sight == ComposerView::Ours);
    }
}

impl Delivery {
    /// Keeps what an event tells about the last write.
    pub(super) fn follow_reading(&mut self, event: Event, view: &View, now: Steady) {
        let reading = &mut self.reading;
        match event {
            // What a key makes of the composer is held against how it was before.
            Event::Typed => *reading = Reading { shape: reading.shape, raw: view.raw, ..Reading::default() },
            Event::Inspected { .. } => reading.asking = false,
            _ => {}
        }
        let (looking, confirming) =
            (matches!(self.stage, Stage::Looking { .. } | Stage::Seen { .. }), self.is_confirming());
        let reading = &mut self.reading;
        let since = match self.stage {
            Stage::Looking { since } | Stage::Confirming { since, .. } => Some(since),
            Stage::Seen { enter_at } => Some(enter_at),
            _ => None,
        };
        if view.raw > reading.raw && since.is_some_and(|since| view.raw >= Some(since)) {
            // They are read behind the last write: what that did shows in what is drawn behind them.
            let (asking, shown) = (reading.asking, reading.shown);
            let ask_at = view.raw.map(|raw| raw.plus(self.policy.read_delay));
            *reading =
                Reading { raw: view.raw, overtyped: true, ask_at, asking, shown, ..Reading::default() };
        }
        let written = since.map(|since| if reading.overtyped { reading.raw.unwrap_or(since) } else { since });
        if let (Event::Inspected { pending: 0, drawn, .. }, Some(written)) = (event, written)
            // A terminal is a moment behind what was written to it.
            && now >= written.plus(self.policy.read_delay)
        {
            reading.read.get_or_insert((now, drawn));
        }
        // A text that is shown was read.
        if looking && view.sight == ComposerView::Ours {
            reading.shown = true;
            if !reading.overtyped {
                reading.read.get_or_insert((now, view.drawn));
            }
        }
        let broken = view.shape.zip(reading.shape).is_some_and(|(shape, before)| shape.is_broken(before));
        // Nobody else typed: our Enter became a line break.
        if confirming && view.current && view.sight == ComposerView::Ours && broken {
            reading.read.get_or_insert((now, view.drawn));
            reading.drawn.get_or_insert(now);
        }
        if view.current && reading.read.is_some_and(|(_, drawn)| view.drawn > drawn) {
            reading.drawn.get_or_insert(now);
        }
    }

    /// Asks the terminal whether the program has read everything; as long as it has not, ever less often.
    pub(super) fn ask_whether_read(&mut self, since: Steady, event: Event, now: Steady) -> Vec<Action> {
        if let Event::Inspected { pending, .. } = event {
            let pause = (now.since(since) / 4).clamp(self.policy.enter_again, self.policy.patience() / 2);
            self.reading.ask_at = Some(now.plus(pause));
            if pending > 0 && now >= since.plus(self.policy.look) {
                self.shut = Some(HoldReason::Unread);
            }
        }
        let ask_at = self.reading.ask_at.unwrap_or(since.plus(self.policy.read_delay));
        if self.reading.asking {
            return Vec::new();
        }
        if now < ask_at {
            return self.come_back(ask_at);
        }
        self.reading.asking = true;
        vec![Action::Inspect]
    }

    /// Nothing is to be done before then.
    pub(super) fn come_back(&mut self, at: Steady) -> Vec<Action> {
        self.deadline = Some(at);
        Vec::new()
    }
}
