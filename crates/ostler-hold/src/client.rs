//! One connection to a holder.

use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::ring::Ring;
use crate::wire::{self, Reply};

/// Most output in one frame. The kernel takes a write of this size whole or not at all, so that no rest of a frame
/// has to be kept.
const CHUNK: usize = 32 * 1024 - 64;
/// How long a paced reader may take nothing before the program no longer waits for it. A daemon on a busy
/// machine gets no time for a second or more; one that takes longer is stuck.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a client may take to show the token.
const GREETING: Duration = Duration::from_secs(10);
/// Most bytes that are kept of a client that has not shown the token.
const GREETING_BYTES: usize = 256;

/// A connected client: what it sent that is not a whole frame yet, what it has not taken yet, how far it has
/// read the output.
#[derive(Debug)]
pub(crate) struct Client {
    stream: UnixStream,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    /// When it came.
    since: Instant,
    /// It has shown the token.
    pub(crate) greeted: bool,
    /// Next byte of output to send, for a subscriber.
    cursor: Option<u64>,
    paced: bool,
    /// When it last took some output, or had nothing to take.
    progress: Instant,
    /// It was told that the program has ended.
    pub(crate) told_exit: bool,
    /// It gets what is in the outbox, then the connection ends.
    pub(crate) closing: bool,
}

impl Client {
    pub(crate) fn new(stream: UnixStream, now: Instant) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            inbox: Vec::new(),
            outbox: Vec::new(),
            since: now,
            greeted: false,
            cursor: None,
            paced: false,
            progress: now,
            told_exit: false,
            closing: false,
        })
    }

    /// Until when it has to show the token, if it has not.
    pub(crate) fn greets_until(&self) -> Option<Instant> {
        (!self.greeted).then(|| self.since + GREETING)
    }

    /// Reads what has arrived; `false` when the peer is gone, or says too much before it shows the token.
    pub(crate) fn receive(&mut self) -> bool {
        // Small, since it is on the stack of a process that exists once per session.
        let mut buffer = [0u8; 4 * 1024];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return false,
                Ok(count) => {
                    self.inbox.extend_from_slice(&buffer[..count]);
                    // What follows a token that was shown at once is not yet taken off.
                    if !self.greeted && !self.is_greeting() {
                        return false;
                    }
                    // A whole frame is handled before more is read, so memory stays at one frame.
                    if self.inbox.len() > wire::MAX_FRAME || count < buffer.len() {
                        return true;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }

    /// Whether what has arrived of the first frame can be a token.
    fn is_greeting(&self) -> bool {
        let Some(header) = self.inbox.first_chunk::<4>() else { return true };
        u32::from_le_bytes(*header) as usize <= GREETING_BYTES
    }

    /// Takes the next whole frame off the inbox.
    pub(crate) fn next_frame(&mut self) -> Result<Option<Vec<u8>>, wire::WireError> {
        let Some((frame, rest)) = wire::split_frame(&self.inbox)? else { return Ok(None) };
        let (frame, rest) = (frame.to_vec(), rest.len());
        self.inbox.drain(..self.inbox.len() - rest);
        if self.inbox.is_empty() {
            self.inbox = Vec::new();
        }
        Ok(Some(frame))
    }

    pub(crate) fn reply(&mut self, reply: &Reply<'_>) {
        reply.encode(&mut self.outbox);
    }

    pub(crate) fn refuse(&mut self, reason: &str) {
        self.reply(&Reply::Refused { reason });
        self.closing = true;
    }

    pub(crate) fn subscribe(&mut self, from: u64, paced: bool, now: Instant) {
        self.cursor = Some(from);
        self.paced = paced;
        self.progress = now;
    }

    fn lag(&self, ring: &Ring) -> u64 {
        self.cursor.map_or(0, |cursor| ring.written().saturating_sub(cursor))
    }

    /// Notes that output is about to arrive: one who has taken all so far is not late because it was quiet.
    pub(crate) fn before_output(&mut self, ring: &Ring, now: Instant) {
        if self.lag(ring) == 0 {
            self.progress = now;
        }
    }

    /// Until when the program has to wait for this reader; `None` if it need not.
    pub(crate) fn holds_back(&self, ring: &Ring, now: Instant) -> Option<Instant> {
        let until = self.progress + PATIENCE;
        (self.paced && self.lag(ring) >= ring.capacity() as u64 / 2 && now < until).then_some(until)
    }

    /// Whether there is something to send.
    pub(crate) fn wants_write(&self, ring: &Ring) -> bool {
        !self.outbox.is_empty() || self.lag(ring) > 0
    }

    /// Sends what the peer takes now; `false` when it is gone.
    pub(crate) fn send(&mut self, ring: &Ring, now: Instant) -> bool {
        loop {
            let sent = if self.outbox.is_empty() { self.send_output(ring) } else { self.send_outbox() };
            match sent {
                Ok(true) => self.progress = now,
                Ok(false) => return true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(_) => return false,
            }
        }
    }

    fn send_outbox(&mut self) -> io::Result<bool> {
        let count = self.stream.write(&self.outbox)?;
        self.outbox.drain(..count);
        if self.outbox.is_empty() {
            self.outbox = Vec::new();
        }
        Ok(true)
    }

    /// Sends one frame of output from where it lies in the ring.
    fn send_output(&mut self, ring: &Ring) -> io::Result<bool> {
        let Some(cursor) = self.cursor else { return Ok(false) };
        if cursor > ring.written() {
            self.cursor = Some(ring.written());
            return Ok(false);
        }
        if cursor < ring.oldest() {
            self.cursor = Some(ring.oldest());
            let modes = ring.modes().to_sequences();
            self.reply(&Reply::Gap { from: cursor, resumed: ring.oldest(), modes: &modes });
            return Ok(true);
        }
        let (first, second) = ring.slices(cursor, CHUNK);
        let len = first.len() + second.len();
        if len == 0 {
            return Ok(false);
        }
        let header = wire::output_header(cursor, len);
        let parts = [&header[..], first, second];
        let mut sent = self.stream.write_vectored(&parts.map(IoSlice::new))?;
        // The rest of a frame that was begun must not be overwritten in the ring before it is sent.
        for part in parts {
            let skip = sent.min(part.len());
            sent -= skip;
            self.outbox.extend_from_slice(&part[skip..]);
        }
        self.cursor = Some(cursor + len as u64);
        Ok(true)
    }
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_show_the_token_is_kept_neither_long_nor_large() {
        let begin = Instant::now();
        let client = |bytes: &[u8]| {
            let (stream, mut peer) = UnixStream::pair().unwrap();
            peer.write_all(bytes).unwrap();
            (Client::new(stream, begin).unwrap(), peer)
        };
        let (mut silent, _peer) = client(b"");
        assert!(silent.receive());
        assert_eq!(silent.greets_until(), Some(begin + GREETING));
        silent.greeted = true;
        assert_eq!(silent.greets_until(), None);
        let (mut large, _peer) = client(&[0, 0, 1, 0, b'x']);
        assert!(!large.receive());
        let (mut half, _peer) = client(&[30, 0, 0, 0, 1]);
        assert!(half.receive());
    }
}
