//! Frames: `u32 length | u8 kind | payload`, little-endian; the length counts kind and payload.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Largest frame either side accepts.
pub const MAX_FRAME: usize = 4 << 20;

/// What a frame carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A request or a response.
    Json(Vec<u8>),
    /// Terminal output, keys or a message body.
    Bytes(Vec<u8>),
}

const JSON: u8 = b'J';
const BYTES: u8 = b'B';

/// A frame that cannot be understood.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The length is zero or over the limit.
    #[error("frame of {0} bytes is out of bounds")]
    Length(u32),
    /// The kind is not known.
    #[error("frame kind {0} is not known")]
    Kind(u8),
    /// The JSON is not what was expected.
    #[error("message is not understood: {0}")]
    Json(#[from] serde_json::Error),
    /// Bytes came where JSON was due, or the other way round.
    #[error("a frame of another kind was expected")]
    Unexpected,
    /// The connection failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The peer closed the connection.
    #[error("the connection was closed")]
    Closed,
}

impl Frame {
    /// Reads the JSON of the frame.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, FrameError> {
        match self {
            Self::Json(bytes) => Ok(serde_json::from_slice(bytes)?),
            Self::Bytes(_) => Err(FrameError::Unexpected),
        }
    }

    /// The raw bytes of the frame.
    pub fn bytes(self) -> Result<Vec<u8>, FrameError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Json(_) => Err(FrameError::Unexpected),
        }
    }
}

/// A value as a JSON frame, ready to be written.
pub fn encode_json<T: Serialize>(value: &T) -> Result<Vec<u8>, FrameError> {
    Ok(encode(JSON, &serde_json::to_vec(value)?))
}

/// Bytes as a frame, ready to be written.
pub fn encode_bytes(bytes: &[u8]) -> Vec<u8> {
    encode(BYTES, bytes)
}

fn encode(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len() + 1).unwrap_or(u32::MAX);
    let mut out = Vec::with_capacity(payload.len() + 5);
    out.extend_from_slice(&length.to_le_bytes());
    out.push(kind);
    out.extend_from_slice(payload);
    out
}

/// Length of the body that a header announces, where it may be so long.
fn body_length(header: [u8; 4], most: usize) -> Result<usize, FrameError> {
    let length = u32::from_le_bytes(header);
    if length == 0 || length as usize > most {
        return Err(FrameError::Length(length));
    }
    Ok(length as usize)
}

/// Makes a frame of a body.
fn decode(mut body: Vec<u8>) -> Result<Frame, FrameError> {
    if body.is_empty() {
        return Err(FrameError::Length(0));
    }
    let kind = body.remove(0);
    match kind {
        JSON => Ok(Frame::Json(body)),
        BYTES => Ok(Frame::Bytes(body)),
        other => Err(FrameError::Kind(other)),
    }
}

/// Takes the first whole frame out of a buffer, if one is there. A frame that will be longer than `most` is an error.
pub fn take(buffer: &mut Vec<u8>, most: usize) -> Result<Option<Frame>, FrameError> {
    let Some(header) = buffer.first_chunk::<4>() else { return Ok(None) };
    let end = 4 + body_length(*header, most)?;
    if buffer.len() < end {
        return Ok(None);
    }
    let body = buffer[4..end].to_vec();
    buffer.drain(..end);
    if buffer.is_empty() {
        // An idle connection keeps no buffer.
        *buffer = Vec::new();
    }
    decode(body).map(Some)
}

/// Reads one frame from a blocking stream.
pub fn read(stream: &mut impl Read) -> Result<Frame, FrameError> {
    let mut header = [0; 4];
    read_exact(stream, &mut header)?;
    let mut body = vec![0; body_length(header, MAX_FRAME)?];
    read_exact(stream, &mut body)?;
    decode(body)
}

fn read_exact(stream: &mut impl Read, buffer: &mut [u8]) -> Result<(), FrameError> {
    stream.read_exact(buffer).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => FrameError::Closed,
        _ => FrameError::Io(error),
    })
}

/// Writes a value as a JSON frame to a blocking stream.
pub fn write_json<T: Serialize>(stream: &mut impl Write, value: &T) -> Result<(), FrameError> {
    Ok(stream.write_all(&encode_json(value)?)?)
}

/// Writes bytes as a frame to a blocking stream.
pub fn write_bytes(stream: &mut impl Write, bytes: &[u8]) -> Result<(), FrameError> {
    Ok(stream.write_all(&encode_bytes(bytes))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn golden_frames() {
        assert_eq!(encode_json(&true).unwrap(), b"\x05\0\0\0Jtrue");
        assert_eq!(encode_bytes(b"\x1b[A"), b"\x04\0\0\0B\x1b[A");
        let mut stream: &[u8] = b"\x05\0\0\0Jtrue\x02\0\0\0Bx";
        assert!(read(&mut stream).unwrap().json::<bool>().unwrap());
        assert_eq!(read(&mut stream).unwrap(), Frame::Bytes(b"x".to_vec()));
        assert!(matches!(read(&mut stream), Err(FrameError::Closed)));
    }

    #[test]
    fn frames_are_taken_when_they_are_whole() {
        let mut buffer = Vec::new();
        let mut seen = Vec::new();
        for byte in [encode_bytes(b"one"), encode_bytes(b"")].concat() {
            buffer.push(byte);
            seen.extend(take(&mut buffer, MAX_FRAME).unwrap());
        }
        assert_eq!(seen, [Frame::Bytes(b"one".to_vec()), Frame::Bytes(Vec::new())]);
        assert!(take(&mut vec![0, 0, 0, 0], MAX_FRAME).is_err());
        assert!(take(&mut vec![9, 0, 0, 0], 8).is_err(), "before it is there");
    }

    proptest! {
        #[test]
        fn junk_is_an_error_not_a_panic(junk in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = read(&mut junk.as_slice());
        }
    }
}
