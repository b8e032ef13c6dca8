//! Numbers that were measured more than once.

use std::time::Duration;

/// Values in ascending order; at least one.
#[derive(Debug, Clone)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    /// Takes what was measured. Nothing measured counts as zero.
    pub(crate) fn new(mut values: Vec<f64>) -> Self {
        if values.is_empty() {
            values.push(0.0);
        }
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    /// The smallest value that at least `percent` of them do not exceed.
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        let rank = (self.0.len() * percent).div_ceil(100);
        self.0[rank.clamp(1, self.0.len()) - 1]
    }

    pub(crate) fn median(&self) -> f64 {
        let half = self.0.len() / 2;
        if self.0.len() % 2 == 1 { self.0[half] } else { f64::midpoint(self.0[half - 1], self.0[half]) }
    }

    pub(crate) fn min(&self) -> f64 {
        self.0[0]
    }

    pub(crate) fn max(&self) -> f64 {
        self.0[self.0.len() - 1]
    }
}

/// A duration in milliseconds.
pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// A count as a number to calculate with.
#[expect(clippy::cast_precision_loss, reason = "bytes, ticks and KiB here are far below 2^52")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_middle_and_the_ends() {
        let told = |samples: &Samples| format!("{} {} {}", samples.min(), samples.median(), samples.max());
        assert_eq!(told(&Samples::new(vec![3.0, 1.0, 2.0, 10.0])), "1 2.5 10");
        assert_eq!(told(&Samples::new(Vec::new())), "0 0 0");
        let hundred = Samples::new((1..=100).map(f64::from).collect());
        let percentiles = [0, 95, 100].map(|percent| hundred.percentile(percent).to_string());
        assert_eq!(percentiles, ["1", "95", "100"]);
    }
}
