//! Stand-in agent for tests and the demo.
