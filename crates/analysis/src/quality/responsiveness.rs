//! Responsiveness in round trips per minute.
//!
//! Source: draft-ietf-ippm-responsiveness-09, "Aggregating the Measurements", the case without TLS.

use caudal_core::quality::{Responsiveness, ResponsivenessConfidence};
use caudal_stats::Welford;

/// Intervals over which goodput and responsiveness are averaged (MAD of the draft).
pub const MOVING_AVERAGE_DISTANCE: usize = 4;

/// The length of such an interval, s (ID of the draft).
const INTERVAL_S: f64 = 1.0;

/// The fraction of the values that a trimmed mean keeps (TMP of the draft).
const KEPT: f64 = 0.95;

/// The standard deviation of the moving averages, as a fraction of the latest, below which they are stable (SDT of the draft).
const TOLERANCE: f64 = 0.05;

const US_PER_MINUTE: f64 = 60e6;

/// The mean of all but the largest twentieth of the values; `None` without values.
#[must_use]
pub fn trimmed_mean(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let kept = ((sorted.len() as f64 * KEPT + 1e-9).floor() as usize).max(1);
    let kept = sorted.get(..kept)?;
    Some(kept.iter().sum::<f64>() / kept.len() as f64)
}

/// Round-trip times of one phase with the time each was begun, s after its start.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProbeTimes {
    /// Of TCP handshakes, µs.
    pub handshake: Vec<(f64, f64)>,
    /// Of requests on new connections, µs.
    pub request: Vec<(f64, f64)>,
    /// On the loaded connections, µs.
    pub loaded: Vec<(f64, f64)>,
    /// Goodput of each whole second of the phase, bit/s.
    pub goodput_bps: Vec<f64>,
}

impl ProbeTimes {
    /// The responsiveness at the end of a phase of `duration_s`; `None` where a kind of probe has no value.
    #[must_use]
    pub fn responsiveness(&self, duration_s: f64) -> Option<Responsiveness> {
        let window_s = (MOVING_AVERAGE_DISTANCE as f64 * INTERVAL_S).min(duration_s);
        let mut found = self.between(duration_s - window_s, duration_s)?;
        found.confidence = confidence(self, duration_s);
        Some(found)
    }

    /// The responsiveness by the round trips begun from `from_s` to `to_s`.
    fn between(&self, from_s: f64, to_s: f64) -> Option<Responsiveness> {
        let part = |values: &[(f64, f64)]| {
            let within = values.iter().filter(|(at, _)| (from_s..to_s).contains(at));
            // A peer may say that a round trip took no time; one that did has no rate.
            trimmed_mean(&within.map(|(_, us)| *us).collect::<Vec<f64>>()).filter(|us| *us > 0.0)
        };
        let (tcp_f_us, http_f_us) = (part(&self.handshake)?, part(&self.request)?);
        Some(of_parts(
            tcp_f_us,
            http_f_us,
            part(&self.loaded)?,
            to_s - from_s,
        ))
    }
}

/// The responsiveness of these trimmed means, µs.
fn of_parts(tcp_f_us: f64, http_f_us: f64, http_l_us: f64, window_s: f64) -> Responsiveness {
    let foreign_rpm = US_PER_MINUTE / ((tcp_f_us + http_f_us) / 2.0);
    let loaded_rpm = US_PER_MINUTE / http_l_us;
    Responsiveness {
        rpm: f64::midpoint(foreign_rpm, loaded_rpm),
        foreign_rpm,
        loaded_rpm,
        tcp_f_us,
        http_f_us,
        http_l_us,
        window_s,
        confidence: ResponsivenessConfidence::Low,
    }
}

/// The confidence by the moving averages of goodput and of responsiveness over the intervals of a phase.
fn confidence(times: &ProbeTimes, duration_s: f64) -> ResponsivenessConfidence {
    let intervals = (duration_s / INTERVAL_S + 1e-9).floor() as usize;
    if intervals < MOVING_AVERAGE_DISTANCE {
        return ResponsivenessConfidence::Low;
    }
    let each: Vec<f64> = (0..intervals)
        .filter_map(|nth| {
            let from_s = nth as f64 * INTERVAL_S;
            times
                .between(from_s, from_s + INTERVAL_S)
                .map(|found| found.rpm)
        })
        .collect();
    if is_stable(&each) && is_stable(&times.goodput_bps) {
        ResponsivenessConfidence::High
    } else {
        ResponsivenessConfidence::Medium
    }
}

/// `true` when the latest moving averages vary little.
fn is_stable(values: &[f64]) -> bool {
    let averages: Vec<f64> = values
        .windows(MOVING_AVERAGE_DISTANCE)
        .map(|part| part.iter().sum::<f64>() / part.len() as f64)
        .collect();
    let Some(latest) = averages
        .len()
        .checked_sub(MOVING_AVERAGE_DISTANCE)
        .and_then(|from| averages.get(from..))
    else {
        return false;
    };
    let seen: Welford = latest.iter().collect();
    let current = latest.last().copied().unwrap_or_default();
    seen.sd().is_some_and(|sd| sd < TOLERANCE * current)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_twentieth_is_left_out_of_a_trimmed_mean() {
        let twenty: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(trimmed_mean(&twenty), Some(10.0));
        let with_outlier = [vec![10.0; 19], vec![1e6]].concat();
        assert_eq!(trimmed_mean(&with_outlier), Some(10.0));
        assert_eq!(trimmed_mean(&[7.0]), Some(7.0));
        assert_eq!(trimmed_mean(&[]), None);
    }

    #[test]
    fn worked_examples_of_the_formula_without_tls() {
        // Handshake 20 ms, request 40 ms, loaded 100 ms: (60000 / 30 + 60000 / 100) / 2.
        let found = of_parts(20e3, 40e3, 100e3, 4.0);
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(close(found.foreign_rpm, 2000.0) && close(found.loaded_rpm, 600.0));
        assert!(close(found.rpm, 1300.0));
        // One second each: a round trip a second, sixty a minute.
        assert!(close(of_parts(1e6, 1e6, 1e6, 4.0).rpm, 60.0));
    }

    fn steady(seconds: usize) -> ProbeTimes {
        let each = |us: f64| (0..seconds * 5).map(|nth| (nth as f64 / 5.0, us)).collect();
        ProbeTimes {
            handshake: each(20e3),
            request: each(40e3),
            loaded: each(100e3),
            goodput_bps: vec![20e6; seconds],
        }
    }

    #[test]
    fn the_last_four_seconds_count() {
        let mut times = steady(10);
        for (at, us) in &mut times.loaded {
            if *at < 6.0 {
                *us = 1e6;
            }
        }
        let found = times.responsiveness(10.0).unwrap();
        assert!((found.rpm - 1300.0).abs() < 1e-9 && found.window_s == 4.0);
    }

    #[test]
    fn the_confidence_follows_the_moving_averages() {
        let confidence = |times: &ProbeTimes, seconds| {
            times.responsiveness(seconds).map(|found| found.confidence)
        };
        assert_eq!(
            confidence(&steady(10), 10.0),
            Some(ResponsivenessConfidence::High)
        );
        assert_eq!(
            confidence(&steady(3), 3.0),
            Some(ResponsivenessConfidence::Low)
        );
        let mut rising = steady(10);
        rising.goodput_bps = (1..=10).map(|second| f64::from(second) * 2e6).collect();
        assert_eq!(
            confidence(&rising, 10.0),
            Some(ResponsivenessConfidence::Medium)
        );
        let mut without = steady(10);
        without.handshake.clear();
        assert_eq!(confidence(&without, 10.0), None);
    }
}
