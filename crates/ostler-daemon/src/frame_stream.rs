//! Frames over a socket, as asynchronous code reads and writes them.

use std::io;

use ostler_protocol::frame::{self, Frame, FrameError};
use serde::Serialize;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;

/// Bytes read at once.
const READ: usize = 16 * 1024;

/// One end of a connection between a client and the daemon.
#[derive(Debug)]
pub struct FrameStream {
    stream: UnixStream,
    inbox: Vec<u8>,
}

impl FrameStream {
    /// Speaks frames on `stream`.
    pub fn new(stream: UnixStream) -> Self {
        Self { stream, inbox: Vec::new() }
    }

    /// The next frame. May be cancelled at any time: what has arrived of a frame is kept.
    pub async fn next(&mut self) -> Result<Frame, FrameError> {
        loop {
            if let Some(frame) = frame::take(&mut self.inbox)? {
                return Ok(frame);
            }
            self.stream.readable().await?;
            self.inbox.reserve(READ);
            match self.stream.try_read_buf(&mut self.inbox) {
                Ok(0) => return Err(FrameError::Closed),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                    return Err(FrameError::Closed);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Sends a value as JSON.
    pub async fn say<T: Serialize>(&mut self, value: &T) -> Result<(), FrameError> {
        Ok(self.stream.write_all(&frame::encode_json(value)?).await?)
    }

    /// Sends raw bytes.
    pub async fn bytes(&mut self, bytes: &[u8]) -> Result<(), FrameError> {
        Ok(self.stream.write_all(&frame::encode_bytes(bytes)).await?)
    }
}
