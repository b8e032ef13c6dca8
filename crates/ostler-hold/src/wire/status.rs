//! What a holder knows without looking at the output.

use super::Lane;
use crate::codec::{Fields, Put, Truncated};

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
    /// Bytes of accepted input that the program has not read yet.
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

impl Status {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
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

    pub(super) fn decode(fields: &mut Fields<'_>) -> Result<Self, Truncated> {
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
