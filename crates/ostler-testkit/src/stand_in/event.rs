//! What the stand-in is told and what it asks for.

use super::record::Record;

/// What happened to the stand-in.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Event {
    /// The terminal is set up.
    Started {
        /// The process's id, for the log.
        pid: u32,
    },
    /// One read returned these bytes.
    Read(Vec<u8>),
    /// The terminal is gone.
    Hangup,
    /// The deadline passed.
    Tick,
}

/// What the shell must do, in order.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Effect {
    /// Bring the screen up to date.
    Draw,
    /// Write these bytes to the terminal.
    Write(Vec<u8>),
    /// Append to the log.
    Log(Record),
    /// Write a file under the working directory.
    WriteFile {
        /// Relative path.
        file: String,
        /// Whole content.
        content: String,
    },
    /// End the process.
    Exit {
        /// Exit code.
        code: u8,
        /// In which way.
        ending: Ending,
    },
}

/// In which way the process ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ending {
    /// The terminal is restored first.
    Clean,
    /// The terminal is left as it is.
    Abrupt,
    /// By SIGKILL.
    Killed,
}

impl Ending {
    /// Its name in the log.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Abrupt => "abrupt",
            Self::Killed => "killed",
        }
    }
}
