//! A holder that owns a terminal, as a transport.

use ostler_core::Wall;
use ostler_core::typing::Answer;
use ostler_hold::wire::{self, Outcome, Reply, Status};
use ostler_hold::{ExitRecord, SessionDir, crc32};
use ostler_session::{Abilities, Event, Exit, Lane, Request, TerminalStatus};

use super::{Arrived, Link, LinkError, Transport};

/// A connection to a holder.
#[derive(Debug)]
pub(crate) struct Holder {
    link: Link,
    /// Number of this daemon: the holder refuses input of earlier ones.
    epoch: u64,
}

impl Holder {
    /// Connects, and returns what the holder says of its terminal.
    pub(crate) async fn connect(dir: &SessionDir, epoch: u64) -> Result<(Self, TerminalStatus), LinkError> {
        let (link, status) = Link::connect(dir).await?;
        let holder = dir.read_identity().map(|identity| identity.pid);
        Ok((Self { link, epoch }, TerminalStatus { holder, ..described(&status) }))
    }
}

impl Transport for Holder {
    type Arrived = Frames;

    fn abilities(&self) -> Abilities {
        Abilities { keys: true, terminal: true }
    }

    fn request(&mut self, request: &Request) {
        let request = match request {
            Request::Subscribe { from } => wire::Request::Subscribe { from: *from, paced: true },
            Request::Input { lane, seq, bytes } => wire::Request::Input {
                lane: match lane {
                    Lane::Message => wire::Lane::Message,
                    Lane::Keys => wire::Lane::Keys,
                    Lane::Reply => wire::Lane::Reply,
                },
                epoch: self.epoch,
                seq: *seq,
                crc: crc32(bytes),
                bytes,
            },
            Request::Inspect => wire::Request::Query,
            Request::Resize { cols, rows } => wire::Request::Resize { cols: *cols, rows: *rows },
            Request::Stop { grace_ms } => wire::Request::Stop { grace_ms: *grace_ms },
            Request::Release => wire::Request::Release,
        };
        self.link.queue(&request);
    }

    async fn arrived(&mut self) -> Result<Frames, LinkError> {
        loop {
            let bytes = self.link.take_frames()?;
            if !bytes.is_empty() {
                return Ok(Frames { bytes, read: 0 });
            }
            self.link.ready().await?;
        }
    }
}

/// Whole frames of a holder.
#[derive(Debug)]
pub(crate) struct Frames {
    bytes: Vec<u8>,
    read: usize,
}

impl Arrived for Frames {
    fn next(&mut self) -> Result<Option<Event<'_>>, LinkError> {
        loop {
            let Some((frame, _)) = wire::split_frame(&self.bytes[self.read..])? else { return Ok(None) };
            let begin = self.read + 4;
            let end = begin + frame.len();
            self.read = end;
            let frame = &self.bytes[begin..end];
            match Reply::decode(frame)? {
                Some(Reply::Output { offset, .. }) => {
                    // The bytes are the rest of the frame; borrowed from the buffer, not from this loop's reply.
                    let Some(Reply::Output { bytes, .. }) = Reply::decode(&self.bytes[begin..end])? else {
                        continue;
                    };
                    return Ok(Some(Event::Output { offset, bytes }));
                }
                Some(reply) => {
                    if let Some(event) = event(&reply) {
                        return Ok(Some(event));
                    }
                }
                None => {}
            }
        }
    }
}

/// What a reply that carries no output says.
fn event(reply: &Reply<'_>) -> Option<Event<'static>> {
    Some(match *reply {
        Reply::Gap { from, resumed, modes } => Event::Gap { from, resumed, modes: modes.to_vec() },
        Reply::Input { outcome, offset, .. } => Event::InputAnswered(answer(outcome, offset)),
        Reply::Exited(record) => Event::Exited(exit(&record)),
        Reply::Status(status) => Event::Inspected(described(&status)),
        Reply::Refused { reason } => {
            tracing::warn!(reason, "a holder refused a request");
            return None;
        }
        Reply::Output { .. } | Reply::Welcome { .. } => return None,
    })
}

fn answer(outcome: Outcome, offset: u64) -> Answer {
    match outcome {
        Outcome::Written => Answer::Written { offset },
        Outcome::Duplicate => Answer::Duplicate { offset },
        Outcome::Pending => Answer::Pending,
        Outcome::Stale => Answer::Stale,
        Outcome::Corrupt => Answer::Corrupt,
        Outcome::Full => Answer::Full,
        Outcome::Closed => Answer::Closed,
        Outcome::LineTooLong => Answer::LineTooLong,
    }
}

fn described(status: &Status) -> TerminalStatus {
    let [messages, keys, replies] = status.seqs;
    TerminalStatus {
        child: status.child,
        holder: None,
        size: (status.cols, status.rows),
        written: status.written,
        messages,
        keys,
        replies,
        canonical: status.canonical,
        echo: status.echo,
        signals: status.signals,
        foreground: status.foreground,
        pending: status.pending,
    }
}

/// How a program ended, as its holder recorded it.
pub(crate) fn exit(record: &ExitRecord) -> Exit {
    Exit {
        status: record.status,
        signal: record.signal,
        at: Wall(record.at_ms),
        written: record.written,
        typed: record.typed,
        cpu_us: record.user_us + record.system_us,
        max_rss_kib: record.max_rss_kib,
    }
}
