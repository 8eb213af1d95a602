//! A run as comma-separated values: of a throughput test a row for each flow and interval, and for their sum.

use super::interval_table::sum;
use super::path;
use super::quality;
use super::round_trips;
use super::search_table;
use super::sink::Sink;
use super::transfers;
use caudal_core::event::{Event, View};
use caudal_core::interval::{FlowInterval, Interval, IntervalRow};
use caudal_core::plan::{Direction, PlanKind};

/// The columns of a throughput test, with their units, in their order.
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

/// A view that prints comma-separated values.
#[derive(Debug)]
pub struct CsvRows {
    /// Where the rows go.
    pub sink: Sink,
    has_header: bool,
}

impl CsvRows {
    /// A view on this sink.
    #[must_use]
    pub const fn new(sink: Sink) -> Self {
        Self {
            sink,
            has_header: false,
        }
    }

    fn header(&mut self, columns: &str) {
        if !std::mem::replace(&mut self.has_header, true) {
            self.sink.line(columns);
        }
    }
}

impl View for CsvRows {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Agreed(agreement) if agreement.plan.kind == Some(PlanKind::Quality) => {
                self.header(quality::CSV_COLUMNS);
            }
            Event::Quality { interval } => self.sink.line(&quality::csv_row(interval)),
            Event::Agreed(agreement)
                if !matches!(
                    agreement.plan.kind,
                    Some(PlanKind::Rtt | PlanKind::File | PlanKind::Path)
                ) =>
            {
                self.header(&COLUMNS.join(","));
            }
            Event::Interval { repeat, flows } => {
                let row = IntervalRow {
                    flows: flows.clone(),
                };
                for line in row_lines(&row, *repeat) {
                    self.sink.line(&line);
                }
            }
            Event::Trial { trial } => {
                self.header(search_table::CSV_COLUMNS);
                self.sink.line(&search_table::csv_row(trial));
            }
            Event::Finished { run } if run.search.is_some() => {
                self.header(search_table::CSV_COLUMNS);
            }
            Event::Finished { run } if run.file.is_some() => {
                for line in run.file.iter().flat_map(|file| transfers::csv_lines(file)) {
                    self.sink.line(&line);
                }
            }
            Event::Finished { run } if run.path.is_some() => {
                for line in run.path.iter().flat_map(|report| path::csv_lines(report)) {
                    self.sink.line(&line);
                }
            }
            Event::Finished { run } => {
                if let Some(summary) = run.round_trips() {
                    for line in round_trips::csv_lines(run, summary) {
                        self.sink.line(&line);
                    }
                }
            }
            _ => {}
        }
    }
}

/// The lines of one row: every flow, then the sum of each direction that has several.
#[must_use]
pub fn row_lines(row: &IntervalRow, run: u32) -> Vec<String> {
    let mut lines: Vec<String> = row
        .flows
        .iter()
        .map(|FlowInterval { flow, interval }| {
            line(&flow.id.to_string(), flow.direction, interval, run)
        })
        .collect();
    for direction in Direction::BOTH {
        if let Some(sum) = sum(row, direction) {
            lines.push(line("sum", direction, &sum, run));
        }
    }
    lines
}

fn line(flow: &str, direction: Direction, interval: &Interval, run: u32) -> String {
    fn cell<T: std::fmt::Display>(value: Option<T>) -> String {
        value.map_or(String::new(), |value| value.to_string())
    }
    let tcp = interval.tcp.unwrap_or_default();
    let udp = interval.udp.unwrap_or_default();
    let share = |share: Option<f64>| cell(share.map(|share| format!("{share:.4}")));
    [
        format!("{:.6}", interval.start_s),
        format!("{:.6}", interval.end_s),
        flow.to_owned(),
        direction.name().to_owned(),
        u8::from(interval.omitted).to_string(),
        cell(interval.bytes),
        cell(interval.goodput_bps.map(|bps| format!("{bps:.0}"))),
        share(interval.sender_cpu),
        share(interval.receiver_cpu),
        cell(tcp.rtt_us),
        cell(tcp.min_rtt_us),
        cell(tcp.cwnd_bytes),
        cell(tcp.retransmitted_bytes),
        cell(tcp.retransmits),
        cell(tcp.delivery_rate_bps),
        cell(tcp.busy_us),
        cell(tcp.receiver_window_limited_us),
        cell(tcp.send_buffer_limited_us),
        cell(udp.datagrams),
        cell(udp.lost),
        cell(udp.duplicate),
        cell(udp.reordered),
        cell(udp.late),
        cell(udp.corrupt),
        cell(udp.socket_drops),
        cell(udp.jitter_rfc3550_us.map(|us| format!("{us:.3}"))),
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
            assert_eq!(line.split(',').count(), COLUMNS.len(), "{line}");
        }
        assert!(lines[2].starts_with("0.000000,1.000000,sum,up,0,10,80,"));
    }
}
