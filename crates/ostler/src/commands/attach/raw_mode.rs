//! The terminal in raw mode, for a while.

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::error::CommandError;

/// Puts the terminal back when it is dropped.
pub(super) struct RawMode(Termios);

impl RawMode {
    pub(super) fn enter() -> Result<Self, CommandError> {
        let before = tcgetattr(std::io::stdin()).map_err(std::io::Error::from)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(std::io::stdin(), OptionalActions::Now, &raw).map_err(std::io::Error::from)?;
        Ok(Self(before))
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}
