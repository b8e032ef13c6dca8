//! The program as a user drives it: the built binary, in homes of their own.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on panics")]

mod agents;
mod attach;
mod basics;
mod carry_on;
mod context;
mod delivery;
mod delivery_misbehaviour;
mod delivery_moments;
mod delivery_people;
mod delivery_queue;
mod delivery_restart;
mod escalation;
mod hooks;
mod hostile;
mod judge;
mod kill;
mod kill_prompts;
mod killer;
mod mcp;
mod output;
mod policy;
mod readiness;
mod resume;
mod runs;
mod sandbox;
mod stand_in;
mod startup;
mod states;
mod storm;
mod support;
mod talk;
mod trouble;
mod users;
mod wishes;
mod wrap;
