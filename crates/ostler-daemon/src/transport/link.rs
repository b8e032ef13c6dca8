//! The daemon's end of a connection to a holder.

use std::io;
use std::time::Duration;

use ostler_hold::wire::{self, Reply, Request, Status};
use ostler_hold::{SessionDir, SocketPath};
use tokio::io::Interest;
use tokio::net::UnixStream;

/// How long a holder may take to greet.
const GREETING: Duration = Duration::from_secs(2);
/// Bytes read at once.
const READ: usize = 64 * 1024;
/// An idle connection keeps no more buffer than this.
const KEPT: usize = 4 * 1024;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Wire(#[from] wire::WireError),
    #[error("the holder refused: {0}")]
    Refused(String),
    #[error("the holder did not greet in time")]
    Silent,
    #[error("the holder closed the connection")]
    Closed,
}

/// A connection to a holder. Requests are queued and sent as the holder takes them; what has arrived is taken
/// out in whole frames.
#[derive(Debug)]
pub(crate) struct Link {
    stream: UnixStream,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
}

impl Link {
    /// Connects, shows the token, and returns the holder's state.
    pub(crate) async fn connect(dir: &SessionDir) -> Result<(Self, Status), LinkError> {
        tokio::time::timeout(GREETING, Self::greet(dir)).await.map_err(|_| LinkError::Silent)?
    }

    async fn greet(dir: &SessionDir) -> Result<(Self, Status), LinkError> {
        let token = dir.read_token()?;
        let path = SocketPath::new(&dir.socket())?;
        let stream = UnixStream::connect(path.as_path()).await?;
        let mut link = Self { stream, inbox: Vec::new(), outbox: Vec::new() };
        link.queue(&Request::Hello { version: wire::VERSION, token });
        loop {
            link.ready().await?;
            let Some((frame, _)) = wire::split_frame(&link.inbox)? else { continue };
            let status = match Reply::decode(frame)? {
                Some(Reply::Welcome { status, .. }) => status,
                Some(Reply::Refused { reason }) => return Err(LinkError::Refused(reason.to_owned())),
                _ => return Err(LinkError::Wire(wire::WireError::NotOstler)),
            };
            let length = frame.len() + 4;
            link.inbox.drain(..length);
            return Ok((link, status));
        }
    }

    /// Appends a request to what is to be sent; [`Link::ready`] sends it.
    pub(crate) fn queue(&mut self, request: &Request<'_>) {
        request.encode(&mut self.outbox);
        // What the holder takes at once needs no other wake-up.
        let _ = self.flush();
    }

    /// Sends and receives until something has arrived. May be cancelled at any time.
    pub(crate) async fn ready(&mut self) -> Result<(), LinkError> {
        loop {
            let mut interest = Interest::READABLE;
            if !self.outbox.is_empty() {
                interest |= Interest::WRITABLE;
            }
            let ready = self.stream.ready(interest).await?;
            if ready.is_writable() {
                self.flush()?;
            }
            if ready.is_readable() {
                self.inbox.reserve(READ);
                match self.stream.try_read_buf(&mut self.inbox) {
                    Ok(0) => return Err(LinkError::Closed),
                    Ok(_) => return Ok(()),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.put_back(0, Vec::new()),
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        while !self.outbox.is_empty() {
            match self.stream.try_write(&self.outbox) {
                Ok(count) => drop(self.outbox.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.outbox = Vec::new();
        Ok(())
    }

    /// Takes out the whole frames that have arrived; nothing if there is none.
    pub(crate) fn take_frames(&mut self) -> Result<Vec<u8>, LinkError> {
        let mut whole = 0;
        while let Some((_, rest)) = wire::split_frame(&self.inbox[whole..])? {
            whole = self.inbox.len() - rest.len();
        }
        let rest = self.inbox.split_off(whole);
        Ok(std::mem::replace(&mut self.inbox, rest))
    }

    /// Hands out what has arrived, so that its frames can be read while the link is used; the rest comes back
    /// by [`Link::put_back`].
    pub(crate) fn take_inbox(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.inbox)
    }

    /// Returns the inbox, of which `used` bytes were read.
    pub(crate) fn put_back(&mut self, used: usize, mut inbox: Vec<u8>) {
        if inbox.is_empty() {
            std::mem::swap(&mut inbox, &mut self.inbox);
        }
        inbox.drain(..used);
        if inbox.is_empty() && inbox.capacity() > KEPT {
            inbox = Vec::new();
        }
        self.inbox = inbox;
    }
}
