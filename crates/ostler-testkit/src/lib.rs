//! Stand-in agent for tests and the demo.
//!
//! # Theory of Operation
//!
//! A supervisor of terminal agents can only be trusted if it was tried against agents that
//! misbehave. Real ones misbehave rarely and never twice in the same way, so this crate holds one that does it on request: a real
//! full-screen terminal program with a composer, a spinner, dialogs and scripted replies, and a
//! switch for every fault seen in the field (a lost Enter, a dialog whose default ends the program,
//! a screen that lies about having taken the message, …).
//!
//! The program never grades its own honesty on the screen. With `--log FILE` it appends one JSON
//! object per line about what it *truly* received and did; a test compares the supervisor's
//! claims with that file.
//!
//! Inside, [`stand_in::App`] decides everything and touches nothing: it takes the time and an
//! [`stand_in::Event`], returns [`stand_in::Effect`]s, names its next
//! [`deadline`](stand_in::App::deadline) and draws itself into a [`stand_in::Frame`]. The shell around it (raw
//! mode, `poll`, files) is thin, single-threaded and sleeps until bytes arrive or the deadline
//! passes: an idle stand-in writes nothing and uses no CPU, as the real ones do.
//!
//! What a prompt makes the stand-in do is written in the prompt itself (`!work 3s !write a.txt hi`);
//! see [`stand_in`] for the grammar.
//!
//! With the feature `model-server` there is also a scripted model server, against which real agents can be
//! tried offline; see `model_server`. Tests of all crates wait with [`wait`].

#[cfg(feature = "model-server")]
pub mod model_server;
pub mod stand_in;
pub mod wait;
