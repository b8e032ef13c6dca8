//! A holder: the output, and a ledger of the input.

use ostler_core::typing::Answer;

use crate::Lane;
use crate::event::TerminalStatus;

/// Output that is kept.
const RING: usize = 256 * 1024;

#[derive(Debug, Default)]
pub(super) struct Holder {
    /// Highest epoch seen.
    epoch: u64,
    /// Last number of each lane.
    seqs: [u64; 3],
    output: Vec<u8>,
    /// Offset of the first byte that is kept.
    oldest: u64,
    pub(super) size: (u16, u16),
    /// The modes before the first byte that is kept, as sequences; none while all is kept.
    pub(super) modes: Vec<u8>,
    /// Numbers are not remembered.
    pub(super) forgets: bool,
}

impl Holder {
    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.output.extend_from_slice(bytes);
        let surplus = self.output.len().saturating_sub(RING);
        self.output.drain(..surplus);
        self.oldest += surplus as u64;
    }

    /// More is written than is kept.
    pub(super) fn forget_all(&mut self) {
        self.oldest = self.written() + RING as u64;
        self.output.clear();
    }

    pub(super) fn written(&self) -> u64 {
        self.oldest + self.output.len() as u64
    }

    pub(super) fn oldest(&self) -> u64 {
        self.oldest
    }

    /// Output from an offset on that is kept.
    pub(super) fn read(&self, from: u64) -> &[u8] {
        &self.output[usize::try_from(from.saturating_sub(self.oldest)).unwrap().min(self.output.len())..]
    }

    pub(super) fn last_message(&self) -> u64 {
        self.seqs[0]
    }

    /// Whether input is to be typed, and what is said of it.
    pub(super) fn accept(&mut self, lane: Lane, epoch: u64, seq: u64, ended: bool) -> (bool, Answer) {
        let lane = lane as usize;
        if epoch < self.epoch {
            return (false, Answer::Stale);
        }
        self.epoch = self.epoch.max(epoch);
        if seq <= self.seqs[lane] && !self.forgets {
            return (false, Answer::Duplicate { offset: 0 });
        }
        if ended {
            return (false, Answer::Closed);
        }
        self.seqs[lane] = seq;
        (true, Answer::Written { offset: self.written() })
    }

    pub(super) fn status(&self, pending: usize) -> TerminalStatus {
        let [messages, keys, replies] = self.seqs;
        TerminalStatus {
            child: 7,
            holder: Some(6),
            size: self.size,
            written: self.written(),
            messages,
            keys,
            replies,
            canonical: false,
            echo: false,
            signals: false,
            foreground: 7,
            pending: u32::try_from(pending).unwrap(),
        }
    }
}
