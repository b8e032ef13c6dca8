//! Terminal recordings in the asciicast v2 format.
//!
//! # Theory of Operation
//!
//! A recording is a text file: one JSON object (the [`Header`]), then one JSON array per event. The process
//! that owns a terminal writes it as the bytes pass by, so the writing half ([`header_line`], [`Encoder`])
//! depends on nothing and never looks back: it appends lines to a buffer the caller owns, and takes the time
//! as an argument.
//!
//! Terminals speak bytes, JSON speaks Unicode. A read may end in the middle of a character, so the encoder
//! holds back an unfinished tail (three bytes at most, separately for output and input) until the next call
//! completes it. Bytes that can never become a character are written as U+FFFD.
//!
//! The reading half ([`Recording`], feature `read`) accepts what a crash leaves behind: a last line that was
//! cut short is reported, not refused.

mod encode;
mod header;
mod json;
#[cfg(feature = "read")]
mod read;

pub use encode::Encoder;
pub use header::{Header, header_line};
#[cfg(feature = "read")]
pub use read::{CastError, Event, EventKind, Recording};
