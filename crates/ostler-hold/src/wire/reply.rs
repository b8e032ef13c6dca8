//! What a holder says.

use super::{Lane, Status, WireError, frame, kind};
use crate::codec::{Fields, Put};
use crate::exit::ExitRecord;

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
    /// The terminal collects lines, and would silently drop the end of one of these.
    LineTooLong,
}

impl Outcome {
    const ALL: [Self; 8] = [
        Self::Written,
        Self::Duplicate,
        Self::Pending,
        Self::Stale,
        Self::Corrupt,
        Self::Full,
        Self::Closed,
        Self::LineTooLong,
    ];
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
        /// Sequences that give a new terminal the modes it has at that byte; none from a holder that does not
        /// know them. Sequences, so that a holder may come to know more modes than its daemon has names for.
        modes: &'a [u8],
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

/// Header of an output frame, for callers that send the bytes from where they lie.
pub(crate) fn output_header(offset: u64, len: usize) -> [u8; 13] {
    let mut header = [0; 13];
    let length = u32::try_from(len + 9).unwrap_or(u32::MAX);
    header[..4].copy_from_slice(&length.to_le_bytes());
    header[4] = kind::OUTPUT;
    header[5..].copy_from_slice(&offset.to_le_bytes());
    header
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
            Self::Gap { from, resumed, modes } => frame(out, kind::GAP, |out| {
                out.u64(*from);
                out.u64(*resumed);
                out.text(modes);
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

    /// Reads a frame as [`super::split_frame`] returned it; `None` for a type this version does not know.
    pub fn decode(frame: &'a [u8]) -> Result<Option<Self>, WireError> {
        let mut fields = Fields(frame);
        Ok(Some(match fields.u8()? {
            kind::WELCOME => Self::Welcome { version: fields.u16()?, status: Status::decode(&mut fields)? },
            kind::OUTPUT => Self::Output { offset: fields.u64()?, bytes: fields.rest() },
            kind::GAP => Self::Gap {
                from: fields.u64()?,
                resumed: fields.u64()?,
                // An older holder does not send these.
                modes: fields.text().unwrap_or_default(),
            },
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
