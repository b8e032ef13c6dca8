//! All decisions, no I/O.
//!
//! # Theory of operation
//!
//! Each machine here is a value with a `handle` that takes an event and the present moment and returns what
//! to do, and a `deadline` at which it wants to be called even if nothing happens. Events are past facts,
//! actions are imperatives. The shell around a machine (the daemon) turns I/O into events, stores what must
//! not be lost, and performs the actions; their results come back as events. Nothing here reads a clock,
//! a file or the environment, so every decision can be replayed and tested in microseconds.
//!
//! - [`delivery`]: one message on its way into an agent; [`queue`]: which message is next.
//! - [`detector`]: what an agent is doing.
//! - [`dialog`]: whether a dialog may be answered, and answering it by choosing a row.
//! - [`interrupt`]: stopping an agent's turn.
//! - [`start_plan`]: how an agent gets what it has to know from the start; [`beacon`]: who speaks to it.
//! - [`detector`]: what an agent is doing; [`judge`]: when another agent is asked.
//! - [`lifecycle`]: whether a session's program runs, cannot be reached, or has ended, and how it is stopped.
//! - [`message`]: what is recorded of messages.
//! - [`typing`]: in which order input goes to a terminal, and what is known of each piece.
//! - [`agent_status`]: what an agent is doing, for decisions, and how its turn or its process ended ([`stop`]).
//! - [`awaited`]: what an agent said it waits for.
//! - [`stop_watch`]: when an agent is ready, when it stops, and when it goes on.
//! - [`run`]: a task with all its attempts, until it is done or there is no point in going on.
//! - [`breaker`]: whether a provider is worth trying.
//! - [`pre_context`]: what an agent is told of those who tried before it.
//! - [`reset_time`]: when a limit ends, from what an agent says about it.
//! - [`stop_analysis`]: what it means that an agent stopped.
//! - [`continuation`]: sends an agent on that stopped before its work is done.
//! - [`environment`]: what a program under care inherits.
//! - [`exchange`]: what an agent was asked, and what it answered; [`reply`]: when the turn of a message is over.
//! - [`continuity`]: what is kept of a piece of work.
//! - [`name`]: what sessions may be called.

pub mod agent_status;
pub mod awaited;
pub mod beacon;
pub mod breaker;
pub mod continuation;
pub mod continuity;
pub mod delivery;
pub mod detector;
pub mod dialog;
pub mod environment;
pub mod exchange;
pub mod fact;
pub mod interrupt;
pub mod judge;
pub mod lifecycle;
pub mod message;
pub mod name;
pub mod pre_context;
pub mod proof;
pub mod queue;
pub mod reply;
pub mod reset_time;
pub mod run;
pub mod start_plan;
pub mod state;
pub mod stop;
pub mod stop_analysis;
pub mod stop_watch;
pub mod time;
pub mod typing;

pub use agent_status::AgentStatus;
pub use fact::{Asking, Fact, Failure, Usage};
pub use name::SessionName;
pub use proof::Proof;
pub use state::State;
pub use time::{Now, Steady, Wall};
