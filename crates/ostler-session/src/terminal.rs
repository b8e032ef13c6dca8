//! The output side of a session: the screen, how far it has read, and when it is put on disk.

use std::time::Duration;

use ostler_core::Steady;
use ostler_screen::{ProgramState, ProgramStatus, Screen, Signal, Size};

/// The screen is saved when this much was printed since the last time, well before the ring forgets it.
const SAVE_BYTES: u64 = 64 * 1024;
/// It is not saved more often than this in the long run, which is enough for any full-screen program; only a flood
/// outruns it.
const SAVE_PAUSE: Duration = Duration::from_millis(50);
/// Saves that may be made ahead of their time: programs draw in bursts.
const SAVE_BURST: Duration = Duration::from_secs(1);
/// How long the output that was there before may take to be read.
const CATCH_UP: Duration = Duration::from_secs(2);

/// A screen that was saved.
#[derive(Debug)]
pub struct SavedScreen {
    /// The screen.
    pub screen: Screen,
    /// Output up to here is on it.
    pub offset: u64,
}

/// An answer that the terminal owes the program.
#[derive(Debug)]
pub(crate) struct Owed {
    /// Output offset behind the question.
    pub(crate) offset: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Owed {
    /// It says that the program's status is understood.
    pub(crate) fn is_status(&self) -> bool {
        self.bytes.starts_with(b"\x1b]7501;")
    }
}

/// What a session makes of its program's output.
#[derive(Debug)]
pub(crate) struct Terminal {
    pub(crate) screen: Screen,
    /// Output up to here is on the screen.
    pub(crate) offset: u64,
    /// Output up to here was on the screen when a complete frame of it last showed something else than the one before.
    pub(crate) drawn: u64,
    /// What that frame shows, and how much was on the screen when the last one was complete.
    frame: u64,
    framed: u64,
    /// Output that was gone before it could be read.
    pub(crate) missing: u64,
    /// What the program last said of itself.
    pub(crate) claims: Option<ProgramStatus>,
    /// Output up to this offset was there before we were; until it is read, or this moment has come, nothing is
    /// concluded from the screen.
    catching_up: Option<(u64, Steady)>,
    /// What was last told in output that was there before us.
    old_status: Option<Signal>,
    saved: u64,
    /// When the next save would be due if all had been made evenly.
    next_save: Steady,
}

impl Terminal {
    /// The output of a new session.
    pub(crate) fn new(size: Size) -> Self {
        Self {
            screen: Screen::new(size, 0),
            offset: 0,
            drawn: 0,
            frame: 0,
            framed: 0,
            missing: 0,
            claims: None,
            catching_up: None,
            old_status: None,
            saved: 0,
            next_save: Steady(0),
        }
    }

    /// The output of a session that another daemon looked after.
    pub(crate) fn recovered(saved: Option<SavedScreen>, size: Size) -> Self {
        match saved {
            Some(SavedScreen { screen, offset }) => Self { screen, offset, saved: offset, ..Self::new(size) },
            None => Self::new(size),
        }
    }

    /// Output up to here was there before this connection.
    pub(crate) fn catch_up(&mut self, written: u64, now: Steady) {
        if self.offset < written {
            self.catching_up = Some((written, now.plus(CATCH_UP)));
        }
    }

    pub(crate) fn is_catching_up(&self) -> bool {
        self.catching_up.is_some()
    }

    /// When the old output counts as read.
    pub(crate) fn catching_up_until(&self) -> Option<Steady> {
        self.catching_up.map(|(_, until)| until)
    }

    /// Whether the old output is on the screen now; said once.
    pub(crate) fn take_caught_up(&mut self, now: Steady) -> bool {
        let offset = self.offset;
        self.catching_up.take_if(|(written, until)| offset >= *written || now >= *until).is_some()
    }

    pub(crate) fn stop_catching_up(&mut self) {
        self.catching_up = None;
    }

