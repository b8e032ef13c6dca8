//! A file of lines that grows, is cut, or is replaced.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

use ostler_agents::transcript::MAX_LINE;
use serde::{Deserialize, Serialize};

/// Bytes that one step reads at most, so that a huge file cannot keep others waiting.
const STEP: usize = 4 << 20;
/// Bytes that one call reads.
const CHUNK: usize = 64 << 10;
/// Bytes before the offset that are recognised again.
const MARK: usize = 128;

/// What a file is, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub(super) fn of(file: &File) -> io::Result<Self> {
        Ok(Self::from(&file.metadata()?))
    }
}

impl From<&Metadata> for FileId {
    fn from(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// How far a file was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Position {
    /// Behind the last line that was read; in a database, its key.
    pub offset: u64,
    /// In the middle of a line that is too long to be read.
    skipping: bool,
    /// How many bytes before the offset are recognised.
    marked: u8,
    /// A hash of them.
    mark: u64,
}

impl Position {
    /// Behind the row of a database that has this key.
    pub(super) fn behind(key: i64) -> Self {
        Self { offset: key.cast_unsigned(), ..Self::default() }
    }
}

/// A line that was read.
pub(super) enum Line<'a> {
    /// Its bytes, without the end.
    Whole(&'a [u8]),
    /// One that is too long.
    TooLong,
}

/// What became of a file since the last step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// All that is there was read.
    End,
    /// There is more.
    More,
    /// It was cut or written anew: reading begins again at its start.
    Rewritten,
}

/// Reads the lines of a file as they come.
#[derive(Debug)]
pub(super) struct Tail {
    file: File,
    id: FileId,
    position: Position,
    /// The beginning of a line whose end is not there yet.
    partial: Vec<u8>,
    /// The last bytes before the offset.
    last: Vec<u8>,
}

impl Tail {
    /// Begins at the start of a file.
    pub(super) fn new(file: File) -> io::Result<Self> {
        let id = FileId::of(&file)?;
        Ok(Self { file, id, position: Position::default(), partial: Vec::new(), last: Vec::new() })
    }

    /// Begins where a file was read to, if it is still the same up to there.
    pub(super) fn resume(file: File, position: Position) -> io::Result<Option<Self>> {
        let mut tail = Self { position, ..Self::new(file)? };
        tail.last = vec![0; usize::from(position.marked)];
        let from = position.offset.checked_sub(u64::from(position.marked));
        let same = match from {
            Some(from) => {
                tail.file.read_exact_at(&mut tail.last, from).is_ok() && fnv(&tail.last) == position.mark
            }
            None => false,
        };
        Ok(same.then_some(tail))
    }

    pub(super) fn id(&self) -> FileId {
        self.id
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn position(&self) -> Position {
        Position {
            marked: u8::try_from(self.last.len()).unwrap_or(u8::MAX),
            mark: fnv(&self.last),
            ..self.position
        }
    }

    /// Reads lines that have come.
    pub(super) fn step(&mut self, mut line: impl FnMut(Line<'_>)) -> io::Result<Progress> {
        if self.was_rewritten()? {
            self.position = Position::default();
            self.partial = Vec::new();
            self.last.clear();
            return Ok(Progress::Rewritten);
        }
        let mut chunk = vec![0; CHUNK];
        let mut read = 0;
        while read < STEP {
            let at = self.position.offset + self.partial.len() as u64;
            let count = match self.file.read_at(&mut chunk, at) {
                Ok(0) => return Ok(Progress::End),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            read += count;
            self.take(&chunk[..count], &mut line);
        }
        Ok(Progress::More)
    }

    /// The last line, of a file that will not grow any more, though its end is missing.
    pub(super) fn finish(&mut self, mut line: impl FnMut(Line<'_>)) {
        if !self.partial.is_empty() {
            line(Line::Whole(&std::mem::take(&mut self.partial)));
        }
    }

    /// Whether the file is shorter than what was read of it, or has something else there.
    fn was_rewritten(&self) -> io::Result<bool> {
        let read = self.position.offset + self.partial.len() as u64;
        if self.file.metadata()?.len() < read {
            return Ok(true);
        }
        let mut there = vec![0; self.last.len()];
        let from = self.position.offset - self.last.len() as u64;
        match self.file.read_exact_at(&mut there, from) {
            Ok(()) => Ok(there != self.last),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(true),
            Err(error) => Err(error),
        }
    }

    fn take(&mut self, mut bytes: &[u8], line: &mut impl FnMut(Line<'_>)) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (head, rest) = (&bytes[..end], &bytes[end + 1..]);
            if self.position.skipping {
                self.position.skipping = false;
                line(Line::TooLong);
                self.advance(&bytes[..=end]);
            } else if self.partial.is_empty() {
                line(Line::Whole(head));
                self.advance(&bytes[..=end]);
            } else {
                self.partial.extend_from_slice(&bytes[..=end]);
                let whole = std::mem::take(&mut self.partial);
                line(Line::Whole(&whole[..whole.len() - 1]));
                self.advance(&whole);
            }
            bytes = rest;
        }
        if self.position.skipping {
            self.advance(bytes);
            return;
        }
        self.partial.extend_from_slice(bytes);
        if self.partial.len() > MAX_LINE {
            self.position.skipping = true;
            let begun = std::mem::take(&mut self.partial);
            self.advance(&begun);
        }
    }

    fn advance(&mut self, bytes: &[u8]) {
        self.position.offset += bytes.len() as u64;
        self.last.extend_from_slice(&bytes[bytes.len().saturating_sub(MARK)..]);
        self.last.drain(..self.last.len().saturating_sub(MARK));
    }
}

/// FNV-1a: the same in every version of ostler.
fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests;
