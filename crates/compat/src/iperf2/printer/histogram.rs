//! The line of a histogram of one-way times.

use super::counts::SpanCounts;
use super::flow::ShownFlow;
use crate::iperf2::options::{BinUnit, HistogramOptions};
use caudal_foreign::iperf2::HistogramCounts;
use std::fmt::Write;

/// The part of the times within three standard deviations of a normal distribution, percent.
const THREE_DEVIATIONS_PERCENT: f64 = 99.7;

/// The counts of a histogram between two readings.
pub(super) fn histogram_between(
    earlier: &HistogramCounts,
    later: &HistogramCounts,
) -> HistogramCounts {
    let before = earlier.bins.iter().copied().chain(std::iter::repeat(0));
    HistogramCounts {
        bins: (later.bins.iter().zip(before))
            .map(|(count, before)| count.saturating_sub(before))
            .collect(),
        below: later.below.saturating_sub(earlier.below),
        above: later.above.saturating_sub(earlier.above),
    }
}

/// The line of the histogram of a flow over a span of time.
pub(super) fn histogram_line(
    options: &HistogramOptions,
    flow: &ShownFlow,
    counts: &SpanCounts,
    histogram: &HistogramCounts,
    is_final: bool,
) -> String {
    let all = histogram.bins.iter().sum::<u64>() + histogram.below + histogram.above;
    let (width, unit) = match options.unit {
        BinUnit::Milliseconds => (options.bins.width.as_millis(), "ms"),
        BinUnit::Microseconds => (options.bins.width.as_micros(), "us"),
    };
    let mut line = format!(
        "[{:>3}] {:.4}-{:.4} sec {}8{}-PDF: bin(w={width}{unit}):cnt({all})",
        flow.number,
        counts.start_s,
        counts.end_s,
        if flow.is_udp() { 'T' } else { 'F' },
        if is_final { "(f)" } else { "" },
    );
    let filled = histogram
        .bins
        .iter()
        .zip(1..)
        .filter(|(count, _)| **count > 0);
    for (nth, (count, bin)) in filled.enumerate() {
        let separator = if nth == 0 { '=' } else { ',' };
        let _ = write!(line, "{separator}{bin}:{count}");
    }
    let bin_at = |percent: f64| bin_at(histogram, all, percent);
    let (lower, upper) = options.shown_percent;
    let three = THREE_DEVIATIONS_PERCENT;
    let shown = if upper > three {
        format!(
            "{lower:.2}/{three}/{upper:.2}%={}/{}/{}",
            bin_at(lower),
            bin_at(three),
            bin_at(upper)
        )
    } else {
        format!(
            "{lower:.2}/{upper:.2}/{three}%={}/{}/{}",
            bin_at(lower),
            bin_at(upper),
            bin_at(three)
        )
    };
    let (below, above) = (histogram.below, histogram.above);
    let _ = write!(
        line,
        " ({shown},Outliers={},obl/obu={below}/{above})",
        outliers(histogram, all)
    );
    line
}

/// The bin, from 1, at which more than this part of all times has been counted; the last one when it lies beyond all, 0 when it lies
/// below or there are no times.
fn bin_at(histogram: &HistogramCounts, all: u64, percent: f64) -> usize {
    let part = all as f64 * percent / 100.0;
    let mut running = histogram.below;
    if all == 0 || running as f64 > part {
        return 0;
    }
    for (count, bin) in histogram.bins.iter().zip(1..) {
        running += count;
        if running as f64 > part {
            return bin;
        }
    }
    histogram.bins.len()
}

/// The times in bins beyond that of 90 % of all times by more than three times its distance from that of 10 %.
fn outliers(histogram: &HistogramCounts, all: u64) -> u64 {
    let last_below = |part: f64| {
        let mut running = histogram.below;
        let mut last = 0;
        for (count, bin) in histogram.bins.iter().zip(1..) {
            running += count;
            if *count > 0 && (running as f64) < all as f64 * part {
                last = bin;
            }
        }
        last
    };
    let (lower, upper) = (last_below(0.1), last_below(0.9));
    let fence = upper + 3 * (upper - lower);
    if fence == 0 {
        return 0;
    }
    // The bin in which 90 % are passed is none of them.
    let passed = bin_at(histogram, all, 90.0).max(fence + 1);
    histogram.bins.iter().skip(passed).sum()
}
