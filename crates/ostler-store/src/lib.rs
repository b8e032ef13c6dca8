//! The durable record: sessions, events, messages, and what is known of projects.
//!
//! # Theory of operation
//!
//! One SQLite database in write-ahead mode, written by one daemon. A change of state and the event that tells
//! of it are one transaction, committed before anybody acts on them. `synchronous=NORMAL` keeps every commit
//! through the death of the process; a power cut may take the last few, and takes the programs with it.
//!
//! What several machines may share is in [`shared`]: in the same database, or on a server.

mod continuity;
mod counts;
mod deliveries;
mod error;
mod events;
mod messages;
mod migrations;
mod processes;
mod prune;
mod questions;
pub mod repair;
mod sessions;
pub mod shared;
mod store;
mod thread;

pub use continuity::{ASSIGNMENT, PendingContext};
pub use counts::DeliveryCounts;
pub use deliveries::Intent;
pub use error::StoreError;
pub use events::{Event, NewEvent};
pub use messages::{Accepted, NewMessage};
pub use ostler_core::message::{Ending, LastWrite, MISSED, Message, MessageState, Terms};
pub use processes::{NewProcess, PastProcess};
pub use prune::Keep;
pub use questions::{NewQuestion, Question};
pub use sessions::{NewSession, Session};
pub use store::Store;
pub use thread::StoreHandle;
