//! The daemon: session actors that turn I/O into events and actions into I/O.
//!
//! # Theory of operation
//!
//! The daemon owns no terminal. Each session has an actor that alone holds its state: it talks to
//! the session's holder, feeds output to a screen, asks the machines of `ostler-core` what to do, commits what
//! must not be lost to the store, and only then acts. Clients of the command line are served by
//! connections, which hold tickets to actors. Killing the daemon loses nothing: the next one reads the
//! record, finds the holders by their directories, and goes on where the ledgers say the last one stopped.
//!
//! Nothing polls. The daemon wakes for bytes on a socket, for a deadline that a machine named, or for a
//! client; with nothing to do it sleeps.

mod api;
mod checks;
pub mod choice;
mod clock;
mod code_search;
mod comebacks;
mod connection;
mod context;
mod continuity;
mod control;
mod daemon;
mod edits;
mod errand;
mod evidence;
mod frame_stream;
mod hints;
mod home;
mod hook_reports;
mod hooks;
mod housekeeping;
pub mod identity;
pub mod instructions_file;
pub mod judge;
mod knowledge;
mod left_blocks;
pub mod policy;
mod preparation;
pub mod presets;
mod process;
mod programs;
pub mod project;
mod ready_file;
mod resume;
mod runs;
mod services;
mod session;
mod sessions;
pub mod settings;
mod shared_look;
mod snapshot;
mod start;
mod starter;
mod startup;
mod stop;
pub mod store_choice;
mod survivors;
mod tool_callers;
pub mod transcript;
mod transport;
mod trusted_path;
mod unrecorded;

pub use daemon::{Daemon, StartupError};
pub use frame_stream::FrameStream;
pub use home::{Home, HomeError};
pub use ostler_store::{StoreError, repair};
pub use unrecorded::held as held_sessions;
