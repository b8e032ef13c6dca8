//! Whether a task gets done whichever provider is up: `ostler run` with the real agents.
//!
//! # Theory of Operation
//!
//! A scene ([`scene`], a file in `conformance/runs`) is a task for several agents, what the model of each answers, and
//! what has to come of it. Every agent has a model server of its own, so what was asked of which provider, in which
//! order and in which words is known without asking ostler. The scene is played in a world of its own
//! ([`crate::namespace`]) by `ostler run` ([`stage`]); when the run is over the daemon is killed, and another run shows
//! what is still known of the providers. What was seen is held against what the scene expects ([`judge`]).

pub mod judge;
pub mod play;
pub mod scene;
pub mod stage;
pub mod table;
