//! Several connections as one flow.

use super::flow_timeline::FlowTimeline;
use caudal_core::interval::{Interval, TcpInterval, UdpInterval};
use std::ops::Add;

/// The intervals of the first connection with the rates and counts of the others added, each where all are known.
#[must_use]
pub fn combined_intervals(connections: &[FlowTimeline]) -> Vec<Interval> {
    let [first, rest @ ..] = connections else {
        return Vec::new();
    };
    let mut intervals = first.intervals.clone();
    for interval in &mut intervals {
        for other in rest {
            add(interval, other);
        }
    }
    intervals
}

/// Adds another connection over the same time to an interval.
fn add(interval: &mut Interval, other: &FlowTimeline) {
    let middle = f64::midpoint(interval.start_s, interval.end_s);
    let rate = other.rates_between(&[interval.start_s, interval.end_s])[0];
    let mut others = other.intervals.iter();
    let beside = others.find(|one| one.start_s <= middle && middle <= one.end_s);
    let tcp = |interval: &Interval| interval.tcp.unwrap_or_default();
    let udp = |interval: &Interval| interval.udp.unwrap_or_default();
    interval.goodput_bps = sum(interval.goodput_bps, rate);
    interval.bytes = sum(interval.bytes, beside.and_then(|one| one.bytes));
    let (mine, theirs) = (tcp(interval), beside.map(tcp).unwrap_or_default());
    interval.tcp = Some(TcpInterval {
        rtt_us: mine.rtt_us.zip(theirs.rtt_us).map(|(a, b)| a.max(b)),
        cwnd_bytes: sum(mine.cwnd_bytes, theirs.cwnd_bytes),
        retransmits: sum(mine.retransmits, theirs.retransmits),
        ..TcpInterval::default()
    });
    let (mine, theirs) = (udp(interval), beside.map(udp).unwrap_or_default());
    let jitters = mine.jitter_rfc3550_us.zip(theirs.jitter_rfc3550_us);
    interval.udp = Some(UdpInterval {
        datagrams: sum(mine.datagrams, theirs.datagrams),
        lost: sum(mine.lost, theirs.lost),
        reordered: sum(mine.reordered, theirs.reordered),
        jitter_rfc3550_us: jitters.map(|(a, b)| a.max(b)),
        ..UdpInterval::default()
    });
}

/// The sum of two values; `None` unless both are known.
fn sum<T: Add<Output = T>>(one: Option<T>, other: Option<T>) -> Option<T> {
    Some(one? + other?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::flows_of_run;
    use crate::timeline::quantities::{cwnd_bytes, jitter_s, retransmits, rtt_s};
    use crate::timeline::test_intervals::{interval, run_of};

    #[test]
    fn connections_add_up_only_where_all_are_known() {
        let one = run_of(vec![interval(0.0, 1.0, 125), interval(1.0, 2.0, 125)]);
        let other = run_of(vec![interval(0.01, 1.0, 250)]);
        let connections = [
            flows_of_run(&one, 0.0).remove(0),
            flows_of_run(&other, 0.0).remove(0),
        ];
        let sum = combined_intervals(&connections);
        assert!((sum[0].goodput_bps.unwrap() - 3020.2).abs() < 0.1);
        assert_eq!(sum[1].goodput_bps, None);
        for quantity in [rtt_s, cwnd_bytes, retransmits, jitter_s] {
            assert_eq!(quantity(&sum[0]), None);
        }
    }
}
