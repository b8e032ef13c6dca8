//! The stand-in and the model server as others meet them, and what the workspace depends on.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on panics")]

mod dependencies;
#[cfg(feature = "model-server")]
mod model_server;
mod stand_in;
