//! A bulk transfer as comma-separated values: a row for each flow and interval, and for their sum.

use crate::column::{self, Column, fixed, optional};
use crate::interval_table::sum;
use caudal_core::interval::{FlowInterval, Interval, IntervalRow, TcpInterval, UdpInterval};
use caudal_core::plan::Direction;
use std::fmt::Display;

/// A row of the table: a flow in an interval, or all flows of a direction.
#[derive(Debug)]
pub struct BulkRow<'a> {
    /// The flow's number; `None` for the sum.
    flow: Option<u32>,
    direction: Direction,
    interval: &'a Interval,
    /// The repetition, from 1.
    run: u32,
}

impl BulkRow<'_> {
    /// The columns, in their order.
    pub const COLUMNS: [Column<Self>; 28] = [
        Column::when(
            "always",
            "start_s",
            "s",
            "when the interval begins, after the start, by the receiver's clock",
            |row| format!("{:.6}", row.interval.start_s),
        ),
        Column::when("always", "end_s", "s", "when it ends", |row| {
            format!("{:.6}", row.interval.end_s)
        }),
        Column::when(
            "always",
            "flow",
            "",
            "the flow's number, or `sum` for all flows of a direction that has several",
            |row| {
                row.flow
                    .map_or_else(|| "sum".to_owned(), |flow| flow.to_string())
            },
        ),
        Column::when(
            "always",
            "direction",
            "",
            "`up` from the client to the server, `down` the other way",
            |row| row.direction.name().to_owned(),
        ),
        Column::when(
            "always",
            "omitted",
            "0 or 1",
            "1 when the interval belongs to the warm-up of `--omit TIME`",
            |row| u8::from(row.interval.omitted).to_string(),
        ),
        Column::when("always", "bytes", "bytes", "payload that arrived", |row| {
            optional(row.interval.bytes)
        }),
        Column::when(
            "always",
            "goodput_bps",
            "bit/s",
            "goodput: `bytes` over the length of the interval",
            |row| fixed(row.interval.goodput_bps, 0),
        ),
        Column::when(
            "not in sums",
            "sender_cpu",
            "share, 0 to 1",
            "time the sending thread was on a processor",
            |row| fixed(row.interval.sender_cpu, 4),
        ),
        Column::when(
            "not in sums",
            "receiver_cpu",
            "share, 0 to 1",
            "time the receiving thread was on a processor",
            |row| fixed(row.interval.receiver_cpu, 4),
        ),
        Column::when(
            "tcp, not in sums",
            "rtt_us",
            "µs",
            "smoothed round-trip time at the interval's end",
            |row| row.tcp(|tcp| tcp.rtt_us),
        ),
        Column::when(
            "tcp, not in sums",
            "min_rtt_us",
            "µs",
            "minimum round-trip time so far, as the kernel estimates it",
            |row| row.tcp(|tcp| tcp.min_rtt_us),
        ),
        Column::when(
            "tcp, not in sums",
            "cwnd_bytes",
            "bytes",
            "congestion window at the interval's end",
            |row| row.tcp(|tcp| tcp.cwnd_bytes),
        ),
        Column::when(
            "tcp, not in sums",
            "retransmitted_bytes",
            "bytes",
            "payload sent again",
            |row| row.tcp(|tcp| tcp.retransmitted_bytes),
        ),
        Column::when(
            "tcp, not in sums",
            "retransmits",
            "segments",
            "segments sent again",
            |row| row.tcp(|tcp| tcp.retransmits),
        ),
        Column::when(
            "tcp, not in sums",
            "delivery_rate_bps",
            "bit/s",
            "the kernel's latest estimate of the delivery rate",
            |row| row.tcp(|tcp| tcp.delivery_rate_bps),
        ),
        Column::when(
            "tcp, not in sums",
            "busy_us",
            "µs",
            "time with data outstanding",
            |row| row.tcp(|tcp| tcp.busy_us),
        ),
        Column::when(
            "tcp, not in sums",
            "receiver_window_limited_us",
            "µs",
            "of that, time held back by the receiver's window",
            |row| row.tcp(|tcp| tcp.receiver_window_limited_us),
        ),
        Column::when(
            "tcp, not in sums",
            "send_buffer_limited_us",
            "µs",
            "of that, time held back by the send buffer",
            |row| row.tcp(|tcp| tcp.send_buffer_limited_us),
        ),
        Column::when(
            "udp, not in sums",
            "datagrams",
            "datagrams",
            "distinct datagrams that arrived",
            |row| row.udp(|udp| udp.datagrams),
        ),
        Column::when(
            "udp, not in sums",
            "lost",
            "datagrams",
            "change in the number missing; negative when missing datagrams arrived late",
            |row| row.udp(|udp| udp.lost),
        ),
        Column::when(
            "udp, not in sums",
            "duplicate",
            "datagrams",
            "datagrams that arrived again",
            |row| row.udp(|udp| udp.duplicate),
        ),
        Column::when(
            "udp, not in sums",
            "reordered",
            "datagrams",
            "datagrams overtaken by a later one (RFC 4737)",
            |row| row.udp(|udp| udp.reordered),
        ),
        Column::when(
            "udp, not in sums",
            "late",
            "datagrams",
            "datagrams that arrived after they had been counted as lost",
            |row| row.udp(|udp| udp.late),
        ),
        Column::when(
            "udp, not in sums",
            "corrupt",
            "datagrams",
            "datagrams whose content differs from what was sent",
            |row| row.udp(|udp| udp.corrupt),
        ),
        Column::when(
            "udp, not in sums",
            "socket_drops",
            "datagrams",
            "dropped by the kernel for a full buffer at the receiving socket",
            |row| row.udp(|udp| udp.socket_drops),
        ),
        Column::when(
            "udp, not in sums",
            "jitter_rfc3550_us",
            "µs",
            "interarrival jitter at the interval's end (RFC 3550)",
            |row| fixed(row.interval.udp.and_then(|udp| udp.jitter_rfc3550_us), 3),
        ),
        Column::when("always", "run", "", "the repetition, from 1", |row| {
            row.run.to_string()
        }),
        Column::when(
            "udp, once one was",
            "ce",
            "datagrams",
            "datagrams that arrived marked CE, congestion experienced",
            |row| row.udp(|udp| udp.ce),
        ),
    ];

    fn tcp<T: Display>(&self, value: fn(&TcpInterval) -> Option<T>) -> String {
        optional(self.interval.tcp.as_ref().and_then(value))
    }

    fn udp<T: Display>(&self, value: fn(&UdpInterval) -> Option<T>) -> String {
        optional(self.interval.udp.as_ref().and_then(value))
    }
}

