//! The stand-in's state and how time and events change it.
//!
//! Keys are in `keys.rs`, messages and turns in `conversation.rs`.

use std::collections::VecDeque;
use std::time::Duration;

use super::composer::Composer;
use super::decode::Decoder;
use super::event::{Effect, Ending, Event};
use super::frame::{Frame, Size};
use super::menu::{Menu, MenuKind};
use super::options::{Options, StatusMode};
use super::playbook::Playbook;
use super::record::Record;
use super::turn::{Outcome, Turn};
use super::{signals, view};

/// What the stand-in is busy with.
#[derive(Debug)]
pub(super) enum Phase {
    /// Nothing on the screen yet.
    Blank { until: Duration },
    /// A start-up dialog.
    Greeting(Menu),
    /// The prompt, after a turn that ended so.
    Idle { outcome: Outcome },
    /// A turn runs.
    Working(Turn),
    /// A turn waits for the answer to a dialog.
    Asking { turn: Turn, menu: Menu },
    /// It looks busy with a message it never took.
    Lying { since: Duration },
}

/// A paragraph of the transcript.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Block {
    Prompt(String),
    Reply(String),
    Call(String),
    Note(String),
    Error(String),
}

/// How long it says that it ignored a key.
const REFUSAL: Duration = Duration::from_secs(5);

/// How long a lie is kept up.
const LIE: Duration = Duration::from_secs(3);

/// The stand-in agent without its terminal.
#[derive(Debug)]
pub struct App {
    pub(super) options: Options,
    pub(super) composer: Composer,
    pub(super) phase: Phase,
    pub(super) transcript: Vec<Block>,
    pub(super) queue: VecDeque<String>,
    /// The time of the event being handled.
    pub(super) now: Duration,
    /// Until when a second Ctrl-C exits.
    pub(super) exit_armed: Option<Duration>,
    pub(super) decoder: Decoder,
    /// When a waiting ESC becomes the Esc key.
    pub(super) escape_due: Option<Duration>,
    pub(super) received: u64,
    pub(super) last_text: Option<Duration>,
    pub(super) enters_to_swallow: u32,
    /// When it ignored a key, as long as it says so.
    pub(super) refused: Option<Duration>,
    /// Whether a permission was given for good.
    pub(super) always_allowed: bool,
    /// Whether program status may be reported.
    pub(super) status_on: bool,
    pub(super) playbook: Playbook,
    startup: VecDeque<MenuKind>,
    last_title: String,
    last_status: String,
    pub(super) effects: Vec<Effect>,
    ended: bool,
}

impl App {
    /// Builds a stand-in that waits for [`Event::Started`].
    pub fn new(options: Options, playbook: Playbook) -> Self {
        let dialogs = [
            (options.startup.theme_dialog, MenuKind::Theme),
            (options.startup.trust_dialog, MenuKind::Trust),
        ];
        let mut composer = Composer::default();
        composer.push(options.look.draft.as_deref().unwrap_or_default(), Duration::ZERO);
        Self {
            composer,
            phase: Phase::Blank { until: options.startup.ready_after + options.startup.flash },
            transcript: Vec::new(),
            queue: VecDeque::new(),
            now: Duration::ZERO,
            exit_armed: None,
            decoder: Decoder::default(),
            escape_due: None,
            received: 0,
            last_text: None,
            enters_to_swallow: options.input.swallow_enter,
            refused: None,
            always_allowed: false,
            status_on: options.look.status == Some(StatusMode::Always),
            playbook,
            startup: dialogs.into_iter().filter_map(|(wanted, kind)| wanted.then_some(kind)).collect(),
            last_title: String::new(),
            last_status: String::new(),
            effects: Vec::new(),
            ended: false,
            options,
        }
    }

    /// Takes one event at `now` and returns what to do.
    #[must_use]
    pub fn handle(&mut self, now: Duration, event: Event) -> Vec<Effect> {
        self.now = now;
        if self.ended {
            return Vec::new();
        }
        match event {
            Event::Started { pid } => {
                self.log(Record::Started { pid });
                self.effects.push(Effect::Write(signals::setup(&self.options)));
            }
            Event::Read(bytes) => {
                self.advance();
                self.read(&bytes);
            }
            Event::Hangup => {
                self.log(Record::Hangup);
                if !self.options.process.ignore_hup {
                    self.end(0, Ending::Clean);
                }
            }
            Event::Tick => self.expire_escape(),
        }
        self.advance();
        self.publish();
        std::mem::take(&mut self.effects)
    }

