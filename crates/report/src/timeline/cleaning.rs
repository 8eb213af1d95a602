//! The intervals of a log as figures need them: each since the one before, without sums over others.

use super::flow_timeline::TIME_SLACK;
use super::quantities::length_s;
use caudal_core::interval::{Interval, TcpInterval, UdpInterval};
use caudal_stats::median;
use std::ops::Sub;

/// The intervals in ascending order, each since the one before, without sums over others, moved by `offset_s`.
#[must_use]
pub fn cleaned_intervals(intervals: &[Interval], offset_s: f64) -> Vec<Interval> {
    let has_length = |one: &&Interval| one.end_s > one.start_s;
    let with_rates = intervals.iter().filter(has_length).map(with_rate);
    let mut sorted: Vec<Interval> = with_rates.collect();
    sorted.sort_by(|a, b| {
        let ends = || a.end_s.total_cmp(&b.end_s);
        a.start_s.total_cmp(&b.start_s).then_with(ends)
    });
    // The sum over a single interval repeats it.
    sorted.dedup_by(|b, a| {
        let slack = TIME_SLACK * length_s(a);
        (a.start_s - b.start_s).abs() <= slack && (a.end_s - b.end_s).abs() <= slack
    });
    let mut cleaned = if is_cumulative(&sorted) {
        differences(&sorted)
    } else {
        without_sums(&sorted)
    };
    for interval in &mut cleaned {
        interval.start_s += offset_s;
        interval.end_s += offset_s;
    }
    cleaned
}

/// The interval with its goodput, or the rate at which its sender sent where only that is known.
fn with_rate(interval: &Interval) -> Interval {
    let bytes = interval.bytes.map(|bytes| bytes as f64);
    let goodput_bps = interval
        .goodput_bps
        .or_else(|| bytes.map(|bytes| bytes * 8.0 / length_s(interval)))
        .or(interval.sent_bps);
    Interval {
        goodput_bps,
        ..interval.clone()
    }
}

/// `true` when every interval begins where the first does and each ends later: then all count from the start.
fn is_cumulative(sorted: &[Interval]) -> bool {
    sorted.len() > 1
        && sorted.windows(2).all(|pair| {
            let (a, b) = (&pair[0], &pair[1]);
            let slack = TIME_SLACK * length_s(a);
            (a.start_s - b.start_s).abs() <= slack && b.end_s - a.end_s > slack
        })
}

/// The intervals between the ends of intervals that all count from the start.
fn differences(cumulative: &[Interval]) -> Vec<Interval> {
    let mut intervals: Vec<Interval> = cumulative.iter().take(1).cloned().collect();
    intervals.extend(
        cumulative
            .windows(2)
            .map(|pair| difference(&pair[0], &pair[1])),
    );
    intervals
}

/// The interval from the end of `earlier` to the end of `later`, which both count from the start.
fn difference(earlier: &Interval, later: &Interval) -> Interval {
    let bits = growth(earlier.bytes.map(to_signed), later.bytes.map(to_signed))
        .map(|bytes| bytes as f64 * 8.0);
    let (tcp_before, udp_before) = (
        earlier.tcp.unwrap_or_default(),
        earlier.udp.unwrap_or_default(),
    );
    Interval {
        start_s: earlier.end_s,
        bytes: growth_of_count(earlier.bytes, later.bytes),
        goodput_bps: bits.map(|bits| (bits / (later.end_s - earlier.end_s)).max(0.0)),
        tcp: later.tcp.map(|tcp| TcpInterval {
            retransmits: growth_of_count(tcp_before.retransmits, tcp.retransmits),
            ..tcp
        }),
        udp: later.udp.map(|udp| UdpInterval {
            datagrams: growth_of_count(udp_before.datagrams, udp.datagrams),
            lost: growth(udp_before.lost, udp.lost),
            reordered: growth_of_count(udp_before.reordered, udp.reordered),
            ..udp
        }),
        ..later.clone()
    }
}

fn to_signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The difference of two values; `None` unless both are known.
fn growth<T: Sub<Output = T>>(earlier: Option<T>, later: Option<T>) -> Option<T> {
    Some(later? - earlier?)
}

/// The growth of a count, at least 0; `None` unless both readings are known.
fn growth_of_count(earlier: Option<u64>, later: Option<u64>) -> Option<u64> {
    Some(later?.saturating_sub(earlier?))
}

/// The intervals without those that span others, as the closing line of a log does.
fn without_sums(sorted: &[Interval]) -> Vec<Interval> {
    let spans_others = |outer: &Interval| {
        let slack = TIME_SLACK * length_s(outer);
        sorted.iter().any(|inner| {
            length_s(inner) < length_s(outer) - slack
                && inner.start_s >= outer.start_s - slack
                && inner.end_s <= outer.end_s + slack
        })
    };
    let typical = median(&sorted.iter().map(length_s).collect::<Vec<_>>());
    // Only an interval longer than most can span several.
    let is_ordinary = |one: &Interval| typical.is_none_or(|typical| length_s(one) < 1.5 * typical);
    let kept = sorted
        .iter()
        .filter(|one| is_ordinary(one) || !spans_others(one));
    kept.cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::test_intervals::interval;

    fn rates(intervals: &[Interval]) -> Vec<(f64, Option<f64>)> {
        let intervals = intervals.iter();
        intervals
            .map(|one| (one.start_s, one.goodput_bps))
            .collect()
    }

    #[test]
    fn the_sum_at_the_end_of_a_log_is_no_interval() {
        let cleaned = cleaned_intervals(
            &[
                interval(0.0, 1.0, 125),
                interval(1.0, 2.0, 250),
                interval(2.0, 3.0, 125),
                interval(0.0, 3.0, 500),
            ],
            0.0,
        );
        let starts: Vec<f64> = cleaned.iter().map(|one| one.start_s).collect();
        assert_eq!(starts, [0.0, 1.0, 2.0]);
    }

    #[test]
    fn counts_from_the_start_become_intervals() {
        let cleaned = cleaned_intervals(
            &[
                interval(0.0, 1.0, 125),
                interval(0.0, 2.0, 375),
                interval(0.0, 3.0, 500),
            ],
            10.0,
        );
        assert_eq!(
            rates(&cleaned),
            [
                (10.0, Some(1000.0)),
                (11.0, Some(2000.0)),
                (12.0, Some(1000.0))
            ]
        );
    }
}
