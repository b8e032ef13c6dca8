//! Whether what is sent is received: `ostler send` against the real agents.
//!
//! # Theory of Operation
//!
//! Every message bears a token of its own, so the model server's log tells what became of it ([`tally`]): received
//! once and whole, or lost, doubled, merged with another, changed on the way. That is held against what `ostler send`
//! said of it. Messages are made from a seed ([`message`]); most are short, and some are what agents choke on.
//!
//! A trial has parts ([`Part`]), each in a world of its own ([`crate::namespace`]): many messages one after the other,
//! messages right after a start, messages to an agent at work, messages while a dialog is open, messages that are to be
//! confirmed, tools that ostler gives its agents ([`tools`]), starts with something to know ([`context`]), starts that ask something first ([`starts`]), commands
//! that the agent does not know ([`refused`]), its answers and its dialogs ([`talk`]), agents that stop before their work is done ([`carry_on`]), agents that are killed
//! and resumed ([`resume`]), messages whose daemon is killed ([`kills`]), and a race against pasting with
//! tmux and into a [`bare`] terminal ([`race`]).

pub mod bare;
pub mod carry_on;
pub mod context;
pub mod job;
pub mod kept;
pub mod kills;
pub mod message;
pub mod race;
pub mod refused;
pub mod resume;
pub mod run;
pub mod session;
pub mod starts;
pub mod table;
pub mod talk;
pub mod tally;
pub mod timing;
pub mod tools;
pub mod trial;

pub use job::{Effort, Job, Part};
