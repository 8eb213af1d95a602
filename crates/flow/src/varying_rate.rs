//! A rate that varies: redrawn at a fixed interval, from a log-normal distribution. Time is an argument.

use caudal_core::units::BitRate;
use caudal_stats::normal_quantile;

/// Time for which a rate holds, ns: that of iperf 2.
const PERIOD_NS: u64 = 100_000_000;

/// A rate that varies.
#[derive(Debug)]
pub(super) struct VaryingRate {
    /// The mean of the rate's natural logarithm.
    mean_of_logarithm: f64,
    /// The standard deviation of the rate's natural logarithm.
    deviation_of_logarithm: f64,
    /// The time at which the next rate is drawn, ns.
    next_ns: u64,
}

impl VaryingRate {
    /// A rate with this mean and standard deviation, the first of which is drawn at `start_ns`.
    pub(super) fn new(mean: BitRate, deviation: BitRate, start_ns: u64) -> Self {
        let mean = mean.as_f64().max(1.0);
        let variance = (deviation.as_f64() / mean).powi(2).ln_1p();
        Self {
            mean_of_logarithm: mean.ln() - variance / 2.0,
            deviation_of_logarithm: variance.sqrt(),
            next_ns: start_ns,
        }
    }

    /// The rate from `now_ns` on, where another one is due.
    pub(super) fn changed(&mut self, now_ns: u64) -> Option<BitRate> {
        if now_ns < self.next_ns {
            return None;
        }
        self.next_ns = now_ns + PERIOD_NS;
        let mut random = [0; 4];
        getrandom::fill(&mut random).ok()?;
        let random = u32::from_ne_bytes(random);
        Some(self.rate_at((f64::from(random) + 0.5) / f64::from(u32::MAX)))
    }

    /// The rate below which it lies with the probability `p`.
    fn rate_at(&self, p: f64) -> BitRate {
        let normal = normal_quantile(p).unwrap_or(0.0);
        let rate = (self.mean_of_logarithm + self.deviation_of_logarithm * normal).exp();
        BitRate::from_bps(rate.clamp(1.0, 1e15) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rates_have_the_mean_and_the_deviation_asked_for() {
        let rate = VaryingRate::new(
            BitRate::from_bps(10_000_000),
            BitRate::from_bps(3_000_000),
            0,
        );
        let rates: Vec<f64> = (0..10_000)
            .map(|nth| rate.rate_at((f64::from(nth) + 0.5) / 10_000.0).as_f64())
            .collect();
        let mean = rates.iter().sum::<f64>() / 10_000.0;
        let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
        let deviation = (squares / 10_000.0).sqrt();
        assert!((mean / 1e7 - 1.0).abs() < 0.01, "{mean}");
        assert!((deviation / 3e6 - 1.0).abs() < 0.02, "{deviation}");
    }

    #[test]
    fn a_rate_holds_for_a_tenth_of_a_second() {
        let mut rate = VaryingRate::new(BitRate::from_bps(1000), BitRate::from_bps(100), 5);
        let changes = [5, 6, 100_000_004, 100_000_005, 150_000_000, 200_000_005]
            .map(|now_ns| rate.changed(now_ns).is_some());
        assert_eq!(changes, [true, false, false, true, false, true]);
    }
}
