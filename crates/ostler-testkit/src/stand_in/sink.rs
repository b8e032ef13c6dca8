//! A program that keeps every byte it is sent, for tests that count them.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use super::terminal::{self, Terminal};

/// Appends standard input to `file` and acknowledges the running total after each read.
pub(super) fn run(file: Option<&Path>) -> io::Result<ExitCode> {
    let path = file.ok_or_else(|| io::Error::other("`--mode sink` needs `--sink FILE`"))?;
    let mut sink = OpenOptions::new().append(true).create(true).open(path)?;
    let _restored_on_return = Terminal::raw()?;
    terminal::write(b"sink ready\r\n")?;
    let mut total = 0;
    while let Some(bytes) = terminal::read()? {
        sink.write_all(&bytes)?;
        total += bytes.len();
        terminal::write(format!("sink {total}\r\n").as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}
