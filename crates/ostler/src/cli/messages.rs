//! The commands about messages.

use std::ffi::OsString;

use clap::{Args, Subcommand, ValueEnum};
use ostler_core::delivery;
use ostler_core::queue;
use ostler_protocol::Proof;

use super::seconds;

/// How sure to be before saying so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    /// Recorded
    Queued,
    /// Every byte is in the program's terminal
    Written,
    /// The agent shows it where prompts are written
    Seen,
    /// The agent has taken it as a prompt
    Submitted,
    /// The agent says that it has it
    Acknowledged,
    /// The agent's turn is over; its answer is printed
    Reply,
}

impl From<Level> for Proof {
    fn from(level: Level) -> Self {
        match level {
            Level::Queued => Self::Queued,
            Level::Written => Self::Written,
            Level::Seen => Self::Seen,
            // Behind it the turn is waited for.
            Level::Submitted | Level::Reply => Self::Submitted,
            Level::Acknowledged => Self::Acknowledged,
        }
    }
}

/// How urgent a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Priority {
    /// What the agent has to know from the start
    Startup,
    /// In its turn
    Normal,
    /// When nothing else is to be said
    Low,
}

impl From<Priority> for queue::Priority {
    fn from(priority: Priority) -> Self {
        match priority {
            Priority::Startup => Self::Startup,
            Priority::Normal => Self::Normal,
            Priority::Low => Self::Low,
        }
    }
}

/// When a message may be typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// When the agent is at rest
    WhenIdle,
    /// At once; an agent at work keeps it for later by itself
    Queue,
    /// At once; what the agent is doing is stopped first
    Interrupt,
    /// At once, whatever it is doing, but never into a dialog
    Now,
}

impl From<Mode> for delivery::Mode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::WhenIdle => Self::WhenIdle,
            Mode::Queue => Self::Queue,
            Mode::Interrupt => Self::Interrupt,
            Mode::Now => Self::Now,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Send {
    /// The session's name or id
    pub(crate) name: String,
    /// The prompt, or - to read it from standard input
    pub(crate) text: OsString,
    /// Type the bytes as they are, at once, and do not press Enter
    #[arg(long, conflicts_with_all = ["priority", "mode", "ack", "expires", "command"])]
    pub(crate) raw: bool,
    /// It is a command of the agent, such as /compact: otherwise text that begins with / is sent to its model, where the
    /// agent's preset knows how (`literal`)
    #[arg(long, conflicts_with = "ack")]
    pub(crate) command: bool,
    /// Makes a repeated command the same message
    #[arg(long, value_name = "KEY")]
    pub(crate) id: Option<String>,
    /// How urgent it is
    #[arg(long, value_enum, default_value = "normal")]
    pub(crate) priority: Priority,
    /// When it may be typed
    #[arg(long, value_enum, default_value = "when-idle")]
    pub(crate) mode: Mode,
    /// How sure to be before saying so [default: submitted; with --raw: written]
    #[arg(long, value_enum)]
    pub(crate) wait: Option<Level>,
    /// Give up waiting after this many seconds; the message stays queued [default: 30; with --wait reply: 600]
    #[arg(long, value_name = "SECS", value_parser = seconds)]
    pub(crate) timeout: Option<f64>,
    /// Ask the agent to confirm it, and let it go by the agent's instructions file if it cannot be typed; implied by
    /// --wait acknowledged
    #[arg(long)]
    pub(crate) ack: bool,
    /// Do not type it any more after this many seconds; with --priority startup it then goes by the agent's instructions
    /// file
    #[arg(long, value_name = "SECS", value_parser = seconds)]
    pub(crate) expires: Option<f64>,
    /// Who sends it, for the record
    #[arg(long, value_name = "NAME", default_value = "")]
    pub(crate) from: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Messages {
    /// List those that are under way or were given up
    List {
        /// Only of this session
        name: Option<String>,
        /// Those that arrived or were dropped too
        #[arg(long, short)]
        all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Try a message again that was given up
    Retry(Message),
    /// Give up a message that is under way, or take one that was given up off the list
    Drop(Message),
}

#[derive(Debug, Args)]
pub(crate) struct Message {
    /// The message's id
    pub(crate) id: String,
    /// The session, if several have a message of that id
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Ack {
    /// The message's id
    pub(crate) id: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
