//! Exactly-once typing: which input frames were taken, and what of them is still to be written.
//!
//! One frame is under way at a time. Its bytes go to the terminal as the terminal takes them; nothing else
//! is typed in between. A frame counts as taken the moment it is accepted: from then on it will be typed
//! whole even if nobody is connected any more, and a second copy is answered, not typed.

use crate::crc::crc32;
use crate::wire::{Lane, Outcome};

/// What the ledger says of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Taken: type it. The answer is due when its last byte is written.
    Accepted,
    /// Not taken: answer this at once, with the output offset where known.
    Answer(Outcome, u64),
}

/// A frame that was written completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completed {
    /// Its lane.
    pub lane: Lane,
    /// Its sequence.
    pub seq: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Last {
    seq: u64,
    /// Output offset at which the last byte of that frame went in.
    offset: u64,
}

#[derive(Debug)]
struct UnderWay {
    lane: Lane,
    seq: u64,
    bytes: Vec<u8>,
    done: usize,
}

/// The input ledger of one terminal.
#[derive(Debug, Default)]
pub struct Ledger {
    epoch: u64,
    lanes: [Last; Lane::ALL.len()],
    under_way: Option<UnderWay>,
    typed: u64,
    closed: bool,
}

impl Ledger {
    /// Decides on a frame.
    #[must_use]
    pub fn offer(&mut self, lane: Lane, epoch: u64, seq: u64, crc: u32, bytes: &[u8]) -> Verdict {
        if epoch < self.epoch {
            return Verdict::Answer(Outcome::Stale, 0);
        }
        if crc32(bytes) != crc {
            return Verdict::Answer(Outcome::Corrupt, 0);
        }
        self.epoch = epoch;
        let last = self.lanes[lane.index()];
        if seq <= last.seq {
            if self.under_way.as_ref().is_some_and(|frame| frame.lane == lane && frame.seq == seq) {
                return Verdict::Answer(Outcome::Pending, 0);
            }
            return Verdict::Answer(Outcome::Duplicate, if seq == last.seq { last.offset } else { 0 });
        }
        if self.closed {
            return Verdict::Answer(Outcome::Closed, 0);
        }
        if self.under_way.is_some() {
            return Verdict::Answer(Outcome::Full, 0);
        }
        self.lanes[lane.index()] = Last { seq, offset: 0 };
        self.under_way = Some(UnderWay { lane, seq, bytes: bytes.to_vec(), done: 0 });
        Verdict::Accepted
    }

    /// The bytes that the terminal should take next.
    pub fn pending(&self) -> &[u8] {
        self.under_way.as_ref().map_or(&[], |frame| &frame.bytes[frame.done..])
    }

    /// Whether a frame is under way, be it only to be marked as written.
    pub fn is_busy(&self) -> bool {
        self.under_way.is_some()
    }

    /// Notes that the terminal took `count` bytes while the output stood at `offset`.
    pub fn wrote(&mut self, count: usize, offset: u64) -> Option<Completed> {
        let frame = self.under_way.as_mut()?;
        frame.done = (frame.done + count).min(frame.bytes.len());
        if frame.done < frame.bytes.len() {
            return None;
        }
        let completed = Completed { lane: frame.lane, seq: frame.seq };
        self.lanes[frame.lane.index()].offset = offset;
        if frame.lane == Lane::Message {
            self.typed = frame.seq;
        }
        self.under_way = None;
        Some(completed)
    }

    /// Ends all typing: the program is gone. Returns the frame that will never be completed.
    pub fn close(&mut self) -> Option<Completed> {
        self.closed = true;
        self.under_way.take().map(|frame| Completed { lane: frame.lane, seq: frame.seq })
    }

    /// Sequence of the last message that was typed to its last byte.
    pub fn typed(&self) -> u64 {
        self.typed
    }

