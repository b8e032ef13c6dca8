//! What the detector is told, and what it wants done.

use super::evidence::{Claim, ProcessSample, Reading, Reporter};
use crate::{Fact, State, Steady};

/// Something the detector learns.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The screen says something new: neither a clock that goes on nor what is drawn again as it was.
    Drawn {
        /// When the last of it was written.
        at: Steady,
    },
    /// Something was typed into it.
    Typed {
        /// It ends with Enter.
        enter: bool,
    },
    /// A prompt was taken that nobody typed: it was on the command line.
    Begun,
    /// The screen reads differently now.
    Read(Reading),
    /// The program told its status, or took it back.
    Claimed(Option<Claim>),
    /// The agent reported something.
    Reported(Reporter, Fact),
    /// The agent wrote something into its transcript, where it is read later.
    Written {
        /// What it wrote.
        fact: Fact,
        /// When it did.
        at: Steady,
    },
    /// Its processes were looked at; nothing where they cannot be seen.
    Sampled(Option<ProcessSample>),
    /// The agent's own process has ended, or runs again; what it was started by is not meant.
    AgentRuns(bool),
    /// When the limit ends that the agent has run into, as far as its words tell.
    LimitEnds(Option<Steady>),
    /// Another agent was asked what the screen shows.
    Judged(State),
    /// Output is missing: what was seen on the screen says nothing now.
    Lost,
    /// Time has passed.
    Tick,
}

/// Something to do for the detector.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// The verdict is a new one.
    Announce,
    /// Look at the processes.
    Sample,
}