    /// Keeps what old output said of the agent: it holds until the agent says otherwise.
    pub(crate) fn keep_old_status(&mut self, signals: &[Signal]) {
        let mut told = signals.iter().filter(|signal| matches!(signal, Signal::ProgramStatus(_)));
        if let Some(last) = told.next_back() {
            self.old_status = Some(last.clone());
        }
    }

    pub(crate) fn take_old_status(&mut self) -> Option<Signal> {
        self.old_status.take()
    }

    /// Takes a piece of output; what was seen before is skipped. Returns the answers that are owed for it, and what
    /// it said beside the picture.
    pub(crate) fn feed(&mut self, offset: u64, bytes: &[u8]) -> (Vec<Owed>, Vec<Signal>) {
        let skip = usize::try_from(self.offset.saturating_sub(offset)).unwrap_or(usize::MAX);
        let Some(bytes) = bytes.get(skip..).filter(|bytes| !bytes.is_empty()) else {
            return Default::default();
        };
        let begin = self.offset;
        let mut signals = self.screen.feed(bytes);
        self.offset += bytes.len() as u64;
        let mut owed = Vec::new();
        signals.retain_mut(|signal| match signal {
            Signal::Reply { at, bytes } => {
                owed.push(Owed { offset: begin + *at as u64, bytes: std::mem::take(bytes) });
                false
            }
            Signal::ProgramStatus(status) => {
                self.claims = Some(status.clone()).filter(|status| status.state != ProgramState::Clear);
                true
            }
            _ => true,
        });
        (owed, signals)
    }

    /// A frame is complete: notes whether it shows something else than the one before.
    pub(crate) fn complete_frame(&mut self) {
        if std::mem::replace(&mut self.framed, self.offset) == self.offset {
            return;
        }
        let mut hasher = std::hash::DefaultHasher::new();
        std::hash::Hash::hash(&self.screen.text(), &mut hasher);
        let frame = std::hash::Hasher::finish(&hasher);
        if frame != self.frame {
            (self.frame, self.drawn) = (frame, self.offset);
        }
    }

    /// Some output is gone for good: what the screen shows no longer follows from what comes. `modes` are sequences
    /// that give a new terminal the modes it has where the output resumes.
    ///
    /// Colours, scroll region and character set there are not known, nor is the cursor: they are those of a new
    /// terminal until the program sets them.
    pub(crate) fn gap(&mut self, from: u64, resumed: u64, modes: &[u8]) {
        self.missing += resumed.saturating_sub(from.max(self.offset));
        self.screen = Screen::new(self.screen.size(), 0);
        // The holder's words, which ask nothing.
        drop(self.screen.feed(modes));
        self.offset = self.offset.max(resumed);
    }

    /// When the screen is to be saved, if it is.
    pub(crate) fn save_due(&self) -> Option<Steady> {
        (self.offset - self.saved >= SAVE_BYTES).then(|| self.next_save.minus(SAVE_BURST))
    }

    /// The screen is being saved.
    pub(crate) fn note_saved(&mut self, now: Steady) {
        self.saved = self.offset;
        self.next_save = self.next_save.max(now).plus(SAVE_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_picture_is_drawn() {
        let mut terminal = Terminal::new(Size::clamped(40, 10));
        let mut write = |text: &str| {
            let before = terminal.drawn;
            drop(terminal.feed(terminal.offset, text.as_bytes()));
            terminal.complete_frame();
            terminal.drawn > before
        };
        assert!(write("\x1b[2J\x1b[H> do it"));
        for same in
            ["\x1b]0;busy\x07", "\x07", "\x1b[?25l\x1b[?25h", "\x1b[2J\x1b[H> do it", "\x1b[5;5H", "\x1b[1m"]
        {
            assert!(!write(same), "{same:?}");
        }
        assert!(write("\x1b[9;1Hworking"));
        assert!(!write(""), "nothing came");
    }
}
