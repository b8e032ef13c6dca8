//! How often a session may report.

use ostler_core::Steady;

/// Reports that may come at once.
const BURST: u32 = 400;
/// Milliseconds after which one more may come: fifty a second for ever.
const EACH_MS: u64 = 20;

/// A supply of reports that fills up again with time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bucket {
    left: u32,
    /// Up to when it was filled.
    filled: Steady,
}

impl Bucket {
    pub(super) fn full(now: Steady) -> Self {
        Self { left: BURST, filled: now }
    }

    pub(super) fn is_full(mut self, now: Steady) -> bool {
        self.fill(now);
        self.left == BURST
    }

    /// Takes one report, if one is left.
    pub(super) fn take(&mut self, now: Steady) -> bool {
        self.fill(now);
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }

    fn fill(&mut self, now: Steady) {
        let more = now.0.saturating_sub(self.filled.0) / EACH_MS;
        self.left = self.left.saturating_add(u32::try_from(more).unwrap_or(u32::MAX)).min(BURST);
        self.filled = Steady(self.filled.0.saturating_add(more.saturating_mul(EACH_MS)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_a_flood_does_not() {
        let mut bucket = Bucket::full(Steady(1_000));
        let passed = (0..10_000).filter(|_| bucket.take(Steady(1_000))).count();
        assert_eq!(passed, 400);
        assert!(!bucket.take(Steady(1_019)));
        assert!(bucket.take(Steady(1_020)));
        assert!(!bucket.take(Steady(1_020)));
        let passed = (0..10_000_u64).filter(|ms| bucket.take(Steady(1_020 + ms))).count();
        assert_eq!(passed, 499);
        assert!(bucket.is_full(Steady(100_000)));
    }
}
