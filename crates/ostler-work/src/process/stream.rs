//! What a program writes.

use std::io;

use rustix::io::Errno;
use tokio::net::unix::pipe;

use crate::kept::{Keep, Kept};

/// How much may come after the end, from processes that left the group and still have the pipe.
const AFTERTHOUGHTS: usize = 1 << 20;

/// One of the outputs of a program.
pub(super) struct Stream {
    reader: pipe::Receiver,
    buffer: Box<[u8]>,
    pub(super) kept: Kept,
    keep: Keep,
    pub(super) closed: bool,
}

impl Stream {
    pub(super) fn new(reader: io::PipeReader, keep: Keep) -> io::Result<Self> {
        let reader = pipe::Receiver::from_owned_fd(reader.into())?;
        Ok(Self { reader, buffer: vec![0; 64 << 10].into(), kept: Kept::default(), keep, closed: false })
    }

    /// Waits for output and takes it.
    pub(super) async fn read(&mut self) -> io::Result<()> {
        self.reader.readable().await?;
        match self.reader.try_read(&mut self.buffer) {
            Ok(0) => self.closed = true,
            Ok(count) => self.kept.push(&self.buffer[..count], self.keep),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Takes what is left. The end of the stream is not waited for: others may hold it open for ever.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        let mut left = AFTERTHOUGHTS;
        while !self.closed && left > 0 {
            // Past the runtime, which may not have heard of the last bytes yet.
            match rustix::io::read(&self.reader, &mut self.buffer[..]) {
                Ok(0) => self.closed = true,
                Ok(count) => {
                    self.kept.push(&self.buffer[..count], self.keep);
                    left = left.saturating_sub(count);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
