//! The laboratory: tries ostler against the real agent programs, and scores the recordings of them.
//!
//! # Theory of Operation
//!
//! `cargo lab conformance` runs *scenes*: a real agent program, in a namespace of its own without a network,
//! started by `ostler start --record` and driven by `ostler send`, against the scripted model server of
//! `ostler-testkit`. What the agent truly did is known without looking at its screen: from the moments keys
//! were written ([`driver`]), from the moments the model server received and sent ([`truth`]), and from files
//! that the tool commands write. So each scene gives a recording and the truth about it, in the seconds of the
//! recording.
//!
//! `cargo lab score` replays every recording with `ostler replay` and compares ([`score`]).
//!
//! `cargo lab release-day` finds the newest releases, plays them, and compares ([`release_day`]).
//!
//! `cargo lab deliver` tries `ostler send` against the same programs ([`deliver`]), `cargo lab runs` tries
//! `ostler run` ([`runs`]).
//!
//! An agent is data: `conformance/agents/NAME.toml` says what to install, how to launch it, what its dialogs
//! look like to the *driver* and how to answer them ([`agent`]). Nothing of that is known to ostler.

pub mod agent;
pub mod deliver;
pub mod driver;
pub mod install;
pub mod jobs;
pub mod live;
pub mod namespace;
pub mod pool;
pub mod recording;
pub mod release_day;
pub mod report;
pub mod runs;
pub mod scene;
pub mod score;
pub mod stage;
pub mod truth;
