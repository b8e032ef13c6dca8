//! Session actors: turn I/O into events and actions into I/O.