    /// When the next [`Event::Tick`] is due; `None` if only outside events can change anything.
    pub fn deadline(&self) -> Option<Duration> {
        let phase = match &self.phase {
            Phase::Blank { .. } if !self.is_flashing() => Some(self.options.startup.ready_after),
            Phase::Blank { until } => Some(*until),
            Phase::Greeting(_) | Phase::Idle { .. } | Phase::Asking { .. } => None,
            Phase::Working(turn) if turn.is_silent() => turn.deadline(),
            Phase::Working(turn) => {
                let spin = signals::next_spin(turn.started, self.now);
                Some(turn.deadline().map_or(spin, |due| due.min(spin)))
            }
            Phase::Lying { since } => Some(signals::next_spin(*since, self.now).min(*since + LIE)),
        };
        let echo = self.composer.deadline(self.now);
        let hints = [
            self.refused.map(|at| at + Duration::from_secs(self.now.saturating_sub(at).as_secs() + 1)),
            self.is_loading().then_some(self.options.startup.swallow_early),
        ];
        [phase, echo, self.escape_due, self.exit_armed, self.options.process.die_after]
            .into_iter()
            .chain(hints)
            .flatten()
            .min()
    }

    /// The dialog that is open, if one is.
    pub fn dialog(&self) -> Option<&'static str> {
        match &self.phase {
            Phase::Greeting(menu) | Phase::Asking { menu, .. } => Some(menu.kind.name()),
            _ => None,
        }
    }

    /// Whether a turn runs.
    pub fn is_working(&self) -> bool {
        matches!(self.phase, Phase::Working(_))
    }

    /// Whether it shows its composer although it is not ready.
    pub(super) fn is_flashing(&self) -> bool {
        self.now >= self.options.startup.ready_after
    }

    /// Whether it says that it drops all keys.
    pub(super) fn is_loading(&self) -> bool {
        self.now < self.options.startup.swallow_early && !self.options.input.ignore_quietly
    }

    /// Draws the screen as of the last event.
    pub fn render(&self, size: Size) -> Frame {
        view::screen(self, size)
    }

    /// Does what the passing of time alone brings about.
    fn advance(&mut self) {
        if self.options.process.die_after.is_some_and(|due| self.now >= due) {
            self.die();
        }
        self.exit_armed = self.exit_armed.filter(|&until| self.now < until);
        self.refused = self.refused.filter(|&at| self.now < at + REFUSAL);
        match self.phase {
            Phase::Blank { until } if self.now >= until => self.greet(),
            Phase::Lying { since } if self.now >= since + LIE => {
                self.phase = Phase::Idle { outcome: Outcome::Fresh }
            }
            _ => {}
        }
        while let Phase::Working(turn) = &mut self.phase
            && !self.ended
        {
            let acts = turn.advance(self.now);
            if acts.is_empty() {
                break;
            }
            for act in acts {
                self.perform(act);
            }
        }
    }

    /// Opens the next start-up dialog, or the prompt after the last.
    pub(super) fn greet(&mut self) {
        if let Some(kind) = self.startup.pop_front() {
            self.log(Record::Dialog { kind: kind.name() });
            self.phase = Phase::Greeting(Menu::new(kind, ""));
            return;
        }
        self.phase = Phase::Idle { outcome: Outcome::Fresh };
        self.log(Record::Ready);
        if let Some(prompt) = self.options.prompt.take() {
            self.submit(prompt);
        }
    }

    pub(super) fn die(&mut self) {
        let ending = if self.options.process.die_signal { Ending::Killed } else { Ending::Abrupt };
        self.end(self.options.process.exit_code, ending);
    }

    pub(super) fn end(&mut self, code: u8, ending: Ending) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        if ending == Ending::Clean {
            self.effects.push(Effect::Write(signals::teardown(&self.options, self.status_on)));
        }
        self.log(Record::Exit { code, how: ending.name() });
        self.effects.push(Effect::Exit { code, ending });
    }

    pub(super) fn log(&mut self, record: Record) {
        self.effects.push(Effect::Log(record));
    }

    /// Tells the terminal what changed: title, status, screen.
    fn publish(&mut self) {
        let silent = matches!(&self.phase, Phase::Working(turn) if turn.is_silent());
        if self.ended || silent {
            return;
        }
        let title = signals::title(self);
        if title != self.last_title && !self.options.look.cooked {
            self.effects.push(Effect::Write(format!("\x1b]0;{title}\x1b\\").into_bytes()));
            self.last_title = title;
        }
        let status = signals::status(&self.phase);
        if self.status_on && status != self.last_status {
            self.effects.push(Effect::Write(format!("\x1b]7501;{status}\x1b\\").into_bytes()));
            self.last_status = status;
        }
        self.effects.push(Effect::Draw);
    }
}

#[cfg(test)]
mod tests;
