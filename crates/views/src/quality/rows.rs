//! A test of latency under load in a pipe: a line a second.

use crate::cells::{ms, rate, share};
use crate::fitted_row::{FittedCell, fitted_row};
use crate::width::LineWidth;
use caudal_core::quality::QualityInterval;
use caudal_stats::nearest_rank;

/// The header of the lines.
pub(super) fn header(width: LineWidth) -> String {
    let rest = ["down", "up", "RTT ms", "max ms", "lost"].map(str::to_owned);
    cells("interval s", "load", rest, width)
}

fn cells(interval: &str, load: &str, rest: [String; 5], width: LineWidth) -> String {
    let [down, up, rtt, max, lost] = rest;
    let cells = [
        FittedCell::new(interval, 12, 0),
        FittedCell::new(format!(" {load:<9}"), 10, 0),
        FittedCell::new(down, 14, 1),
        FittedCell::new(up, 14, 1),
        FittedCell::new(rtt, 10, 0),
        FittedCell::new(max, 10, 3),
        FittedCell::new(lost, 8, 2),
    ];
    fitted_row(&cells, width)
}

/// The line of these intervals, which follow one another in one phase; `None` without any.
pub(super) fn row(intervals: &[QualityInterval], width: LineWidth) -> Option<String> {
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
    let values = [
        rate(mean(|one| one.down_bps)),
        rate(mean(|one| one.up_bps)),
        ms(nearest_rank(&medians, 0.5)),
        ms(max),
        share(loss),
    ];
    let interval = format!("{:>5.1}–{:>6.1}", first.start_s, last.end_s);
    Some(cells(&interval, first.load.name(), values, width))
}
