//! One session, decided in one place.
//!
//! # Theory of operation
//!
//! A [`Session`] is what is known of one program in one terminal, and decides everything about it. It does no I/O:
//! [`Session::handle`] takes an [`Event`] and the moment it happened, [`Session::poll`] gives the [`Effect`]s that
//! follow, one by one and in order, and [`Session::deadline`] names the moment at which [`Event::Tick`] is due if nothing
//! else happens. The shell around it waits, hands events in, and performs effects; what comes of an effect is an
//! event again.
//!
//! Inside, each responsibility has a machine of its own, most of them in `ostler-core`:
//!
//! - `life`: the holder, the connection to it, and the end (`ostler_core::lifecycle`);
//! - `terminal`: output becomes a screen and signals;
//! - `observing`: screen, hooks and transcript become a state (`ostler_core::detector`); `judging`: another agent is asked;
//! - `dialogs`: what the user's policy answers (`ostler_core::dialog`); `answering`: what somebody
//!   answers by a command; `interrupting`: a turn that is stopped;
//! - `outbox`, `delivering`, `writes` and `proofs`: messages, what is typed for them, what is proven of them
//!   (`ostler_core::queue`, `ostler_core::delivery`);
//! - `human_input`: people at the terminal; the order of all input is `ostler_core::typing`;
//! - `agent_speech`: what the agent says to ostler; `agent_calls`: what it says by calling its tools; `stops`: when it has stopped (`ostler_core::stop_watch`).
//!
//! Machines do not call each other. What one has to tell another is a note in a queue; what follows from a note is heard
//! before the next one, so that every event has the same consequences in the same order.
//!
//! # What is recorded before what
//!
//! Everything that must survive is a [`Change`]. Those of one step go to the store as one [`Effect::Commit`], and what
//! depends on them follows when it is recorded: no key is sent before its intent is in the store, and nobody is told what
//! is not. `journal` keeps what the store refuses. A delivery that wants to type is copied, stepped and replaced when
//! the step is recorded; where it is not, it looks afresh.

mod agent_calls;
mod agent_process;
mod agent_speech;
mod answering;
mod carrying_on;
mod change;
mod conversation;
mod delivering;
mod delivery_view;
mod dialogs;
mod effect;
mod escalating;
mod event;
mod human_input;
mod interrupting;
mod journal;
mod judging;
mod keys;
mod life;
mod memory;
mod message_commands;
mod note;
mod observing;
mod outbox;
mod pending_dialog;
mod profile;
mod proofs;
mod recent;
mod refusal;
mod report;
mod resolving;
mod safeguard;
mod saved;
mod session;
mod startup_context;
mod stops;
mod terminal;
mod timers;
mod writes;

pub use agent_calls::{AgentCall, Progress, Says};
pub use agent_speech::WISH;
pub use answering::Answered;
pub use carrying_on::{CARRIES_ON, Examination, RUN};
pub use change::Change;
pub use conversation::ConversationSummary;
pub use effect::{Answer, Effect, Escalation, HookContext, Lane, Log, MessageView, Request};
pub use escalating::NOTICE;
pub use event::{
    Abilities, AnswerCommand, Command, Event, Exit, Grants, HookReport, LastOutput, Send, StoredBody,
    TerminalStatus, Ticket, TranscriptBatch,
};
pub use memory::{Carried, begin_carried_on};
pub use message_commands::{MAX_ID, with_request};
pub use pending_dialog::PendingDialog;
pub use profile::{AgentProfile, DeliverySettings, Policies};
pub use refusal::Refusal;
pub(crate) use safeguard::Safeguard;
pub use saved::{Saved, SavedMessage, SavedMessages};
pub use session::Session;
pub use terminal::SavedScreen;

#[cfg(test)]
mod tests;
