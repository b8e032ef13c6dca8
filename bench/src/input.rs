//! Output for terminals to show, the same bytes in every run.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Size of each file, give or take a line.
const SIZE: u64 = 50_000_000;

const WORDS: &[&str] = &[
    "the",
    "quick",
    "session",
    "holder",
    "writes",
    "a",
    "line",
    "of",
    "text",
    "and",
    "then",
    "another",
    "until",
    "everything",
    "was",
    "said",
    "twice",
    "src/main.rs",
    "warning:",
    "unused",
    "variable",
    "0x7ffe",
    "12345",
    "compiling",
];

/// What kind of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Lines of words, as a build log has.
    Plain,
    /// Names in colours, in columns, as `ls` prints them.
    Coloured,
    /// Words without an end of line, as a data file has that was printed by mistake.
    Endless,
    /// A screen of 120x40 drawn again and again, as a full-screen program does it.
    Redraw,
}

/// A file of output.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    newlines: u64,
}

impl Input {
    /// Writes a large file of the given kind in `directory`.
    pub(crate) fn generate(kind: Kind, directory: &Path) -> Result<Self> {
        Self::write(kind, SIZE, directory)
    }

    /// Writes a file that fills a screen of 120x40 in colours.
    pub(crate) fn screenful(directory: &Path) -> Result<Self> {
        Self::write(Kind::Redraw, 1, directory)
    }

    fn write(kind: Kind, size: u64, directory: &Path) -> Result<Self> {
        let path = directory.join(format!("{kind:?}.txt").to_lowercase());
        let file = File::create(&path).with_context(|| path.display().to_string())?;
        let mut out = Counting { out: BufWriter::with_capacity(1 << 20, file), bytes: 0, newlines: 0 };
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        while out.bytes < size {
            match kind {
                Kind::Plain => plain_line(&mut out, &mut random)?,
                Kind::Endless => write!(out, "{} ", random.word())?,
                Kind::Coloured => coloured_line(&mut out, &mut random)?,
                Kind::Redraw => frame(&mut out, &mut random)?,
            }
        }
        out.out.flush()?;
        Ok(Self { path, bytes: out.bytes, newlines: out.newlines })
    }

    /// Bytes that a terminal in its usual mode hands on: each end of line becomes two.
    pub(crate) fn shown(&self) -> u64 {
        self.bytes + self.newlines
    }
}

fn plain_line(out: &mut impl Write, random: &mut Random) -> io::Result<()> {
    for _ in 0..random.below(14) + 3 {
        write!(out, "{} ", random.word())?;
    }
    writeln!(out)
}

fn coloured_line(out: &mut impl Write, random: &mut Random) -> io::Result<()> {
    for _ in 0..6 {
        let colour = ["01;34", "01;32", "01;36", "01;31", "38;5;208", "0"][random.below(6)];
        let name = random.word();
        write!(out, "\x1b[0m\x1b[{colour}m{name}\x1b[0m{:1$}", "", 18 - name.len())?;
    }
    writeln!(out)
}

fn frame(out: &mut impl Write, random: &mut Random) -> io::Result<()> {
    write!(out, "\x1b[?2026h\x1b[?25l\x1b[H")?;
    for row in 1..=40 {
        write!(out, "\x1b[{row};1H")?;
        if row % 20 == 1 {
            write!(out, "\x1b[38;2;90;90;90m╭{}╮\x1b[39m", "─".repeat(118))?;
            continue;
        }
        write!(out, "\x1b[2m│\x1b[22m ")?;
        for _ in 0..=random.below(9) {
            let (red, green) = (random.below(256), random.below(256));
            write!(out, "\x1b[38;2;{red};{green};128m{}\x1b[39m ", random.word())?;
        }
        write!(out, "\x1b[K")?;
    }
    write!(out, "\x1b[38;3H\x1b[?25h\x1b[?2026l")
}

/// A small generator with a fixed seed (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len())]
    }
}

/// Counts what it passes on.
struct Counting<W> {
    out: W,
    bytes: u64,
    newlines: u64,
}

impl<W: Write> Write for Counting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write_all(bytes)?;
        self.bytes += bytes.len() as u64;
        self.newlines += bytes.iter().map(|byte| u64::from(*byte == b'\n')).sum::<u64>();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_file() {
        let directory = tempfile::tempdir().unwrap();
        for kind in [Kind::Plain, Kind::Endless, Kind::Coloured, Kind::Redraw] {
            let input = Input::generate(kind, directory.path()).unwrap();
            let bytes = std::fs::read(&input.path).unwrap();
            assert_eq!(bytes.len() as u64, input.bytes);
            let newlines = String::from_utf8(bytes).unwrap().matches('\n').count();
            assert_eq!(newlines as u64, input.newlines);
        }
    }
}
