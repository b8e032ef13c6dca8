//! The pauses between attempts.

use std::time::Duration;

use serde::Deserialize;

/// Most steps that there can be.
const MOST: usize = 8;

/// Pauses between attempts; the last one is for all that follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<u32>")]
pub struct Backoff {
    seconds: [u32; MOST],
    steps: usize,
}

impl Backoff {
    /// The pause after so many failed attempts.
    pub fn pause(&self, failures: u32) -> Duration {
        let step = usize::try_from(failures.saturating_sub(1)).unwrap_or(usize::MAX).min(self.steps - 1);
        Duration::from_secs(self.seconds[step].into())
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self { seconds: [1, 2, 5, 10, 30, 0, 0, 0], steps: 5 }
    }
}

impl TryFrom<Vec<u32>> for Backoff {
    type Error = String;

    fn try_from(steps: Vec<u32>) -> Result<Self, String> {
        if !(1..=MOST).contains(&steps.len()) || steps.contains(&0) {
            return Err(format!("give 1 to {MOST} pauses of at least one second"));
        }
        let mut seconds = [0; MOST];
        seconds[..steps.len()].copy_from_slice(&steps);
        Ok(Self { seconds, steps: steps.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_pause_is_for_all_that_follow() {
        let pauses = |backoff: Backoff| (0..8).map(|n| backoff.pause(n).as_secs()).collect::<Vec<_>>();
        assert_eq!(pauses(Backoff::default()), [1, 1, 2, 5, 10, 30, 30, 30]);
        assert_eq!(pauses(Backoff::try_from(vec![3, 4]).unwrap()), [3, 3, 4, 4, 4, 4, 4, 4]);
        for wrong in [vec![], vec![0], vec![1; 9]] {
            assert!(Backoff::try_from(wrong).is_err());
        }
    }
}
