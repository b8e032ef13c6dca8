//! In which order input goes to a terminal, and what is known of each piece.
//!
//! One frame is under way at a time. Answers to terminal queries go first (a program may wait for them),
//! then a person's keys, then messages in the order of their sequence. A message is settled only by the
//! holder's word; when the connection is lost its frame is offered again with the same sequence, and the
//! holder's ledger says whether the first try had got through.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::time::Steady;

/// Keys kept while a frame is under way; more is refused, so that a pasted file cannot fill the memory.
pub const MAX_KEYS: usize = 1 << 20;
/// Answers that wait for a program to read; one that asks more than this and does not read gets no more.
const MAX_REPLIES: usize = 64;
/// When to offer a frame again that the holder had no room for.
const RETRY: Duration = Duration::from_millis(20);
/// Frames that arrive damaged are offered again, this often.
const MAX_DAMAGED: u32 = 3;

/// A message's number in its session.
pub type Seq = u64;

/// A piece of input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// The answer to a terminal query.
    Reply {
        /// Output offset behind the query.
        seq: Seq,
        /// What to type.
        bytes: Vec<u8>,
    },
    /// A person's keys.
    Keys {
        /// Counts frames of keys.
        seq: Seq,
        /// What to type.
        bytes: Vec<u8>,
    },
    /// A stored message; whoever sends the frame has its body.
    Message {
        /// Its sequence.
        seq: Seq,
    },
}

/// What the holder said of the frame under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Typed to the last byte, when the output stood at this offset.
    Written {
        /// Output offset.
        offset: u64,
    },
    /// Typed by an earlier try.
    Duplicate {
        /// Output offset, 0 if no longer known.
        offset: u64,
    },
    /// Being typed; another answer follows.
    Pending,
    /// No room yet.
    Full,
    /// It arrived damaged.
    Corrupt,
    /// A newer daemon has the session.
    Stale,
    /// The program has ended.
    Closed,
    /// The terminal would drop a part of it.
    LineTooLong,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// It is in the terminal.
    Written {
        /// Output offset at which its last byte went in.
        offset: u64,
        /// Known from the ledger, after an earlier try whose answer was lost.
        earlier: bool,
    },
    /// It never will be.
    Failed(Failure),
}

/// Why a message was not typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The program had ended.
    ProgramEnded,
    /// The terminal's owner is gone, and with it the knowledge whether it was typed.
    Unknown,
    /// The terminal collects lines, and drops what is too long for one.
    LineTooLong,
    /// The bytes did not arrive whole.
    Damaged,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Offer this frame to the holder.
    Offer(Frame),
    /// Record what became of a message.
    Settle(Seq, Settled),
    /// Do nothing more for this session: a newer daemon has it, and will see to what waits.
    StandDown,
}

/// The input side of one terminal.
#[derive(Debug, Default)]
pub struct Typing {
    connected: bool,
    under_way: Option<Frame>,
    retry_at: Option<Steady>,
    damaged: u32,
    replies: BTreeMap<Seq, Vec<u8>>,
    keys: Vec<u8>,
    keys_seq: Seq,
    messages: VecDeque<Seq>,
    /// Queries behind this offset are answered already.
    replied: Seq,
}

/// The keys cannot be kept: too many wait already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the program does not read its input and {MAX_KEYS} bytes wait already")]
pub struct KeysFull;

impl Typing {
    /// The holder is connected; its ledger stands at these sequences.
    #[must_use]
    pub fn connected(&mut self, keys: Seq, replies: Seq) -> Vec<Action> {
        self.connected = true;
        self.keys_seq = self.keys_seq.max(keys);
        self.replied = self.replied.max(replies);
        self.replies.retain(|seq, _| *seq > replies);
        self.offer_next()
    }

    /// The connection is lost. A message under way is offered again later; keys are not, a person would not
    /// expect them to appear out of nowhere.
    pub fn disconnected(&mut self) {
        self.connected = false;
        self.retry_at = None;
        match self.under_way.take() {
            Some(Frame::Message { seq }) => self.messages.push_front(seq),
            Some(Frame::Reply { seq, bytes }) => {
                self.replies.insert(seq, bytes);
            }
            Some(Frame::Keys { .. }) | None => {}
        }
        self.keys.clear();
    }

