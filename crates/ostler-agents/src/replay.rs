//! The detector over a recording: offline, and the same every time.

use std::sync::Arc;
use std::time::Duration;

use ostler_core::Steady;
use ostler_core::detector::{Action, Event, Expectations, Settings, Verdict};
use ostler_screen::asciicast::{EventKind, Recording};
use ostler_screen::{Screen, Size};

use crate::{Observer, RuleBook};

/// The recording begins here; a detector knows no moment before it.
const ZERO: Steady = Steady(1_000_000);

/// How long a recording goes on in silence behind its last event.
const AFTERWARDS: Duration = Duration::from_mins(1);

/// A change of state in a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// When, from the begin of the recording.
    pub at: Duration,
    /// What the agent was doing from then on.
    pub verdict: Verdict,
}

/// Runs the detector over a recording and returns what it said.
pub fn replay(
    recording: &Recording,
    book: Arc<RuleBook>,
    settings: Settings,
    expectations: Expectations,
) -> Vec<Change> {
    let mut player = Player {
        screen: Screen::new(Size::clamped(recording.header.width, recording.header.height), 0),
        observer: Observer::new(book, settings, expectations, None, ZERO),
        changes: Vec::new(),
    };
    player.note(ZERO);
    for event in &recording.events {
        let now = ZERO.plus(event.at);
        player.run_until(now);
        player.play(&event.kind, now);
    }
    let end = recording.events.last().map_or(Duration::ZERO, |event| event.at);
    // Nothing more came for as long as anything was due, as far as the recording tells.
    player.run_until(ZERO.plus(end + AFTERWARDS));
    player.changes
}

struct Player {
    screen: Screen,
    observer: Observer,
    changes: Vec<Change>,
}

impl Player {
    /// Lets time pass: everything that falls due before `now` happens in its moment.
    fn run_until(&mut self, now: Steady) {
        while let Some(due) = self.observer.deadline().filter(|due| *due <= now) {
            let actions = self.observer.tick(&mut self.screen, due);
            self.perform(&actions, due);
        }
    }

    fn play(&mut self, kind: &EventKind, now: Steady) {
        let actions = match kind {
            EventKind::Output(text) => {
                let signals = self.screen.feed(text.as_bytes());
                self.observer.output(&mut self.screen, &signals, now)
            }
            EventKind::Input(text) => self.observer.event(Event::Typed { enter: text.contains('\r') }, now),
            EventKind::Resize { cols, rows } => {
                self.screen.resize(Size::clamped(*cols, *rows));
                self.observer.output(&mut self.screen, &[], now)
            }
            EventKind::Marker(_) | EventKind::Other { .. } => Vec::new(),
        };
        self.perform(&actions, now);
    }

    fn perform(&mut self, actions: &[Action], now: Steady) {
        if actions.contains(&Action::Announce) {
            self.note(now);
        }
    }

    fn note(&mut self, now: Steady) {
        let verdict = self.observer.detector().verdict().clone();
        self.changes.push(Change { at: now.since(ZERO), verdict });
    }
}

#[cfg(test)]
mod tests;
