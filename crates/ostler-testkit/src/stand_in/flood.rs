//! Output without end: lines, junk, or one huge line, at a rate or as fast as it is read.
//!
//! Every byte depends only on its offset and the seed, so that a reader can check what it got.

use std::time::Duration;

use super::options::Output;

/// Largest single write.
const CHUNK: u64 = 4096;

/// Length of a line of spam, its line end included.
const LINE: u64 = 64;

/// How often a rated flood writes per second, if its rate allows.
const WRITES_PER_SECOND: u64 = 20;

#[derive(Clone, Copy, Debug)]
enum Source {
    Lines,
    Junk {
        seed: u64,
    },
    /// Letters up to this offset, then a line end.
    LongLine {
        len: u64,
    },
}

/// One flood.
#[derive(Clone, Debug)]
pub(super) struct Flood {
    source: Source,
    /// Bytes per second; `None` is unbounded.
    rate: Option<u64>,
    total: Option<u64>,
    sent: u64,
    /// When the first byte was due.
    started: Option<Duration>,
}

impl Flood {
    /// The floods that `output` asks for, in their order.
    pub(super) fn all(output: &Output, seed: u64) -> Vec<Self> {
        let line = output.long_line.map(|len| Self::new(Source::LongLine { len }, None, Some(len + 2)));
        let spam = output.spam.map(|rate| {
            let source = if output.junk { Source::Junk { seed } } else { Source::Lines };
            Self::new(source, (rate > 0).then_some(rate), output.spam_bytes)
        });
        line.into_iter().chain(spam).collect()
    }

    fn new(source: Source, rate: Option<u64>, total: Option<u64>) -> Self {
        Self { source, rate, total, sent: 0, started: None }
    }

    /// Bytes handed out so far.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    pub(super) fn is_over(&self) -> bool {
        self.total.is_some_and(|total| self.sent >= total)
    }

    /// When the next chunk is due.
    pub(super) fn deadline(&self, now: Duration) -> Duration {
        match (self.rate, self.started) {
            (Some(rate), Some(started)) => {
                let millis = (self.sent + self.step()).saturating_mul(1000).div_ceil(rate);
                started + Duration::from_millis(millis)
            }
            _ => now,
        }
    }

    /// Hands out the next chunk; empty before the deadline.
    pub(super) fn chunk(&mut self, now: Duration) -> Vec<u8> {
        self.started.get_or_insert(now);
        if self.is_over() || self.deadline(now) > now {
            return Vec::new();
        }
        let left = self.total.map_or(u64::MAX, |total| total - self.sent);
        let len = self.step().min(left);
        let bytes = self.bytes(len);
        self.sent += len;
        bytes
    }

    fn step(&self) -> u64 {
        self.rate.map_or(CHUNK, |rate| (rate / WRITES_PER_SECOND).clamp(1, CHUNK))
    }

    fn bytes(&self, len: u64) -> Vec<u8> {
        let end = self.sent + len;
        let (unit, make): (u64, &dyn Fn(u64) -> Vec<u8>) = match self.source {
            Source::Lines => (LINE, &|at| format!("spam {at:012} {:.<44}\r\n", "").into_bytes()),
            Source::Junk { seed } => (8, &move |at| mix(seed, at).to_le_bytes().to_vec()),
            Source::LongLine { len } => (1, &move |at| vec![letter(at, len)]),
        };
        let first = self.sent / unit;
        let skip = usize::try_from(self.sent % unit).unwrap_or(0);
        let all = (first..end.div_ceil(unit)).flat_map(make);
        all.skip(skip).take(usize::try_from(len).unwrap_or(usize::MAX)).collect()
    }
}

fn letter(at: u64, len: u64) -> u8 {
    match at.checked_sub(len) {
        None => b"abcdefghijklmnopqrstuvwxyz"[usize::try_from(at % 26).unwrap_or(0)],
        Some(0) => b'\r',
        Some(_) => b'\n',
    }
}

/// `SplitMix64` as a function of its position.
fn mix(seed: u64, at: u64) -> u64 {
    let mut z = seed.wrapping_add(at.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(mut flood: Flood) -> Vec<u8> {
        let mut all = Vec::new();
        let mut now = Duration::ZERO;
        while !flood.is_over() {
            all.extend(flood.chunk(now));
            now = flood.deadline(now);
        }
        all
    }

    #[test]
    fn content_depends_on_offset_and_seed_only() {
        for source in [Source::Lines, Source::Junk { seed: 7 }] {
            let fast = drain(Flood::new(source, None, Some(10_001)));
            let slow = drain(Flood::new(source, Some(3333), Some(10_001)));
            assert_eq!(fast.len(), 10_001);
            assert_eq!(fast, slow);
        }
        let line = drain(Flood::new(Source::Lines, None, Some(LINE)));
        assert_eq!(line.iter().position(|&byte| byte == b'\n'), Some(63));
        assert!(line.ends_with(b"\r\n"));
    }

    #[test]
    fn a_long_line_has_one_end() {
        let line = drain(Flood::new(Source::LongLine { len: 9000 }, None, Some(9002)));
        assert_eq!(line.len(), 9002);
        assert_eq!(line.iter().position(|&byte| byte == b'\r'), Some(9000));
    }

    #[test]
    fn the_rate_is_kept() {
        let mut flood = Flood::new(Source::Lines, Some(1000), None);
        assert_eq!(flood.chunk(Duration::ZERO).len(), 0);
        assert_eq!(flood.deadline(Duration::ZERO), Duration::from_millis(50));
        assert_eq!(flood.chunk(Duration::from_millis(50)).len(), 50);
        assert_eq!(flood.chunk(Duration::from_millis(60)).len(), 0);
    }
}
