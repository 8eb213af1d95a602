//! The rate at which a connection delivered between its losses.

use caudal_stats::Welford;

/// Maximum time that a deviation is related to, s: what is delivered between random losses deviates the more the longer they last, what a
/// policer passes does not.
const MAX_SPAN_S: f64 = 8.0;

/// The line of least squares through what had been delivered whenever a loss was seen.
///
/// The bucket of a policer is empty whenever it drops, so what was delivered between two losses is the time between them at the
/// policer's rate: the points lie on a line. Random losses have no such rate. Source: Flach et al., "An Internet-Wide Analysis
/// of Traffic Policing", 2016, section 3.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RateLine {
    /// The rate, bit/s.
    pub(super) rate_bps: f64,
    /// The standard deviation of the points from the line, s.
    pub(super) deviation_s: f64,
    /// The time that the points cover, s.
    span_s: f64,
}

impl RateLine {
    /// The line through points of a time in s and the bits delivered by then; `None` below three, and where nothing was delivered.
    pub(super) fn through(points: &[(f64, f64)]) -> Option<Self> {
        if points.len() < 3 {
            return None;
        }
        let mean = |of: fn(&(f64, f64)) -> f64| {
            points
                .iter()
                .map(of)
                .collect::<Vec<_>>()
                .iter()
                .collect::<Welford>()
                .mean()
        };
        let (mean_s, mean_bits) = (mean(|point| point.0)?, mean(|point| point.1)?);
        let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
            points
                .iter()
                .map(|(s, bits)| of(s - mean_s, bits - mean_bits))
                .sum()
        };
        let rate_bps = sum(&|s, bits| s * bits) / sum(&|s, _| s * s);
        let squares = sum(&|s, bits| (bits - rate_bps * s).powi(2));
        let deviation_s = (squares / points.len() as f64).sqrt() / rate_bps;
        let span_s = points.last()?.0 - points.first()?.0;
        (rate_bps > 0.0 && span_s > 0.0).then_some(Self {
            rate_bps,
            deviation_s,
            span_s,
        })
    }

    /// The deviation of the points as a part of the time that they cover, or of 8 s where that is longer.
    pub(super) fn deviation(&self) -> f64 {
        self.deviation_s / self.span_s.min(MAX_SPAN_S)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_at_one_rate_lie_on_a_line_and_those_at_random_do_not() {
        let points = |at: fn(f64) -> f64| -> Vec<(f64, f64)> {
            (1..=10)
                .map(|nth| f64::from(nth) * 0.2)
                .map(|s| (s, at(s)))
                .collect()
        };
        let policed = RateLine::through(&points(|s| s * 10e6)).unwrap();
        assert!((policed.rate_bps - 10e6).abs() < 1.0 && policed.deviation() < 1e-6);
        let random = points(|s| s * 10e6 + 1.6e6 * (s * 40.0).sin());
        assert!(RateLine::through(&random).unwrap().deviation() > 0.04);
        assert_eq!(RateLine::through(&points(|s| s)[..2]), None);
        assert_eq!(RateLine::through(&[(1.0, 5.0); 4]), None);
    }
}
