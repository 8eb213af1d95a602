//! What has been seen of one flow.

use super::limit::limited_now;
use caudal_core::interval::FlowInterval;
use caudal_core::plan::PlannedFlow;

/// Maximum number of intervals kept of a flow; of more, two become one.
const MAX_POINTS: usize = 1024;

/// One interval of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FlowPoint {
    /// Its beginning, s after the start.
    pub start_s: f64,
    /// Its end, s.
    pub end_s: f64,
    /// Goodput, bit/s.
    pub goodput_bps: Option<f64>,
    /// Smoothed round-trip time at its end, µs (TCP).
    pub rtt_us: Option<u32>,
    /// Jitter after RFC 3550 at its end, µs (UDP).
    pub jitter_us: Option<f64>,
    /// Congestion window at its end, bytes (TCP).
    pub cwnd_bytes: Option<u64>,
    /// Bytes retransmitted in it (TCP).
    pub retransmitted_bytes: Option<u64>,
    /// Datagrams lost in it (UDP).
    pub lost: Option<i64>,
    /// What held the flow back in it.
    pub limited_by: Option<&'static str>,
}

/// What has been seen of one flow.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowHistory {
    /// The flow.
    pub flow: PlannedFlow,
    /// Its intervals, in their order.
    pub points: Vec<FlowPoint>,
}

impl FlowHistory {
    pub(super) const fn new(flow: PlannedFlow) -> Self {
        Self {
            flow,
            points: Vec::new(),
        }
    }

    /// Takes the next interval.
    pub(super) fn push(&mut self, flow: &FlowInterval) {
        let interval = &flow.interval;
        if self.points.len() >= MAX_POINTS {
            self.points = self.points.chunks(2).map(joined).collect();
        }
        let (tcp, udp) = (interval.tcp, interval.udp);
        self.points.push(FlowPoint {
            start_s: interval.start_s,
            end_s: interval.end_s,
            goodput_bps: interval.goodput_bps.or(interval.sent_bps),
            rtt_us: tcp.and_then(|tcp| tcp.rtt_us),
            jitter_us: udp.and_then(|udp| udp.jitter_rfc3550_us),
            cwnd_bytes: tcp.and_then(|tcp| tcp.cwnd_bytes),
            retransmitted_bytes: tcp.and_then(|tcp| tcp.retransmitted_bytes),
            lost: udp.and_then(|udp| udp.lost),
            limited_by: limited_now(interval),
        });
    }

    /// Its latest interval that had ended at this time.
    #[must_use]
    pub fn at(&self, time_s: f64) -> Option<&FlowPoint> {
        let after = self.points.partition_point(|point| point.end_s <= time_s);
        self.points[..after].last()
    }
}

fn joined(points: &[FlowPoint]) -> FlowPoint {
    let [first, second] = points else {
        return points.first().copied().unwrap_or_default();
    };
    let (one, other) = (first.end_s - first.start_s, second.end_s - second.start_s);
    let goodput_bps = match (first.goodput_bps, second.goodput_bps) {
        (Some(a), Some(b)) if one + other > 0.0 => Some((a * one + b * other) / (one + other)),
        (a, b) => b.or(a),
    };
    let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    };
    let lost = match (first.lost, second.lost) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    };
    FlowPoint {
        start_s: first.start_s,
        goodput_bps,
        retransmitted_bytes: sum(first.retransmitted_bytes, second.retransmitted_bytes),
        lost,
        ..*second
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::interval::Interval;
    use caudal_core::plan::Direction;

    fn interval(second: u32) -> FlowInterval {
        FlowInterval {
            flow: PlannedFlow {
                id: 0,
                direction: Direction::Up,
            },
            interval: Interval {
                start_s: f64::from(second),
                end_s: f64::from(second + 1),
                goodput_bps: Some(8e6),
                ..Interval::default()
            },
        }
    }

    #[test]
    fn a_flow_of_a_day_takes_bounded_memory_and_loses_no_time() {
        let mut history = FlowHistory::new(interval(0).flow);
        for second in 0..86_400 {
            history.push(&interval(second));
        }
        assert!(history.points.len() <= MAX_POINTS);
        let gaps = history.points.windows(2);
        assert!(
            gaps.into_iter()
                .all(|pair| pair[0].end_s == pair[1].start_s)
        );
        assert_eq!(history.points[0].start_s, 0.0);
        assert_eq!(history.points.last().unwrap().end_s, 86_400.0);
        assert!(
            history
                .points
                .iter()
                .all(|point| point.goodput_bps == Some(8e6))
        );
    }

    #[test]
    fn the_state_at_a_time_is_that_of_the_interval_before() {
        let mut history = FlowHistory::new(interval(0).flow);
        history.push(&interval(0));
        history.push(&interval(1));
        assert_eq!(history.at(0.5), None);
        assert_eq!(history.at(1.0).unwrap().end_s, 1.0);
        assert_eq!(history.at(9.0).unwrap().end_s, 2.0);
    }
}
