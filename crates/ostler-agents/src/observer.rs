//! Output, rules and detector put together: the same for a live session and for a recording.

use std::sync::Arc;
use std::time::Duration;

use ostler_core::detector::{Action, Claim, Detector, Event, Expectations, Memory, Settings};
use ostler_core::{Asking, Steady};
use ostler_screen::{BlockKind, ProgramState, ProgramStatus, Screen, Signal};

use crate::picture::Picture;
use crate::{Agent, Composer, Reader, RuleBook, Timing};

/// A frame is complete when nothing was drawn for this long.
const FRAME_PAUSE: Duration = Duration::from_millis(30);
/// A screen that is drawn all the time is looked at this often.
const FRAME_LIMIT: Duration = Duration::from_millis(100);

/// Watches one session's output and says what the agent is doing.
#[derive(Debug)]
pub struct Observer {
    reader: Reader,
    picture: Picture,
    detector: Detector,
    /// What was drawn and not looked at.
    drawn: Option<Drawn>,
}

/// Output that was not looked at.
#[derive(Debug, Clone, Copy)]
struct Drawn {
    first: Steady,
    last: Steady,
    /// The program says that its frame is not complete.
    unfinished: bool,
}

impl Drawn {
    /// When to look: at the end of a frame, or when it takes too long.
    fn due(self) -> Steady {
        let limit = self.first.plus(FRAME_LIMIT);
        if self.unfinished { limit } else { limit.min(self.last.plus(FRAME_PAUSE)) }
    }
}

impl Observer {
    /// Begins with a program that was just started, or goes on where another observer left off.
    pub fn new(
        book: Arc<RuleBook>,
        settings: Settings,
        expectations: Expectations,
        memory: Option<Memory>,
        now: Steady,
    ) -> Self {
        let detector = match memory {
            Some(memory) => Detector::recovered(settings, expectations, memory, now),
            None => Detector::new(settings, expectations, now),
        };
        Self { reader: Reader::new(book), picture: Picture::default(), detector, drawn: None }
    }

    /// What the agent is doing, and what speaks for it.
    pub fn detector(&self) -> &Detector {
        &self.detector
    }

    /// The composer, as it was seen last.
    pub fn composer(&self) -> Option<&Composer> {
        self.reader.composer()
    }

    /// The row in which that begins which a rule saw at the last look.
    pub fn begins(&self, rule: &str) -> Option<u16> {
        self.reader.begins(rule)
    }

    /// Whether everything that was drawn was looked at.
    pub fn is_current(&self) -> bool {
        self.drawn.is_none()
    }

    /// Goes on with other rules.
    pub fn use_rules(
        &mut self,
        book: Arc<RuleBook>,
        settings: Settings,
        expectations: Expectations,
        now: Steady,
    ) {
        self.reader = Reader::new(book);
        self.detector.configure(settings, expectations);
        self.drawn = Some(Drawn { first: now, last: now, unfinished: false });
    }

    /// Takes in what the output said beside the picture, which is on the screen already.
    pub fn output(&mut self, screen: &mut Screen, signals: &[Signal], now: Steady) -> Vec<Action> {
        let first = self.drawn.map_or(now, |drawn| drawn.first);
        self.drawn = Some(Drawn { first, last: now, unfinished: screen.modes().synchronized });
        let mut actions = Vec::new();
        for signal in signals {
            if let Signal::ProgramStatus(status) = signal
                && status.id.is_none()
            {
                actions.extend(self.detector.handle(Event::Claimed(claim(status, self.reader.book())), now));
            }
        }
        actions
    }

    /// Takes in what does not come with the output.
    pub fn event(&mut self, event: Event, now: Steady) -> Vec<Action> {
        self.detector.handle(event, now)
    }

    /// When to come back with [`Observer::tick`].
    pub fn deadline(&self) -> Option<Steady> {
        // What time alone would tell waits for a frame that is being drawn.
        self.drawn.map(Drawn::due).or(self.detector.deadline())
    }

    /// Does what is due.
    pub fn tick(&mut self, screen: &mut Screen, now: Steady) -> Vec<Action> {
        let Some(drawn) = self.drawn else { return self.detector.handle(Event::Tick, now) };
        if now < drawn.due() {
            return Vec::new();
        }
        self.drawn = None;
        let mut actions = self.look(screen, drawn.last, now);
        actions.extend(self.detector.handle(Event::Tick, now));
        actions
    }

    fn look(&mut self, screen: &mut Screen, at: Steady, now: Steady) -> Vec<Action> {
        self.reader.look(screen);
        let mut actions = Vec::new();
        if self.picture.take(screen, self.reader.changed(), at, self.detector.is_at_rest()) {
            actions.extend(self.detector.handle(Event::Drawn { at }, now));
        }
        // What counts is whether the detector knows it: it forgets what it saw, and rules change.
        if !self.detector.has_looked() || self.reader.reading() != self.detector.reading() {
            actions.extend(self.detector.handle(Event::Read(self.reader.reading().clone()), now));
        }
        actions
    }
}

/// What a program's status claims; taking it back claims nothing.
fn claim(status: &ProgramStatus, book: &RuleBook) -> Option<Claim> {
    let background = || status.message.as_deref().is_some_and(|message| book.is_background_work(message));
    Some(match status.state {
        ProgramState::Idle => Claim::Idle,
        ProgramState::Working if background() => Claim::Watching,
        ProgramState::Working => Claim::Working,
        ProgramState::Done => Claim::Done,
        ProgramState::Error => Claim::Error,
        ProgramState::Blocked => Claim::Blocked(match status.kind {
            Some(BlockKind::Permission) => Asking::Permission,
            Some(BlockKind::Question) => Asking::Question,
            Some(BlockKind::Auth) => Asking::Auth,
            None => Asking::Dialog,
        }),
        ProgramState::Clear => return None,
    })
}

/// The settings for an agent: its own times where it has them.
pub fn settings_for(agent: &Agent, base: Settings) -> Settings {
    let Timing {
        idle_confirm_ms,
        certain_confirm_ms,
        startup_confirm_ms,
        startup_status_ms,
        noisy_idle_ms,
        submit_grace_ms,
        enter_grace_ms,
        interrupt_confirm_ms,
        end_confirm_ms,
        startup_deadline_ms,
    } = agent.preset.timing;
    Settings {
        idle_confirm_ms: idle_confirm_ms.unwrap_or(base.idle_confirm_ms),
        certain_confirm_ms: certain_confirm_ms.unwrap_or(base.certain_confirm_ms),
        startup_confirm_ms: startup_confirm_ms.unwrap_or(base.startup_confirm_ms),
        startup_status_ms: startup_status_ms.unwrap_or(base.startup_status_ms),
        noisy_idle_ms: noisy_idle_ms.unwrap_or(base.noisy_idle_ms),
        submit_grace_ms: submit_grace_ms.unwrap_or(base.submit_grace_ms),
        enter_grace_ms: enter_grace_ms.unwrap_or(base.enter_grace_ms),
        interrupt_confirm_ms: interrupt_confirm_ms.unwrap_or(base.interrupt_confirm_ms),
        end_confirm_ms: end_confirm_ms.unwrap_or(base.end_confirm_ms),
        startup_deadline_ms: startup_deadline_ms.unwrap_or(base.startup_deadline_ms),
        ..base
    }
}

#[cfg(test)]
mod tests;
