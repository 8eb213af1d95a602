//! The delay of UDP probes in each direction.

use super::clock_track::ClockTrack;
use crate::echo::EchoSeries;
use caudal_core::plan::Direction;
use caudal_core::quality::OneWayReport;
use caudal_stats::{nearest_rank, supported_quantile};

/// The report on these delays in µs, with the clocks' offset removed as far as it is known.
#[must_use]
pub fn one_way_report(
    direction: Direction,
    delays: &[f64],
    clock: &ClockTrack,
    idle_rtt_us: Option<f64>,
) -> OneWayReport {
    let mut report = OneWayReport {
        direction,
        p50_us: None,
        p95_us: None,
        p99_us: None,
        max_us: None,
        bound_us: clock.bound_ns().map(|ns| ns as f64 / 1e3),
        cannot_tell: None,
    };
    let reason = match (report.bound_us, idle_rtt_us) {
        _ if delays.is_empty() => Some("no probe with time stamps came back".to_owned()),
        (None, _) => Some("the offset between the clocks is not known".to_owned()),
        (Some(bound), Some(rtt)) if bound > MAX_ERROR * rtt => Some(format!(
            "the clocks are known to ± {:.1} ms only, and the idle round trip is {:.1} ms",
            bound / 1e3,
            rtt / 1e3
        )),
        _ => None,
    };
    if reason.is_some() {
        report.cannot_tell = reason;
        return report;
    }
    let mut sorted = delays.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    report.p50_us = nearest_rank(&sorted, 0.5);
    report.p95_us = supported_quantile(&sorted, 0.95);
    report.p99_us = supported_quantile(&sorted, 0.99);
    report.max_us = sorted.last().copied();
    report
}

/// Maximum error of the clocks' offset, as a part of the median idle round trip, with which delays are told: that of a
/// measurement over the path itself is half of it, which tells nothing.
const MAX_ERROR: f64 = 0.1;

/// The transit times of a phase's UDP probes in one direction that were due from `from_ns` on, µs, with the clocks' offset
/// removed where it is known. `start_ns` is the start of the phase after that of the test.
pub(super) fn transits(
    series: &EchoSeries,
    direction: Direction,
    from_ns: u64,
    start_ns: u64,
    clock: &ClockTrack,
) -> Vec<f64> {
    let counted = series
        .departures
        .iter()
        .filter(|departure| departure.intended_ns >= from_ns);
    counted
        .filter_map(|departure| {
            let transit = departure.one_way?;
            let at_ns = i64::try_from(start_ns + departure.intended_ns).unwrap_or(i64::MAX);
            let offset_ns = clock.offset_ns(at_ns).unwrap_or(0);
            let ns = match direction {
                Direction::Up => transit.up_ns.saturating_sub(offset_ns),
                Direction::Down => transit.down_ns.saturating_add(offset_ns),
            };
            Some(ns as f64 / 1e3)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::echo::ClockOffset;

    #[test]
    fn delays_are_told_only_with_clocks_good_enough_for_them() {
        let clock = |bound_ns| {
            ClockTrack::new(vec![ClockOffset {
                at_ns: 0,
                offset_ns: 0,
                bound_ns,
            }])
        };
        let report =
            |bound_ns| one_way_report(Direction::Up, &[10e3, 11e3], &clock(bound_ns), Some(20e3));
        assert_eq!(report(1_000).p50_us, Some(10e3));
        let vague = report(10_000_000);
        assert_eq!(vague.p50_us, None);
        assert!(vague.cannot_tell.unwrap().contains("± 10.0 ms"));
        let none = one_way_report(Direction::Up, &[], &clock(1), Some(1.0));
        assert!(none.cannot_tell.is_some());
    }
}
