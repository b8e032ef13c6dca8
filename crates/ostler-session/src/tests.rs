//! Tests of whole sessions.

mod simulator;
