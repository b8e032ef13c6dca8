//! What agents write down of their conversations.
//!
//! An agent's transcript is a file of JSON lines, or a database whose rows are JSON. Where it is and what its
//! records mean is data ([`TranscriptSpec`]); a [`Decoder`] turns one record after the other into facts, and a
//! [`Pattern`] says which files may be a session's transcript. Finding, opening and following files is not done
//! here.

mod decoder;
mod error;
mod memory;
mod pattern;
mod record;
mod spec;
mod test;
mod value;

pub use decoder::{Decoder, Owner, Skipped};
pub use error::SpecError;
pub use memory::Memory;
pub use pattern::{Fill, NamePattern, Pattern};
pub use spec::{
    CaseSpec, Conditions, FactKind, Format, Mangle, RecordSpec, Scalar, TestSpec, TestTable, TranscriptSpec,
    UsageSpec,
};

/// Longest record that is read, in bytes. Longer ones are pictures and pasted files: they are skipped.
pub const MAX_LINE: usize = 8 << 20;

/// Reads one line in every way there is; never panics. For fuzzing.
pub fn fuzz_line(decoder: &mut Decoder, line: &[u8]) {
    let _ = decoder.owner(line);
    let _ = decoder.line(line);
    decoder.rewound();
    let _ = decoder.line(line);
}

#[cfg(test)]
mod tests;
