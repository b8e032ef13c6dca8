//! The language between a holder and those who attach to it.
//!
//! A frame is `u32 length | u8 type | payload`, all little-endian; the length counts type and payload.
//! The format only grows: decoders ignore bytes behind the fields they know, a client ignores frame types
//! it does not know, a holder answers them with [`Reply::Refused`] and carries on. The first frame of a
//! connection is [`Request::Hello`]; nothing else is answered before it.

use crate::codec::{Fields, Put, Truncated};
use crate::exit::ExitRecord;

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
    /// Asks for [`Reply::Status`].
    Query,
    /// Ends the whole process tree: TERM, and KILL for what is left after the grace time.
    Stop {
        /// Milliseconds between TERM and KILL.
        grace_ms: u32,
    },
    /// Says that the exit record was received, for a holder that could not write it to disk.
    Release,
}

/// What became of an input frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Its last byte is in the terminal.
    Written,
    /// Its sequence was seen before and all of it is in the terminal; nothing was typed.
    Duplicate,
    /// Its sequence was seen before and is still being typed; the answer follows.
    Pending,
    /// A newer daemon has taken over.
    Stale,
    /// The checksum does not fit the bytes.
    Corrupt,
    /// An earlier frame still waits for the program to read; try again when that one is written.
    Full,
    /// The program has ended.
    Closed,
}

impl Outcome {
    const ALL: [Self; 7] =
        [Self::Written, Self::Duplicate, Self::Pending, Self::Stale, Self::Corrupt, Self::Full, Self::Closed];
}

/// What a holder knows without looking at the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Status {
    /// The program's process id.
    pub child: u32,
    /// Whether the program still runs.
    pub running: bool,
    /// Total bytes of output so far; the offset of the next byte.
    pub written: u64,
    /// Offset of the oldest byte still kept.
    pub oldest: u64,
    /// Highest epoch seen.
    pub epoch: u64,
    /// Last accepted sequence of each lane, in the order of [`Lane::ALL`].
    pub seqs: [u64; Lane::ALL.len()],
    /// Bytes of accepted input that the program has not taken yet.
    pub pending: u32,
    /// Columns of the terminal.
    pub cols: u16,
    /// Rows of the terminal.
    pub rows: u16,
    /// The terminal collects whole lines (cooked mode).
    pub canonical: bool,
    /// The terminal echoes input.
    pub echo: bool,
    /// The terminal turns control characters into signals.
    pub signals: bool,
    /// Foreground process group, 0 if there is none.
    pub foreground: u32,
}

/// What a holder says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply<'a> {
    /// The connection is open.
    Welcome {
        /// Version the holder speaks.
        version: u16,
        /// The state at this moment.
        status: Status,
    },
    /// A piece of output.
    Output {
        /// Absolute offset of the first byte.
        offset: u64,
        /// The bytes, as the program wrote them.
        bytes: &'a [u8],
    },
    /// Output that is no longer kept.
    Gap {
        /// First byte that is gone.
        from: u64,
        /// First byte that follows.
        resumed: u64,
    },
    /// The answer to an input frame.
    Input {
        /// Lane of the frame.
        lane: Lane,
        /// Sequence of the frame.
        seq: u64,
        /// What became of it.
        outcome: Outcome,
        /// Output offset at which its last byte went in, where known.
        offset: u64,
    },
    /// The answer to a query.
    Status(Status),
    /// The program has ended; all output was sent before.
    Exited(ExitRecord),
    /// The request was not carried out.
    Refused {
        /// Why, for a person.
        reason: &'a str,
    },
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

/// Header of an output frame, for callers that send the bytes from where they lie.
pub(crate) fn output_header(offset: u64, len: usize) -> [u8; 13] {
    let mut header = [0; 13];
    let length = u32::try_from(len + 9).unwrap_or(u32::MAX);
    header[..4].copy_from_slice(&length.to_le_bytes());
    header[4] = kind::OUTPUT;
    header[5..].copy_from_slice(&offset.to_le_bytes());
    header
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

    /// Reads a frame as [`split_frame`] returned it.
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

impl Status {
    fn encode(&self, out: &mut Vec<u8>) {
        out.u32(self.child);
        out.u8(u8::from(self.running)
            | u8::from(self.canonical) << 1
            | u8::from(self.echo) << 2
            | u8::from(self.signals) << 3);
        out.u64(self.written);
        out.u64(self.oldest);
        out.u64(self.epoch);
        for seq in self.seqs {
            out.u64(seq);
        }
        out.u32(self.pending);
        out.u16(self.cols);
        out.u16(self.rows);
        out.u32(self.foreground);
    }

    fn decode(fields: &mut Fields<'_>) -> Result<Self, Truncated> {
        let child = fields.u32()?;
        let flags = fields.u8()?;
        Ok(Self {
            child,
            running: flags & 1 != 0,
            canonical: flags & 2 != 0,
            echo: flags & 4 != 0,
            signals: flags & 8 != 0,
            written: fields.u64()?,
            oldest: fields.u64()?,
            epoch: fields.u64()?,
            seqs: [fields.u64()?, fields.u64()?, fields.u64()?],
            pending: fields.u32()?,
            cols: fields.u16()?,
            rows: fields.u16()?,
            foreground: fields.u32()?,
        })
    }
}

impl<'a> Reply<'a> {
    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Welcome { version, status } => frame(out, kind::WELCOME, |out| {
                out.u16(*version);
                status.encode(out);
            }),
            Self::Output { offset, bytes } => {
                out.extend_from_slice(&output_header(*offset, bytes.len()));
                out.extend_from_slice(bytes);
            }
            Self::Gap { from, resumed } => frame(out, kind::GAP, |out| {
                out.u64(*from);
                out.u64(*resumed);
            }),
            Self::Input { lane, seq, outcome, offset } => frame(out, kind::INPUT_ANSWER, |out| {
                out.u8(*lane as u8);
                out.u64(*seq);
                out.u8(*outcome as u8);
                out.u64(*offset);
            }),
            Self::Status(status) => frame(out, kind::STATUS, |out| status.encode(out)),
            Self::Exited(record) => frame(out, kind::EXITED, |out| record.encode(out)),
            Self::Refused { reason } => frame(out, kind::REFUSED, |out| out.text(reason.as_bytes())),
        }
    }

    /// Reads a frame as [`split_frame`] returned it; `None` for a type this version does not know.
    pub fn decode(frame: &'a [u8]) -> Result<Option<Self>, WireError> {
        let mut fields = Fields(frame);
        Ok(Some(match fields.u8()? {
            kind::WELCOME => Self::Welcome { version: fields.u16()?, status: Status::decode(&mut fields)? },
            kind::OUTPUT => Self::Output { offset: fields.u64()?, bytes: fields.rest() },
            kind::GAP => Self::Gap { from: fields.u64()?, resumed: fields.u64()? },
            kind::INPUT_ANSWER => Self::Input {
                lane: Lane::from_wire(fields.u8()?).ok_or(WireError::Value)?,
                seq: fields.u64()?,
                outcome: *Outcome::ALL.get(usize::from(fields.u8()?)).ok_or(WireError::Value)?,
                offset: fields.u64()?,
            },
            kind::STATUS => Self::Status(Status::decode(&mut fields)?),
            kind::EXITED => Self::Exited(ExitRecord::decode(&mut fields)?),
            kind::REFUSED => {
                Self::Refused { reason: std::str::from_utf8(fields.text()?).map_err(|_| WireError::Value)? }
            }
            _ => return Ok(None),
        }))
    }
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
