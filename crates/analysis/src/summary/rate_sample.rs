//! The rates of a direction over time.

use caudal_core::arrivals::ArrivalSeries;
use caudal_core::interval::Interval;

/// All flows of a direction between the same two readings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RateSample {
    pub(super) start_s: f64,
    pub(super) end_s: f64,
    pub(super) bytes: u64,
    pub(super) bps: f64,
}

impl RateSample {
    /// The rate of `bytes` between two readings, s after the start.
    pub(super) fn new(start_s: f64, end_s: f64, bytes: u64) -> Self {
        Self {
            start_s,
            end_s,
            bytes,
            bps: bytes as f64 * 8.0 / (end_s - start_s),
        }
    }

    /// The time between the two readings, s.
    pub(super) const fn length_s(&self) -> f64 {
        self.end_s - self.start_s
    }
}

/// The rates of a direction over its measured intervals.
pub(super) fn rate_samples(intervals: &[Vec<Interval>]) -> Vec<RateSample> {
    let longest = intervals.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest)
        .filter_map(|nth| {
            let row: Vec<&Interval> = intervals.iter().filter_map(|flow| flow.get(nth)).collect();
            if row.first()?.omitted {
                return None;
            }
            Some(RateSample {
                start_s: row.iter().map(|i| i.start_s).fold(f64::INFINITY, f64::min),
                end_s: row.iter().map(|i| i.end_s).fold(0.0, f64::max),
                bytes: row.iter().filter_map(|i| i.bytes).sum(),
                bps: row.iter().filter_map(|i| i.goodput_bps).sum(),
            })
        })
        .collect()
}

/// The rates of a direction between the readings of what arrived, from `from_s` to `until_s`, where they are finer than its intervals.
pub(super) fn finer_samples(
    arrivals: Option<&ArrivalSeries>,
    intervals: &[RateSample],
    (from_s, until_s): (f64, f64),
) -> Option<Vec<RateSample>> {
    let rates = arrivals?.rates(from_s, until_s);
    (rates.len() > intervals.len()).then(|| {
        rates
            .iter()
            .map(|rate| RateSample::new(rate.start_s, rate.end_s, rate.bytes))
            .collect()
    })
}