    /// Highest epoch seen.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Last accepted sequence of each lane.
    pub fn seqs(&self) -> [u64; Lane::ALL.len()] {
        self.lanes.map(|last| last.seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn offer(ledger: &mut Ledger, epoch: u64, seq: u64, bytes: &[u8]) -> Verdict {
        ledger.offer(Lane::Message, epoch, seq, crc32(bytes), bytes)
    }

    #[test]
    fn a_repeated_frame_is_answered_not_typed() {
        let mut ledger = Ledger::default();
        assert_eq!(offer(&mut ledger, 1, 1, b"abc"), Verdict::Accepted);
        assert_eq!(offer(&mut ledger, 2, 1, b"abc"), Verdict::Answer(Outcome::Pending, 0));
        assert_eq!(ledger.wrote(2, 10), None);
        assert_eq!(ledger.pending(), b"c");
        assert_eq!(ledger.wrote(1, 12), Some(Completed { lane: Lane::Message, seq: 1 }));
        assert_eq!(offer(&mut ledger, 2, 1, b"abc"), Verdict::Answer(Outcome::Duplicate, 12));
        assert!(ledger.pending().is_empty());
    }

    #[test]
    fn an_older_daemon_and_broken_bytes_are_refused() {
        let mut ledger = Ledger::default();
        assert_eq!(offer(&mut ledger, 5, 1, b"x"), Verdict::Accepted);
        let _ = ledger.wrote(1, 0);
        assert_eq!(offer(&mut ledger, 4, 2, b"y"), Verdict::Answer(Outcome::Stale, 0));
        assert_eq!(ledger.offer(Lane::Message, 5, 2, 1, b"y"), Verdict::Answer(Outcome::Corrupt, 0));
        assert_eq!(ledger.seqs(), [1, 0, 0]);
    }

    #[test]
    fn one_frame_at_a_time_and_none_after_the_end() {
        let mut ledger = Ledger::default();
        assert_eq!(offer(&mut ledger, 1, 1, b"abc"), Verdict::Accepted);
        assert_eq!(ledger.offer(Lane::Keys, 1, 1, crc32(b"k"), b"k"), Verdict::Answer(Outcome::Full, 0));
        assert_eq!(ledger.close(), Some(Completed { lane: Lane::Message, seq: 1 }));
        assert_eq!(ledger.typed(), 0, "a part is not typed");
        assert_eq!(offer(&mut ledger, 1, 2, b"z"), Verdict::Answer(Outcome::Closed, 0));
    }

    proptest! {
        /// However frames are repeated and however the terminal takes them, each is typed once and whole.
        #[test]
        fn typed_once_and_whole(
            bodies in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..20), 1..20),
            repeats in proptest::collection::vec(0usize..4, 20),
            steps in proptest::collection::vec(1usize..7, 200),
        ) {
            let mut ledger = Ledger::default();
            let mut terminal = Vec::new();
            let mut steps = steps.into_iter().cycle();
            for (index, body) in bodies.iter().enumerate() {
                let seq = index as u64 + 1;
                for attempt in 0..=repeats[index] {
                    let verdict = offer(&mut ledger, attempt as u64 / 2, seq, body);
                    prop_assert!(attempt > 0 || verdict == Verdict::Accepted || index > 0);
                    // A stale epoch is simply tried again with a newer one.
                    if matches!(verdict, Verdict::Answer(Outcome::Stale, _)) {
                        let _ = offer(&mut ledger, 9, seq, body);
                    }
                    let take = steps.next().unwrap_or(1).min(ledger.pending().len());
                    terminal.extend_from_slice(&ledger.pending()[..take]);
                    let _ = ledger.wrote(take, 0);
                }
                while ledger.is_busy() {
                    let take = steps.next().unwrap_or(1).min(ledger.pending().len());
                    terminal.extend_from_slice(&ledger.pending()[..take]);
                    let _ = ledger.wrote(take, 0);
                }
            }
            prop_assert_eq!(terminal, bodies.concat());
        }
    }
}
