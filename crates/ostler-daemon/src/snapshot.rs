//! The screen on disk, so that a daemon that was killed finds it again.
//!
//! The ring keeps the last output only. A full-screen program paints some things once and never again; without
//! a picture from time to time, a new daemon could not know them.

use std::io;

use ostler_hold::{SessionDir, write_atomically};
use ostler_screen::{Screen, Size};

const FIRST_LINE: &str = "ostler screen 1";

/// A screen as it was when the output stood at `offset`.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) offset: u64,
    pub(crate) screen: Screen,
}

/// Writes the screen.
pub(crate) fn save(dir: &SessionDir, screen: &Screen, offset: u64) -> io::Result<()> {
    let size = screen.size();
    let mut bytes = format!("{FIRST_LINE}\n{offset} {} {}\n", size.cols, size.rows).into_bytes();
    bytes.extend(screen.to_restore());
    write_atomically(&dir.screen(), &bytes)
}

/// Reads what [`save`] wrote; nothing if there is none or it is damaged.
pub(crate) fn load(dir: &SessionDir) -> Option<Snapshot> {
    let bytes = std::fs::read(dir.screen()).ok()?;
    let mut parts = bytes.splitn(3, |byte| *byte == b'\n');
    if parts.next()? != FIRST_LINE.as_bytes() {
        return None;
    }
    let mut numbers = std::str::from_utf8(parts.next()?).ok()?.split(' ');
    let offset = numbers.next()?.parse().ok()?;
    let size = Size::clamped(numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    let mut screen = Screen::new(size, 0);
    // Nothing in a picture of the screen is a question to be answered.
    drop(screen.feed(parts.next()?));
    Some(Snapshot { offset, screen })
}
