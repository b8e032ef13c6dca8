//! Frames over a socket, as asynchronous code reads and writes them.

use std::io;
use std::time::Duration;

use ostler_protocol::frame::{self, Frame, FrameError};
use serde::Serialize;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::time::Instant;

/// Bytes read at once.
const READ: usize = 16 * 1024;
/// How long the rest of a frame may take, and a frame that has to come next.
const PATIENCE: Duration = Duration::from_secs(10);

/// One end of a connection between a client and the daemon.
#[derive(Debug)]
pub struct FrameStream {
    stream: UnixStream,
    inbox: Vec<u8>,
    /// Until when the frame has to be whole of which a part is there.
    whole_by: Option<Instant>,
}

impl FrameStream {
    /// Speaks frames on `stream`.
    pub fn new(stream: UnixStream) -> Self {
        Self { stream, inbox: Vec::new(), whole_by: None }
    }

    /// The next frame, which may be long in coming. May be cancelled at any time: what has arrived of a frame is kept.
    pub async fn next(&mut self) -> Result<Frame, FrameError> {
        self.receive(frame::MAX_FRAME).await
    }

    /// A frame of at most so many bytes that the other end sends at once.
    pub async fn due(&mut self, most: usize) -> Result<Frame, FrameError> {
        let received = tokio::time::timeout(PATIENCE, self.receive(most)).await;
        received.unwrap_or_else(|_| Err(too_late()))
    }

    async fn receive(&mut self, most: usize) -> Result<Frame, FrameError> {
        loop {
            if let Some(frame) = frame::take(&mut self.inbox, most)? {
                self.whole_by = None;
                return Ok(frame);
            }
            if self.inbox.is_empty() {
                self.stream.readable().await?;
            } else {
                let by = *self.whole_by.get_or_insert_with(|| Instant::now() + PATIENCE);
                tokio::time::timeout_at(by, self.stream.readable()).await.map_err(|_| too_late())??;
            }
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

fn too_late() -> FrameError {
    io::Error::new(io::ErrorKind::TimedOut, "a frame did not come in time").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_frame_that_was_begun_or_is_due_is_not_waited_for_for_ever() {
        let pair = || {
            let (near, far) = UnixStream::pair().unwrap();
            (FrameStream::new(near), far)
        };
        let late = |received: Result<Frame, FrameError>| matches!(received, Err(FrameError::Io(error)) if error.kind() == io::ErrorKind::TimedOut);
        let began = Instant::now();
        let (mut silent, _far) = pair();
        assert!(late(silent.due(100).await));
        let (mut half, mut far) = pair();
        far.write_all(&[9, 0, 0, 0, b'J']).await.unwrap();
        assert!(late(half.next().await));
        assert_eq!(began.elapsed(), 2 * PATIENCE);
        let (mut large, mut far) = pair();
        far.write_all(&[9, 0, 0, 0]).await.unwrap();
        assert!(matches!(large.due(8).await, Err(FrameError::Length(9))));
        // Between frames a client may take its time.
        let (mut idle, mut far) = pair();
        let day = Duration::from_hours(24);
        assert!(tokio::time::timeout(day, idle.next()).await.is_err());
        far.write_all(&frame::encode_bytes(b"x")).await.unwrap();
        assert_eq!(idle.next().await.unwrap(), Frame::Bytes(b"x".to_vec()));
    }
}
