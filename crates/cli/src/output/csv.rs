//! A throughput run as comma-separated values: a row for each flow and interval, and for their sum.

use caudal_core::interval::{Interval, Row};
use caudal_core::plan::Direction;

/// The columns, with their units, in their order.
pub const COLUMNS: [&str; 27] = [
    "start_s",
    "end_s",
    "flow",
    "direction",
    "omitted",
    "bytes",
    "goodput_bps",
    "sender_cpu",
    "receiver_cpu",
    "rtt_us",
    "min_rtt_us",
    "cwnd_bytes",
    "retransmitted_bytes",
    "retransmits",
    "delivery_rate_bps",
    "busy_us",
    "receiver_window_limited_us",
    "send_buffer_limited_us",
    "datagrams",
    "lost",
    "duplicate",
    "reordered",
    "late",
    "corrupt",
    "socket_drops",
    "jitter_rfc3550_us",
    "run",
];

/// The header line.
#[must_use]
pub fn header() -> String {
    COLUMNS.join(",")
}

/// The lines of one row: every flow, then the sum of each direction that has several.
#[must_use]
pub fn lines(row: &Row, run: u32) -> Vec<String> {
    let mut lines: Vec<String> = row
        .flows
        .iter()
        .map(|(flow, interval)| of_interval(&flow.id.to_string(), flow.direction, interval, run))
        .collect();
    for direction in [Direction::Up, Direction::Down] {
        let (bytes, bps, count) = row.sum(direction);
        let first = row
            .flows
            .iter()
            .find(|(flow, _)| flow.direction == direction);
        if let (true, Some((_, first))) = (count > 1, first) {
            let sum = Interval {
                bytes,
                goodput_bps: bps,
                sender_cpu: None,
                tcp: None,
                udp: None,
                ..first.clone()
            };
            lines.push(of_interval("sum", direction, &sum, run));
        }
    }
    lines
}

fn of_interval(flow: &str, direction: Direction, interval: &Interval, run: u32) -> String {
    fn shown<T: std::fmt::Display>(value: Option<T>) -> String {
        value.map_or(String::new(), |value| value.to_string())
    }
    let (tcp, udp) = (interval.tcp, interval.udp);
    let is_sum = flow == "sum";
    [
        format!("{:.6}", interval.start_s),
        format!("{:.6}", interval.end_s),
        flow.to_owned(),
        direction.name().to_owned(),
        u8::from(interval.omitted).to_string(),
        interval.bytes.to_string(),
        format!("{:.0}", interval.goodput_bps),
        shown(interval.sender_cpu.map(|cpu| format!("{cpu:.4}"))),
        if is_sum {
            String::new()
        } else {
            shown(interval.receiver_cpu.map(|cpu| format!("{cpu:.4}")))
        },
        shown(tcp.map(|tcp| tcp.rtt_us)),
        shown(tcp.and_then(|tcp| tcp.min_rtt_us)),
        shown(tcp.map(|tcp| tcp.cwnd_bytes)),
        shown(tcp.and_then(|tcp| tcp.retransmitted_bytes)),
        shown(tcp.map(|tcp| tcp.retransmits)),
        shown(tcp.and_then(|tcp| tcp.delivery_rate_bps)),
        shown(tcp.and_then(|tcp| tcp.busy_us)),
        shown(tcp.and_then(|tcp| tcp.receiver_window_limited_us)),
        shown(tcp.and_then(|tcp| tcp.send_buffer_limited_us)),
        shown(udp.map(|udp| udp.datagrams)),
        shown(udp.map(|udp| udp.lost)),
        shown(udp.and_then(|udp| udp.duplicate)),
        shown(udp.and_then(|udp| udp.reordered)),
        shown(udp.and_then(|udp| udp.late)),
        shown(udp.and_then(|udp| udp.corrupt)),
        shown(udp.and_then(|udp| udp.socket_drops)),
        shown(udp.map(|udp| format!("{:.3}", udp.jitter_rfc3550_us))),
        run.to_string(),
    ]
    .join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::PlannedFlow;

    #[test]
    fn every_line_has_every_column() {
        let interval = Interval {
            start_s: 0.0,
            end_s: 1.0,
            bytes: 5,
            goodput_bps: 40.0,
            omitted: false,
            receiver_cpu: Some(0.5),
            sender_cpu: Some(0.25),
            tcp: None,
            udp: None,
        };
        let flow = |id| PlannedFlow {
            id,
            direction: Direction::Up,
        };
        let row = Row {
            tick: 1,
            flows: vec![(flow(0), interval.clone()), (flow(1), interval)],
        };
        let lines = lines(&row, 1);
        assert_eq!(lines.len(), 3);
        for line in &lines {
            assert_eq!(line.split(',').count(), COLUMNS.len(), "{line}");
        }
        assert!(lines[2].starts_with("0.000000,1.000000,sum,up,0,10,80,"));
    }
}
