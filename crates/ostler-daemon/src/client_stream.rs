//! Frames to and from a client.

use ostler_protocol::frame::{self, Frame, FrameError};
use ostler_protocol::{Problem, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

/// Where a client's frames come from. Reading is not cancel-safe, so a task of its own reads.
pub(crate) async fn read_frame(stream: &mut OwnedReadHalf) -> Result<Frame, FrameError> {
    let mut header = [0; 4];
    read_exact(stream, &mut header).await?;
    let mut body = vec![0; frame::body_length(header)?];
    read_exact(stream, &mut body).await?;
    frame::decode(body)
}

async fn read_exact(stream: &mut OwnedReadHalf, buffer: &mut [u8]) -> Result<(), FrameError> {
    match stream.read_exact(buffer).await {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Err(FrameError::Closed),
        Err(error) => Err(error.into()),
    }
}

/// Where frames for a client go.
#[derive(Debug)]
pub(crate) struct Replies(OwnedWriteHalf);

impl Replies {
    pub(crate) fn new(stream: OwnedWriteHalf) -> Self {
        Self(stream)
    }

    pub(crate) async fn say(&mut self, response: &Response) -> Result<(), FrameError> {
        Ok(self.0.write_all(&frame::encode_json(response)?).await?)
    }

    pub(crate) async fn bytes(&mut self, bytes: &[u8]) -> Result<(), FrameError> {
        Ok(self.0.write_all(&frame::encode_bytes(bytes)).await?)
    }

    pub(crate) async fn answer(&mut self, result: Result<Response, Problem>) -> Result<(), FrameError> {
        self.say(&result.unwrap_or_else(Response::Failed)).await
    }
}
