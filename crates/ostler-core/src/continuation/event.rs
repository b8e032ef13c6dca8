//! What a continuation learns, and what it asks for.

use super::{Decision, Terms};
use crate::awaited::Awaited;
use crate::stop::Stopped;
use crate::stop_analysis::{Checked, LastWords};

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The agent is to be carried on, from now on.
    Began(Terms),
    /// It is not any more.
    Ended,
    /// The agent stopped.
    Stopped(Stopped),
    /// A person or the agent asks that it goes on.
    Requested,
    /// The examination is over.
    Examined(Examined),
    /// The agent took a prompt: ours, or another one.
    Prompted {
        /// It was ours.
        ours: bool,
    },
    /// The agent goes on by itself, or a person answered its dialog.
    Resumed,
    /// A person stopped its turn, or refused what it wanted to do.
    TakenOver,
    /// Our prompt could not be given to the agent.
    NotDelivered,
    /// Nothing may be done, whatever happens, or it may again.
    Held(bool),
    /// The session has spent so many fresh tokens in all.
    Spent(u64),
    /// The shell was restarted.
    Restarted,
    /// Time has passed.
    Tick,
}

/// What is known of a stop.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Examined {
    /// What the checks said.
    pub checks: Option<Checked>,
    /// The first line of each complaint.
    pub failures: Vec<String>,
    /// Whether the work tree is another than at the stop before.
    pub changed: Option<bool>,
    /// What the agent's last words come to.
    pub words: LastWords,
    /// The last words themselves.
    pub said: Option<String>,
    /// What is left to do, by the agent's own list.
    pub open: Vec<String>,
    /// Other prompts wait for the agent: it has something to do anyway.
    pub queued: bool,
    /// A question of the agent to its owner is open.
    pub asked: Option<String>,
    /// The checks cannot be run, whatever the work is like.
    pub trouble: Option<String>,
    /// What the agent said it waits for.
    pub awaited: Option<Awaited>,
    /// What is left to do, as the agent said when it asked to be sent on.
    pub wants_on: Option<String>,
}

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Record what was decided, and why.
    Record(Decision),
    /// Run these checks and look at the work tree.
    Examine(Vec<String>),
    /// Give the agent this prompt.
    Prompt {
        /// Which it is, over the life of the session.
        number: u32,
        /// The text.
        text: String,
    },
    /// A prompt of ours that waits is not wanted any more.
    Withdraw {
        /// Which it is.
        number: u32,
    },
    /// Tell the owner.
    Notify(String),
    /// Stop the agent.
    Pause,
}
