//! What a client may ask.

use super::{Lane, MAGIC, Token, WireError, frame, kind};
use crate::codec::{Fields, Put};

/// What a client may ask of a holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request<'a> {
    /// Opens the connection.
    Hello {
        /// Newest version the client speaks.
        version: u16,
        /// The session's secret.
        token: Token,
    },
    /// Asks for all output from this absolute offset on.
    Subscribe {
        /// First byte wanted.
        from: u64,
        /// The program may be slowed down a little so that this reader misses nothing.
        paced: bool,
    },
    /// Bytes for the program.
    Input {
        /// Which sequence `seq` belongs to.
        lane: Lane,
        /// Grows with every daemon; an older one is refused.
        epoch: u64,
        /// Grows with every frame of a lane; a repeated one is not typed again.
        seq: u64,
        /// CRC-32 of `bytes`.
        crc: u32,
        /// What to type, verbatim.
        bytes: &'a [u8],
    },
    /// Sets the terminal's size.
    Resize {
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
    /// Asks for [`super::Reply::Status`].
    Query,
    /// Ends the whole process tree: TERM, and KILL for what is left after the grace time.
    Stop {
        /// Milliseconds between TERM and KILL.
        grace_ms: u32,
    },
    /// Says that the exit record was received, for a holder that could not write it to disk.
    Release,
}

impl<'a> Request<'a> {
    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Hello { version, token } => frame(out, kind::HELLO, |out| {
                out.extend_from_slice(&MAGIC);
                out.u16(*version);
                out.extend_from_slice(token);
            }),
            Self::Subscribe { from, paced } => frame(out, kind::SUBSCRIBE, |out| {
                out.u64(*from);
                out.u8(u8::from(*paced));
            }),
            Self::Input { lane, epoch, seq, crc, bytes } => frame(out, kind::INPUT, |out| {
                out.u8(*lane as u8);
                out.u64(*epoch);
                out.u64(*seq);
                out.u32(*crc);
                out.extend_from_slice(bytes);
            }),
            Self::Resize { cols, rows } => frame(out, kind::RESIZE, |out| {
                out.u16(*cols);
                out.u16(*rows);
            }),
            Self::Query => frame(out, kind::QUERY, |_| {}),
            Self::Stop { grace_ms } => frame(out, kind::STOP, |out| out.u32(*grace_ms)),
            Self::Release => frame(out, kind::RELEASE, |_| {}),
        }
    }

    /// Reads a frame as [`super::split_frame`] returned it.
    pub fn decode(frame: &'a [u8]) -> Result<Self, WireError> {
        let mut fields = Fields(frame);
        Ok(match fields.u8()? {
            kind::HELLO => {
                if fields.array()? != MAGIC {
                    return Err(WireError::NotOstler);
                }
                Self::Hello { version: fields.u16()?, token: fields.array()? }
            }
            kind::SUBSCRIBE => Self::Subscribe { from: fields.u64()?, paced: fields.u8()? & 1 == 1 },
            kind::INPUT => Self::Input {
                lane: Lane::from_wire(fields.u8()?).ok_or(WireError::Value)?,
                epoch: fields.u64()?,
                seq: fields.u64()?,
                crc: fields.u32()?,
                bytes: fields.rest(),
            },
            kind::RESIZE => Self::Resize { cols: fields.u16()?, rows: fields.u16()? },
            kind::QUERY => Self::Query,
            kind::STOP => Self::Stop { grace_ms: fields.u32()? },
            kind::RELEASE => Self::Release,
            other => return Err(WireError::UnknownType(other)),
        })
    }
}
