//! Looks after terminal coding agents.
fn main() {}
