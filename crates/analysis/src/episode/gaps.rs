//! The gaps in what arrived in a direction over time.

use caudal_core::arrivals::{ArrivalRate, ArrivalSeries};

/// The part of a gap at each end in which arrivals are a matter of clocks and of when they are read, s.
const EDGE_S: f64 = 0.15;
/// Minimum time between readings, relative to the usual one, for a late reading: when its bytes arrived is not known.
const LATE_READING: f64 = 6.0;

/// A time in which nothing arrived.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gap {
    pub(super) from_s: f64,
    pub(super) to_s: f64,
    /// `true` where it lasts to the last reading.
    pub(super) is_last: bool,
}

impl Gap {
    pub(super) fn length_s(&self) -> f64 {
        self.to_s - self.from_s
    }
}

/// The gaps of a series, of whatever length.
pub(super) fn gaps(series: &ArrivalSeries) -> Vec<Gap> {
    let rates = series.rates(0.0, f64::INFINITY);
    let mut gaps: Vec<Gap> = Vec::new();
    for (nth, rate) in rates.iter().enumerate() {
        if rate.bytes > 0 {
            continue;
        }
        let is_last = nth + 1 == rates.len();
        match gaps.last_mut() {
            Some(gap) if gap.to_s >= rate.start_s => {
                gap.to_s = rate.end_s;
                gap.is_last = is_last;
            }
            _ => gaps.push(Gap {
                from_s: rate.start_s,
                to_s: rate.end_s,
                is_last,
            }),
        }
    }
    gaps
}

/// The longest time from `from_s` to `to_s` in which nothing arrived; the whole of it where the readings do not tell.
pub(super) fn longest_gap(series: &ArrivalSeries, from_s: f64, to_s: f64) -> Gap {
    let rates = series.rates(0.0, f64::INFINITY);
    let mut lengths: Vec<f64> = rates.iter().map(|rate| rate.end_s - rate.start_s).collect();
    lengths.sort_unstable_by(f64::total_cmp);
    let usual_s = lengths.get(lengths.len() / 2).copied().unwrap_or(0.0);
    let is_arrival = |rate: &&ArrivalRate| {
        rate.bytes > 0
            && rate.end_s - rate.start_s < LATE_READING * usual_s
            && rate.start_s >= from_s + EDGE_S
            && rate.end_s <= to_s - EDGE_S
    };
    let mut longest = Gap {
        from_s,
        to_s: from_s,
        is_last: false,
    };
    let mut quiet_from_s = from_s;
    let arrivals = rates.iter().filter(is_arrival);
    let ends = arrivals.map(|rate| (rate.start_s, rate.end_s));
    for (start_s, end_s) in ends.chain([(to_s, to_s)]) {
        if start_s - quiet_from_s > longest.length_s() {
            longest = Gap {
                from_s: quiet_from_s,
                to_s: start_s,
                is_last: false,
            };
        }
        quiet_from_s = end_s;
    }
    longest
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use caudal_core::arrivals::ArrivalReading;
    use caudal_core::plan::Direction;

    /// A series with a reading every 50 ms for `until_s`, in which 1000 bytes arrive in each step that `arrives`.
    pub(in crate::episode) fn series(until_s: f64, arrives: impl Fn(f64) -> bool) -> ArrivalSeries {
        let mut series = ArrivalSeries::new(Direction::Up);
        let mut bytes = 0;
        for nth in 1..=(until_s * 20.0) as u64 {
            let at_s = nth as f64 * 0.05;
            bytes += if arrives(at_s) { 1000 } else { 0 };
            series.record(ArrivalReading {
                at_ns: nth * 50_000_000,
                bytes,
            });
        }
        series
    }

    #[test]
    fn a_gap_begins_with_the_last_arrival_and_ends_with_the_next() {
        let found = gaps(&series(10.0, |at_s| !(4.01..6.01).contains(&at_s)));
        assert_eq!(found.len(), 1);
        let gap = found[0];
        assert!((gap.from_s - 4.0).abs() < 0.01 && (gap.to_s - 6.0).abs() < 0.01);
        assert!(!gap.is_last);
        assert!(gaps(&series(10.0, |at_s| at_s < 7.01))[0].is_last);
    }

    #[test]
    fn the_longest_gap_of_a_time_excludes_what_arrived_in_it() {
        let steady = series(10.0, |_| true);
        assert!(longest_gap(&steady, 3.0, 5.0).length_s() < 0.3);
        let interrupted = series(10.0, |at_s| !(4.01..6.01).contains(&at_s));
        let gap = longest_gap(&interrupted, 3.8, 7.2);
        assert!((gap.from_s - 4.0).abs() < 0.2 && (gap.to_s - 6.0).abs() < 0.2);
    }
}
