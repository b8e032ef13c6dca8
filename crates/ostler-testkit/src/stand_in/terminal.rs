//! The terminal on standard input and output: raw mode, size, reads and writes.

use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::stdio::{stdin, stdout};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use super::frame::Size;

/// Larger than what a terminal hands out in one read.
const READ: usize = 65_536;

/// Holds the terminal in raw mode and restores it when dropped.
#[derive(Debug)]
pub(super) struct Terminal {
    original: Option<Termios>,
}

impl Terminal {
    /// Switches to raw mode; a pipe is used as it is.
    pub(super) fn raw() -> io::Result<Self> {
        let original = match tcgetattr(stdin()) {
            Ok(original) => original,
            Err(Errno::NOTTY) => return Ok(Self::cooked()),
            Err(error) => return Err(error.into()),
        };
        let mut raw = original.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Now, &raw)?;
        Ok(Self { original: Some(original) })
    }

    /// Leaves the terminal as it is.
    pub(super) fn cooked() -> Self {
        Self { original: None }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some(original) = &self.original {
            // The terminal may be gone already.
            let _ = tcsetattr(stdin(), OptionalActions::Now, original);
        }
    }
}

/// The current size; a terminal that knows none counts as 80 by 24.
pub(super) fn size() -> Size {
    match tcgetwinsize(stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Size { cols: size.ws_col, rows: size.ws_row },
        _ => Size { cols: 80, rows: 24 },
    }
}

/// A stream that becomes readable when the terminal's size changes.
pub(super) fn resizes() -> io::Result<UnixStream> {
    let (reader, writer) = UnixStream::pair()?;
    reader.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(signal_hook::consts::SIGWINCH, writer)?;
    Ok(reader)
}

/// Makes the stream unreadable again.
pub(super) fn forget_resizes(resizes: &mut UnixStream) {
    let mut buffer = [0; 64];
    while resizes.read(&mut buffer).is_ok_and(|count| count > 0) {}
}

/// Reads once; `None` when the terminal is gone.
pub(super) fn read() -> io::Result<Option<Vec<u8>>> {
    let mut buffer = vec![0; READ];
    match rustix::io::retry_on_intr(|| rustix::io::read(stdin(), &mut buffer[..])) {
        Ok(0) | Err(Errno::IO) => Ok(None),
        Ok(count) => {
            buffer.truncate(count);
            Ok(Some(buffer))
        }
        Err(error) => Err(error.into()),
    }
}

/// Writes everything; waits as long as nobody reads.
pub(super) fn write(mut bytes: &[u8]) -> rustix::io::Result<()> {
    while !bytes.is_empty() {
        let count = rustix::io::retry_on_intr(|| rustix::io::write(stdout(), bytes))?;
        bytes = &bytes[count..];
    }
    Ok(())
}
