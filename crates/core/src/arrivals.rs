//! The payload that arrived in a direction over time, read more often than a test reports.

use crate::plan::Direction;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The time between two readings at the beginning of a test.
const FIRST_STEP: Duration = Duration::from_millis(50);
/// Maximum number of readings kept. When there are more, every other one is dropped and the time between them doubles.
const MAX_READINGS: usize = 1000;

/// The payload that had arrived at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrivalReading {
    /// The time, ns after the start.
    pub at_ns: u64,
    /// Payload bytes that had arrived by then, over all flows.
    pub bytes: u64,
}

/// Readings of the payload that arrived in one direction, over all its flows: one every 50 ms, and in tests of more than
/// 50 s correspondingly fewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrivalSeries {
    /// The direction.
    direction: Direction,
    /// The time between readings, ns.
    step_ns: u64,
    readings: Vec<ArrivalReading>,
}

/// The rate between two readings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArrivalRate {
    /// The time of the earlier reading, s after the start.
    pub start_s: f64,
    /// The time of the later reading, s after the start.
    pub end_s: f64,
    /// Payload bytes between them.
    pub bytes: u64,
}

impl ArrivalSeries {
    /// A series that begins with the test.
    #[must_use]
    pub fn new(direction: Direction) -> Self {
        Self {
            direction,
            step_ns: FIRST_STEP.as_nanos() as u64,
            readings: vec![ArrivalReading { at_ns: 0, bytes: 0 }],
        }
    }

    /// The direction.
    #[must_use]
    pub const fn direction(&self) -> Direction {
        self.direction
    }

    /// The time of the next reading, ns after the start.
    #[must_use]
    pub fn due_ns(&self) -> u64 {
        let last_ns = self.readings.last().map_or(0, |last| last.at_ns);
        (last_ns / self.step_ns + 1) * self.step_ns
    }

    /// Adds a reading; one that is not due yet is ignored.
    pub fn record(&mut self, reading: ArrivalReading) {
        if reading.at_ns < self.due_ns() {
            return;
        }
        self.readings.push(reading);
        if self.readings.len() > MAX_READINGS {
            let mut is_kept = false;
            self.readings.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
            self.step_ns *= 2;
        }
    }

    /// `true` for a series that this program could have recorded of at most `max_bytes`: what another end reports may be anything.
    #[must_use]
    pub fn is_plausible(&self, max_bytes: u64) -> bool {
        let grows = |pair: &[ArrivalReading]| {
            pair[0].at_ns < pair[1].at_ns && pair[0].bytes <= pair[1].bytes
        };
        self.readings.len() <= MAX_READINGS
            && self.readings.windows(2).all(grows)
            && self
                .readings
                .last()
                .is_none_or(|last| last.bytes <= max_bytes)
    }

    /// The rates between the readings from `from_s` to `until_s`, s after the start.
    #[must_use]
    pub fn rates(&self, from_s: f64, until_s: f64) -> Vec<ArrivalRate> {
        // Readings are late by what the scheduler takes.
        const SLACK_S: f64 = 0.001;
        let seconds = |reading: &ArrivalReading| reading.at_ns as f64 / 1e9;
        self.readings
            .windows(2)
            .map(|pair| ArrivalRate {
                start_s: seconds(&pair[0]),
                end_s: seconds(&pair[1]),
                bytes: pair[1].bytes.saturating_sub(pair[0].bytes),
            })
            .filter(|rate| rate.start_s >= from_s - SLACK_S && rate.end_s <= until_s + SLACK_S)
            .collect()
    }
}

impl ArrivalRate {
    /// The rate, bit/s.
    #[must_use]
    pub fn bps(&self) -> f64 {
        self.bytes as f64 * 8.0 / (self.end_s - self.start_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A series of readings 50 ms apart, each with 1000 bytes more.
    fn series(readings: u64) -> ArrivalSeries {
        let mut series = ArrivalSeries::new(Direction::Up);
        for nth in 1..=readings {
            series.record(ArrivalReading {
                at_ns: nth * 50_000_000,
                bytes: nth * 1000,
            });
        }
        series
    }

    #[test]
    fn five_seconds_have_a_hundred_rates() {
        let rates = series(100).rates(0.0, 5.0);
        assert_eq!(rates.len(), 100);
        assert!(
            rates
                .iter()
                .all(|rate| (rate.bps() - 160_000.0).abs() < 1.0)
        );
        assert_eq!(series(100).rates(0.5, 4.5).len(), 80);
    }

    #[test]
    fn a_long_series_is_thinned_out_and_stays_true() {
        for readings in [999, 1000, 1001, 5000, 100_000] {
            let series = series(readings);
            assert!((500..=MAX_READINGS).contains(&series.readings.len()));
            let rates = series.rates(0.0, f64::INFINITY);
            assert!(
                rates
                    .iter()
                    .all(|rate| (rate.bps() - 160_000.0).abs() < 1.0)
            );
            let bytes: u64 = rates.iter().map(|rate| rate.bytes).sum();
            let last = series.readings.last().unwrap();
            assert_eq!(bytes, last.bytes);
            assert!(last.at_ns + series.step_ns > readings * 50_000_000);
            assert!(series.is_plausible(readings * 1000));
        }
    }

    #[test]
    fn a_reading_that_is_late_does_not_delay_those_after_it() {
        let mut series = series(1);
        series.record(ArrivalReading {
            at_ns: 520_000_000,
            bytes: 5000,
        });
        assert_eq!(series.due_ns(), 550_000_000);
        series.record(ArrivalReading {
            at_ns: 540_000_000,
            bytes: 5100,
        });
        assert_eq!(series.readings.len(), 3);
    }

    #[test]
    fn a_series_that_shrinks_stands_still_or_exceeds_what_arrived_is_not_plausible() {
        assert!(!series(10).is_plausible(9_999));
        let mut backwards = series(10);
        backwards.readings[5].bytes = 0;
        assert!(!backwards.is_plausible(10_000));
        let mut stopped = series(10);
        stopped.readings[5].at_ns = stopped.readings[4].at_ns;
        assert!(!stopped.is_plausible(10_000));
        let mut long = series(10);
        long.readings = vec![ArrivalReading { at_ns: 0, bytes: 0 }; MAX_READINGS + 1];
        assert!(!long.is_plausible(10_000));
    }
}
