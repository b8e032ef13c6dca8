//! Terminal bytes to screen, signals and safe input.
//!
//! # Theory of Operation
//!
//! A program in a terminal writes one stream of bytes that is picture, message and question at once. A
//! [`Screen`] takes the stream apart. There is no clock, no thread and no file here: the same bytes give the
//! same rows and [`Signal`]s, however they were cut into pieces.
//!
//! - A *sequencer* finds control sequences. It jumps over plain text and looks only at what follows an ESC, so
//!   that text is parsed once, by the emulator. It alone decides where a sequence ends: the emulator sees whole
//!   sequences or none, and never the strings (OSC, DCS) that could make it grow.
//! - The *terminal* is alacritty's emulator behind a handler that forwards what changes the picture and keeps
//!   everything else within bounds: marks per cell, keyboard flags, repeats, spare rows.
//! - OSC sequences become [`Signal`]s: titles, program status, notifications, progress, prompt marks.
//! - Questions are answered from a fixed set ([`Signal::Reply`]), with the screen as it was at that byte.
//!
//! Synchronized updates are drawn as they come and shown in [`Modes::synchronized`]: when to look is the
//! caller's decision, as every decision that needs a clock.
//!
//! Two ways lead back out. [`Screen::to_restore`] makes another terminal equal to this one, and a [`Painter`]
//! shows it in a viewer's terminal, frame by frame. And one way leads in: text for a program is [`SafeText`],
//! which cannot hold an escape sequence, and keys are a [`Key`], not bytes.

mod emulator;
mod key;
mod keyboard;
mod modes;
mod osc;
mod paint;
mod query;
mod restore;
mod row;
mod screen;
mod sequence;
mod signal;
mod size;
mod style;
mod terminal;
mod text;

pub use key::{Key, Modifiers, encode};
pub use modes::{Cursor, CursorShape, Modes, MouseEncoding, MouseTracking};
pub use ostler_cast as asciicast;
pub use paint::Painter;
pub use row::{Row, Span};
pub use screen::{Screen, Snapshot};
pub use signal::{BlockKind, ProgramState, ProgramStatus, ProgressState, PromptMark, Signal};
pub use size::{Size, SizeError};
pub use style::{Color, Style};
pub use text::SafeText;
