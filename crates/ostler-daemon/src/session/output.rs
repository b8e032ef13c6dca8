//! The output side of a session: the screen, how far it has read, and its picture on disk.

use std::time::Duration;

use ostler_core::Timestamp;
use ostler_hold::SessionDir;
use ostler_screen::{ProgramState, ProgramStatus, Screen, Signal, Size};

use crate::snapshot;

/// A picture is due when this much was printed since the last, well before the ring forgets it.
const PICTURE_BYTES: u64 = 64 * 1024;
/// Pictures are not taken more often than this in the long run, which is enough for any full-screen program;
/// only a flood outruns it.
const PICTURE_PAUSE: Duration = Duration::from_millis(50);
/// Pictures that may be taken ahead of their time: programs draw in bursts.
const PICTURE_BURST: Duration = Duration::from_secs(1);

/// An answer that the terminal owes the program.
#[derive(Debug)]
pub(super) struct Owed {
    /// Output offset behind the question.
    pub(super) offset: u64,
    pub(super) bytes: Vec<u8>,
}

impl Owed {
    /// It says that the program's status is understood.
    pub(super) fn is_status(&self) -> bool {
        self.bytes.starts_with(b"\x1b]7501;")
    }
}

/// What the daemon makes of a program's output.
#[derive(Debug)]
pub(super) struct Output {
    dir: SessionDir,
    pub(super) screen: Screen,
    /// Output up to here is on the screen.
    pub(super) offset: u64,
    /// Output that was gone before it could be read.
    pub(super) missing: u64,
    /// What the program last said of itself.
    pub(super) claims: Option<ProgramStatus>,
    pictured: u64,
    /// When the next picture would be due if all had been taken evenly.
    next_picture: Timestamp,
}

impl Output {
    /// The output of a new session.
    pub(super) fn new(dir: SessionDir, size: Size) -> Self {
        Self {
            dir,
            screen: Screen::new(size, 0),
            offset: 0,
            missing: 0,
            claims: None,
            pictured: 0,
            next_picture: Timestamp(0),
        }
    }

    /// The output of a session that another daemon looked after.
    pub(super) fn recovered(dir: SessionDir, size: Size) -> Self {
        match snapshot::load(&dir) {
            Some(found) => Self {
                dir,
                screen: found.screen,
                offset: found.offset,
                missing: 0,
                claims: None,
                pictured: found.offset,
                next_picture: Timestamp(0),
            },
            None => Self::new(dir, size),
        }
    }

    /// Takes a piece of output; what was seen before is skipped. Returns the answers that are owed for it, and what
    /// it said beside the picture.
    pub(super) fn feed(&mut self, offset: u64, bytes: &[u8]) -> (Vec<Owed>, Vec<Signal>) {
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

    /// Some output is gone for good: what the screen shows no longer follows from what comes.
    pub(super) fn gap(&mut self, from: u64, resumed: u64) {
        self.missing += resumed.saturating_sub(from.max(self.offset));
        self.screen = Screen::new(self.screen.size(), 0);
        self.offset = self.offset.max(resumed);
    }

    /// When a picture is due, if one is.
    pub(super) fn picture_due(&self) -> Option<Timestamp> {
        (self.offset - self.pictured >= PICTURE_BYTES).then(|| self.next_picture.minus(PICTURE_BURST))
    }

    /// Puts the screen on disk. Where that fails, the ring has to do.
    pub(super) fn picture(&mut self, now: Timestamp) {
        if let Err(error) = snapshot::save(&self.dir, &self.screen, self.offset) {
            tracing::debug!(%error, dir = %self.dir.path().display(), "no picture of the screen");
        }
        self.pictured = self.offset;
        self.next_picture = self.next_picture.max(now).plus(PICTURE_PAUSE);
    }
}