    /// A message was recorded.
    #[must_use]
    pub fn message(&mut self, seq: Seq) -> Vec<Action> {
        self.messages.push_back(seq);
        self.offer_next()
    }

    /// A person typed.
    pub fn keys(&mut self, bytes: &[u8]) -> Result<Vec<Action>, KeysFull> {
        if self.keys.len() + bytes.len() > MAX_KEYS {
            return Err(KeysFull);
        }
        if self.connected {
            self.keys.extend_from_slice(bytes);
        }
        Ok(self.offer_next())
    }

    /// The program asked its terminal something; `seq` is the output offset behind the question.
    #[must_use]
    pub fn reply(&mut self, seq: Seq, bytes: Vec<u8>) -> Vec<Action> {
        if seq > self.replied && self.replies.len() < MAX_REPLIES {
            self.replied = seq;
            self.replies.insert(seq, bytes);
        }
        self.offer_next()
    }

    /// The holder answered the frame under way.
    #[must_use]
    pub fn answered(&mut self, answer: Answer, now: Steady) -> Vec<Action> {
        let Some(frame) = self.under_way.take() else { return Vec::new() };
        let settled = match answer {
            Answer::Written { offset } => Settled::Written { offset, earlier: false },
            Answer::Duplicate { offset } => Settled::Written { offset, earlier: true },
            Answer::Pending => {
                self.under_way = Some(frame);
                return Vec::new();
            }
            Answer::Full => {
                self.under_way = Some(frame);
                self.retry_at = Some(now.plus(RETRY));
                return Vec::new();
            }
            Answer::Corrupt if self.damaged < MAX_DAMAGED => {
                self.damaged += 1;
                self.under_way = Some(frame.clone());
                return vec![Action::Offer(frame)];
            }
            Answer::Corrupt => Settled::Failed(Failure::Damaged),
            Answer::Stale => {
                self.under_way = Some(frame);
                self.disconnected();
                return vec![Action::StandDown];
            }
            Answer::Closed => Settled::Failed(Failure::ProgramEnded),
            Answer::LineTooLong => Settled::Failed(Failure::LineTooLong),
        };
        self.damaged = 0;
        let mut actions = Vec::new();
        if let Frame::Message { seq } = frame {
            actions.push(Action::Settle(seq, settled));
        }
        actions.extend(self.offer_next());
        actions
    }

    /// The program has ended: nothing that waits will be typed. `typed` is the last message that was, as the
    /// terminal's owner recorded it; nothing if there is no such record.
    #[must_use]
    pub fn ended(&mut self, typed: Option<Seq>) -> Vec<Action> {
        self.disconnected();
        self.replies.clear();
        let settle = |seq| match typed {
            Some(typed) if seq <= typed => Settled::Written { offset: 0, earlier: true },
            Some(_) => Settled::Failed(Failure::ProgramEnded),
            None => Settled::Failed(Failure::Unknown),
        };
        self.messages.drain(..).map(|seq| Action::Settle(seq, settle(seq))).collect()
    }

    /// When [`Typing::tick`] is due.
    pub fn deadline(&self) -> Option<Steady> {
        self.retry_at
    }

    /// Time has passed.
    #[must_use]
    pub fn tick(&mut self, now: Steady) -> Vec<Action> {
        match (&self.under_way, self.retry_at) {
            (Some(frame), Some(at)) if now >= at => {
                self.retry_at = None;
                vec![Action::Offer(frame.clone())]
            }
            _ => Vec::new(),
        }
    }

    fn offer_next(&mut self) -> Vec<Action> {
        if !self.connected || self.under_way.is_some() {
            return Vec::new();
        }
        let frame = if let Some((seq, bytes)) = self.replies.pop_first() {
            Frame::Reply { seq, bytes }
        } else if !self.keys.is_empty() {
            self.keys_seq += 1;
            Frame::Keys { seq: self.keys_seq, bytes: std::mem::take(&mut self.keys) }
        } else if let Some(seq) = self.messages.pop_front() {
            Frame::Message { seq }
        } else {
            return Vec::new();
        };
        self.under_way = Some(frame.clone());
        vec![Action::Offer(frame)]
    }
}

#[cfg(test)]
mod tests;
