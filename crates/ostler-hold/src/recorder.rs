//! The recording of a session, bounded in size.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use ostler_cast::{Encoder, Header};

/// Writes an asciicast as output arrives. A full disk or a reached limit ends the recording, never the session.
#[derive(Debug)]
pub(crate) struct Recorder {
    file: Option<File>,
    encoder: Encoder,
    started: Instant,
    left: u64,
    line: Vec<u8>,
}

impl Recorder {
    pub(crate) fn create(path: &Path, header: &Header, limit: u64) -> io::Result<Self> {
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
        let line = ostler_cast::header_line(header);
        file.write_all(line.as_bytes())?;
        Ok(Self {
            file: Some(file),
            encoder: Encoder::default(),
            started: Instant::now(),
            left: limit.saturating_sub(line.len() as u64),
            line: Vec::new(),
        })
    }

    pub(crate) fn output(&mut self, bytes: &[u8]) {
        self.record(|encoder, at, line| encoder.output(at, bytes, line));
    }

    /// Notes that something was typed. What it was is nobody's business.
    pub(crate) fn typed(&mut self, enter: bool) {
        self.record(|encoder, at, line| encoder.typed(at, enter, line));
    }

    /// Notes the end, so that the silence before it is part of the recording.
    pub(crate) fn ended(&mut self) {
        self.record(|encoder, at, line| encoder.marker(at, "ended", line));
    }

    pub(crate) fn resize(&mut self, cols: u16, rows: u16) {
        self.record(|encoder, at, line| encoder.resize(at, cols, rows, line));
    }

    fn record(&mut self, encode: impl FnOnce(&mut Encoder, Duration, &mut Vec<u8>)) {
        let Some(file) = &mut self.file else { return };
        let at = self.started.elapsed();
        self.line.clear();
        encode(&mut self.encoder, at, &mut self.line);
        let len = self.line.len() as u64;
        let written = if len <= self.left {
            file.write_all(&self.line)
        } else {
            self.line.clear();
            self.encoder.marker(at, "recording stopped: size limit reached", &mut self.line);
            let _ = file.write_all(&self.line);
            Err(io::Error::other("limit"))
        };
        self.left = self.left.saturating_sub(len);
        if written.is_err() {
            self.file = None;
        }
    }
}
