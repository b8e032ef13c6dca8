//! A person at the terminal.

use std::time::Duration;

use ostler_core::{State, Steady, continuation, detector};

use crate::effect::{Effect, Log};
use crate::note::Note;
use crate::outbox::HOLD;
use crate::session::Session;

/// A person who typed is taken to be typing for this long.
const PERSON: Duration = Duration::from_secs(3);
/// What raw bytes did is seen after this.
const RAW: Duration = Duration::from_millis(200);
/// Not more keys are held back than this.
const MAX_HELD: usize = 4 << 10;

/// What people typed, and what of it waits.
#[derive(Debug, Default)]
pub(crate) struct HumanInput {
    /// A person is typing, until this moment.
    typing_until: Option<Steady>,
    /// When somebody else last typed, until the composer is seen empty behind it.
    touched: Option<Steady>,
    /// When somebody else last pressed Enter.
    entered: Option<Steady>,
    /// When bytes were last typed as they are.
    pub(crate) raw: Option<Steady>,
    /// Keys that wait until a text has got its Enter: in between they would become a part of it.
    held: Vec<u8>,
    /// When they are passed on, whatever happens.
    held_until: Option<Steady>,
}

impl HumanInput {
    /// Whether a person is typing.
    pub(crate) fn is_typing(&self, now: Steady) -> bool {
        self.typing_until.is_some_and(|until| now < until)
    }

    /// Somebody typed something that may stand in the composer.
    pub(crate) fn touch(&mut self, now: Steady) {
        self.touched = Some(now);
    }

    /// Raw bytes were typed: for a moment the screen does not show what they did.
    pub(crate) fn note_raw(&mut self, now: Steady) {
        self.typing_until = self.typing_until.max(Some(now.plus(RAW)));
        self.raw = Some(now);
    }

    pub(crate) fn has_typed_since(&self, moment: Steady) -> bool {
        self.touched.max(self.raw).is_some_and(|at| at >= moment)
    }

    pub(crate) fn has_touched(&self) -> bool {
        self.touched.is_some()
    }

    /// Somebody else pressed Enter.
    pub(crate) fn note_enter(&mut self, now: Steady) {
        self.entered = Some(now);
    }

    pub(crate) fn has_entered_since(&self, moment: Steady) -> bool {
        self.entered.is_some_and(|entered| entered >= moment)
    }

    /// Whoever stopped typing is not typing any more.
    pub(crate) fn forget(&mut self, now: Steady) {
        self.typing_until = self.typing_until.filter(|until| now < *until);
    }

    /// When something is due; that a person has stopped typing matters only to those who `wait` for it.
    pub(crate) fn deadline(&self, wait: bool) -> Option<Steady> {
        self.typing_until.filter(|_| wait).into_iter().chain(self.held_until).min()
    }
}

impl Session {
    /// A person typed.
    pub(crate) fn on_keys(&mut self, bytes: &[u8]) {
        if !self.life.abilities.keys {
            return self.push(Effect::Log(Log::Warning("keys dropped: nothing can be typed here".into())));
        }
        let now = self.now.steady;
        // Who is typing already goes first: the Enter waits for them, and they see what they type behind.
        let holds = self.outbox.is_composing() && !self.human.is_typing(now);
        let holds = holds && self.guards(crate::Safeguard::KeysWaitForEnter);
        if holds && self.human.held.len() + bytes.len() <= MAX_HELD {
            self.human.held.extend_from_slice(bytes);
            self.human.held_until.get_or_insert(now.plus(HOLD));
            return;
        }
        self.pass_on_held();
        self.pass_on(bytes);
    }

    /// Passes on what was held back, if it need not wait any more.
    pub(crate) fn release_keys(&mut self) {
        let due = self.human.held_until.is_some_and(|until| self.now.steady >= until);
        if due || !self.outbox.is_composing() {
            self.pass_on_held();
        }
    }

    fn pass_on_held(&mut self) {
        self.human.held_until = None;
        let bytes = std::mem::take(&mut self.human.held);
        if !bytes.is_empty() {
            self.pass_on(&bytes);
        }
    }

    fn pass_on(&mut self, bytes: &[u8]) {
        match self.typing.keys(bytes) {
            Ok(actions) => {
                let now = self.now.steady;
                self.human.typing_until = Some(now.plus(PERSON));
                self.human.touched = Some(now);
                if bytes.contains(&b'\r') {
                    self.human.note_enter(now);
                    self.note_prompt();
                    if self.described().0 != State::Blocked {
                        self.note(Note::CarryOn(continuation::Event::Prompted { ours: false }));
                    }
                }
                let interrupts = bytes == b"\x1b" || bytes.contains(&3);
                if interrupts && matches!(self.described().0, State::Working | State::Blocked) {
                    self.note(Note::CarryOn(continuation::Event::TakenOver));
                }
                self.note(Note::Detect(detector::Event::Typed { enter: bytes.contains(&b'\r') }));
                self.note(Note::Typing(actions));
            }
            Err(error) => self.push(Effect::Log(Log::Warning(format!("keys dropped: {error}")))),
        }
    }

    /// A composer that is empty behind what somebody typed has nothing of theirs any more.
    pub(crate) fn see_untouched(&mut self) {
        let shown = self.human.touched.is_some_and(|at| self.now.steady >= at.plus(PERSON));
        let is_empty = self.observer.composer().is_some_and(|composer| !composer.draft);
        if shown && is_empty && self.observer.is_current() {
            self.human.touched = None;
        }
    }
}
