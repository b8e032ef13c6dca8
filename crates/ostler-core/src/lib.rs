//! All decisions, no I/O.
