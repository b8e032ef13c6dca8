//! The language between a holder and those who attach to it.
//!
//! A frame is `u32 length | u8 type | payload`, all little-endian; the length counts type and payload.
//! The format only grows: decoders ignore bytes behind the fields they know, a client ignores frame types
//! it does not know, a holder answers them with [`Reply::Refused`] and carries on. The first frame of a
//! connection is [`Request::Hello`]; nothing else is answered before it.

use crate::codec::{Put, Truncated};

mod reply;
mod request;
mod status;

pub(crate) use reply::output_header;
pub use reply::{Outcome, Reply};
pub use request::Request;
pub use status::Status;

/// Version of the format this build speaks.
pub const VERSION: u16 = 1;
/// Largest body of one input frame.
pub const MAX_INPUT: usize = 1 << 20;
/// Largest frame either side accepts: an input body and its fields.
pub const MAX_FRAME: usize = MAX_INPUT + 64;
/// Length of the secret that opens a session.
pub const TOKEN_LEN: usize = 16;

const MAGIC: [u8; 4] = *b"OSTH";

/// The secret of one session, kept in a file that only its owner can read.
pub type Token = [u8; TOKEN_LEN];

/// An independent sequence of input frames. Bytes of two frames never mix, whatever their lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Messages: recorded in the store before they are sent, so their sequence survives a crash.
    Message,
    /// Keys of a person at an attached terminal: typed once or never.
    Keys,
    /// Answers to terminal queries; the sequence is the output offset behind the query.
    Reply,
}

impl Lane {
    /// Every lane, in wire order.
    pub const ALL: [Self; 3] = [Self::Message, Self::Keys, Self::Reply];

    /// Position of the lane in [`Lane::ALL`] and on the wire.
    pub const fn index(self) -> usize {
        self as usize
    }

    fn from_wire(value: u8) -> Option<Self> {
        Self::ALL.get(usize::from(value)).copied()
    }
}

/// A frame that cannot be understood; the connection is of no more use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireError {
    /// The length field is over [`MAX_FRAME`] or zero.
    Length(u32),
    /// The payload is shorter than its fields.
    Truncated,
    /// The connection does not begin with our magic bytes.
    NotOstler,
    /// A field has a value that no version defines.
    Value,
    /// The frame type is not known here.
    UnknownType(u8),
}

impl From<Truncated> for WireError {
    fn from(_: Truncated) -> Self {
        Self::Truncated
    }
}

impl std::fmt::Display for WireError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Length(length) => write!(f, "frame of {length} bytes is out of bounds"),
            Self::Truncated => f.write_str("frame ends early"),
            Self::NotOstler => f.write_str("peer does not speak the holder protocol"),
            Self::Value => f.write_str("frame field has an undefined value"),
            Self::UnknownType(kind) => write!(f, "frame type {kind} is not known"),
        }
    }
}

impl std::error::Error for WireError {}

mod kind {
    pub(super) const HELLO: u8 = 1;
    pub(super) const SUBSCRIBE: u8 = 2;
    pub(super) const INPUT: u8 = 3;
    pub(super) const RESIZE: u8 = 4;
    pub(super) const QUERY: u8 = 5;
    pub(super) const STOP: u8 = 6;
    pub(super) const RELEASE: u8 = 7;
    pub(super) const WELCOME: u8 = 129;
    pub(super) const OUTPUT: u8 = 130;
    pub(super) const GAP: u8 = 131;
    pub(super) const INPUT_ANSWER: u8 = 132;
    pub(super) const STATUS: u8 = 133;
    pub(super) const EXITED: u8 = 134;
    pub(super) const REFUSED: u8 = 135;
}

/// A frame (type and payload) and the bytes behind it.
pub type Split<'a> = (&'a [u8], &'a [u8]);

/// Splits the first whole frame off `buffer`, or says `None` if it is not all there.
pub fn split_frame(buffer: &[u8]) -> Result<Option<Split<'_>>, WireError> {
    let Some((length, rest)) = buffer.split_first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_le_bytes(*length);
    if length == 0 || length as usize > MAX_FRAME {
        return Err(WireError::Length(length));
    }
    Ok(rest.split_at_checked(length as usize))
}

/// Appends one frame whose payload is written by `fill`.
fn frame(out: &mut Vec<u8>, kind: u8, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.u32(0);
    out.u8(kind);
    fill(out);
    let length = u32::try_from(out.len() - start - 4).unwrap_or(u32::MAX);
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

#[cfg(test)]
mod tests;