/// The lines of one row: every flow, then the sum of each direction that has several.
#[must_use]
pub fn row_lines(row: &IntervalRow, run: u32) -> Vec<String> {
    let line = |flow, direction, interval: &Interval| {
        let row = BulkRow {
            flow,
            direction,
            interval,
            run,
        };
        column::row(&BulkRow::COLUMNS, &row)
    };
    let mut lines: Vec<String> = row
        .flows
        .iter()
        .map(|FlowInterval { flow, interval }| line(Some(flow.id), flow.direction, interval))
        .collect();
    for direction in Direction::BOTH {
        if let Some(sum) = sum(row, direction) {
            lines.push(line(None, direction, &sum));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::PlannedFlow;

    #[test]
    fn every_line_has_every_column() {
        let flow = |id| FlowInterval {
            flow: PlannedFlow {
                id,
                direction: Direction::Up,
            },
            interval: Interval {
                end_s: 1.0,
                bytes: Some(5),
                goodput_bps: Some(40.0),
                receiver_cpu: Some(0.5),
                sender_cpu: Some(0.25),
                ..Interval::default()
            },
        };
        let row = IntervalRow {
            flows: vec![flow(0), flow(1)],
        };
        let lines = row_lines(&row, 1);
        assert_eq!(lines.len(), 3);
        for line in &lines {
            assert_eq!(line.split(',').count(), BulkRow::COLUMNS.len(), "{line}");
        }
        assert!(lines[2].starts_with("0.000000,1.000000,sum,up,0,10,80,"));
    }
}
