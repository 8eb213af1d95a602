//! The times at which messages are due.

use caudal_stats::random::SplitMix64;
use std::time::Duration;

/// The process by which the gaps between scheduled messages are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DepartureProcess {
    /// Every gap is the period, and the first message is due at 0 (RFC 3432).
    Periodic,
    /// Gaps are exponential with the period as their mean, and the first message is due after one
    /// gap (RFC 2330 section 11.1.1).
    Poisson {
        /// The seed of the gaps: the same for the same seed.
        seed: u64,
    },
}

/// The times at which `messages` messages are due, ns after the first could be sent.
#[must_use]
pub fn departure_times(period: Duration, process: DepartureProcess, messages: u64) -> Vec<u64> {
    let period_ns = period.as_nanos().min(u128::from(u64::MAX)) as u64;
    let DepartureProcess::Poisson { seed } = process else {
        return (0..messages)
            .map(|nth| nth.saturating_mul(period_ns))
            .collect();
    };
    let mut rng = SplitMix64::new(seed);
    let mut at = 0.0;
    (0..messages)
        .map(|_| {
            // The top 53 bits, as a number above 0 and up to 1.
            let uniform = ((rng.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
            at -= uniform.ln() * period_ns as f64;
            at as u64
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_periodic_schedule_does_not_drift_and_a_poisson_one_repeats_with_its_seed() {
        let ms = Duration::from_millis(1);
        assert_eq!(
            departure_times(ms, DepartureProcess::Periodic, 4),
            [0, 1_000_000, 2_000_000, 3_000_000]
        );
        let poisson = |seed| departure_times(ms, DepartureProcess::Poisson { seed }, 20_000);
        let times = poisson(7);
        assert_eq!(times, poisson(7));
        assert_ne!(times, poisson(8));
        assert!(times.is_sorted());
        // The mean of n exponential gaps has a standard error of 1/√n of itself: 0.7 %, so 4 % is rare.
        let mean = *times.last().unwrap() as f64 / times.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.04, "{mean}");
        // The share of gaps longer than the mean is e⁻¹.
        let longer = times
            .windows(2)
            .filter(|pair| pair[1] - pair[0] > 1_000_000)
            .count();
        assert!((longer as f64 / 20_000.0 - (-1_f64).exp()).abs() < 0.02);
    }
}
