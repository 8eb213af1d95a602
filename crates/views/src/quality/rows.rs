//! A test of latency under load in a pipe: a line a second.

use crate::cells::{ms, rate, share};
use caudal_core::quality::QualityInterval;
use caudal_stats::nearest_rank;

/// The header of the lines.
pub(super) fn header() -> String {
    format!(
        "{:>12} {:<9} {:>13} {:>13} {:>9} {:>9} {:>7}",
        "interval s", "load", "down", "up", "RTT ms", "max ms", "lost"
    )
}

/// The line of these intervals, which follow one another in one phase; `None` without any.
pub(super) fn row(intervals: &[QualityInterval]) -> Option<String> {
    let (first, last) = (intervals.first()?, intervals.last()?);
    let mean = |value: fn(&QualityInterval) -> Option<f64>| {
        let weighted = intervals.iter().filter_map(|one| {
            let length_s = one.end_s - one.start_s;
            Some((value(one)? * length_s, length_s))
        });
        let (sum, length_s) = weighted.fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
        (length_s > 0.0).then(|| sum / length_s)
    };
    let mut medians: Vec<f64> = intervals.iter().filter_map(|one| one.rtt_us).collect();
    medians.sort_unstable_by(f64::total_cmp);
    let max = intervals
        .iter()
        .filter_map(|one| one.rtt_max_us)
        .reduce(f64::max);
    let (probes, lost) = intervals
        .iter()
        .fold((0, 0), |all, one| (all.0 + one.probes, all.1 + one.lost));
    let loss = (probes > 0).then(|| lost as f64 / probes as f64);
    Some(format!(
        "{:>5.1}–{:>6.1} {:<9} {:>13} {:>13} {:>9} {:>9} {:>7}",
        first.start_s,
        last.end_s,
        first.load.name(),
        rate(mean(|one| one.down_bps)),
        rate(mean(|one| one.up_bps)),
        ms(nearest_rank(&medians, 0.5)),
        ms(max),
        share(loss),
    ))
}
