//! The rows of the interval table.

use super::fitted_row::{FittedCell, fitted_row};
use super::text::{bits, bytes, time_us};
use super::width::LineWidth;
use caudal_core::interval::{FlowInterval, Interval, IntervalRow, TcpInterval, UdpInterval};
use caudal_core::plan::{Direction, Transport};

/// The columns of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Those that fit 80 columns.
    Usual,
    /// Every column there is.
    Every,
}

/// The rows of a table with several flows in a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowRows {
    /// Each flow, and their sum.
    Each,
    /// The sum alone.
    SumOnly,
}

/// The form of the table's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowForm {
    /// The columns.
    pub detail: Detail,
    /// The width that the usual ones are fitted to; where every column was asked for, every one is shown.
    pub width: LineWidth,
}

impl RowForm {
    /// The usual columns, however wide they are.
    pub const USUAL: Self = Self {
        detail: Detail::Usual,
        width: LineWidth::UNLIMITED,
    };

    fn fit(self, cells: &[FittedCell]) -> String {
        let width = match self.detail {
            Detail::Usual => self.width,
            Detail::Every => LineWidth::UNLIMITED,
        };
        fitted_row(cells, width)
    }
}

/// The interval table's header.
#[must_use]
pub fn header(transport: Transport, form: RowForm) -> String {
    let mut cells = vec![
        FittedCell::new(format!("{:>15}  {:<8}", "interval", "flow"), 25, 0),
        FittedCell::new("received", 10, 3),
        FittedCell::new("goodput", 13, 0),
    ];
    let columns: &[Column<'_>] = match (transport, form.detail) {
        (Transport::Tcp, Detail::Usual) => {
            &[("rtt", 10, 2), ("cwnd", 10, 4), ("retransmit", 12, 1)]
        }
        (Transport::Tcp, Detail::Every) => &[
            ("rtt", 10, 2),
            ("min rtt", 10, 4),
            ("cwnd", 10, 4),
            ("retransmit", 12, 1),
            ("delivery", 13, 4),
            ("rwnd", 7, 4),
            ("sndbuf", 7, 4),
            ("busy", 7, 4),
        ],
        (Transport::Udp, Detail::Usual) => {
            &[("lost", 10, 1), ("reorder", 10, 4), ("jitter", 11, 2)]
        }
        (Transport::Udp, Detail::Every) => &[
            ("lost", 10, 1),
            ("reorder", 10, 4),
            ("jitter", 11, 2),
            ("duplicate", 10, 4),
            ("late", 8, 4),
            ("corrupt", 8, 4),
            ("socket", 8, 4),
        ],
    };
    let more = columns.iter();
    cells.extend(more.map(|(title, width, rank)| FittedCell::new(*title, *width, *rank)));
    form.fit(&cells)
}

/// A title with its width, the gap before it included, and its rank.
type Column<'a> = (&'a str, usize, u8);

/// The name of a flow among several, in at most 8 columns.
fn flow_name(direction: Direction, id: u32) -> String {
    let gap = if id < 1000 { " " } else { "" };
    format!("{}{gap}{id}", direction.name())
}

/// The lines of one row: each flow as asked for, and the sum of each direction that has several.
#[must_use]
pub fn row_lines(row: &IntervalRow, form: RowForm, flows: FlowRows) -> Vec<String> {
    let mut lines = Vec::new();
    for FlowInterval { flow, interval } in &row.flows {
        let is_alone = row.sum(flow.direction).flows == 1;
        if is_alone || flows == FlowRows::Each {
            let name = if is_alone {
                flow.direction.name().to_owned()
            } else {
                flow_name(flow.direction, flow.id)
            };
            lines.push(line(&name, interval, form));
        }
    }
    for direction in Direction::BOTH {
        if let Some(sum) = sum(row, direction) {
            lines.push(line(&format!("{} sum", direction.name()), &sum, form));
        }
    }
    lines
}

/// The sum of the flows of a direction that has several.
#[must_use]
pub fn sum(row: &IntervalRow, direction: Direction) -> Option<Interval> {
    let sum = row.sum(direction);
    let first = &row.of_direction(direction).next()?.interval;
    (sum.flows > 1).then(|| Interval {
        start_s: first.start_s,
        end_s: first.end_s,
        bytes: Some(sum.bytes),
        goodput_bps: Some(sum.goodput_bps),
        omitted: first.omitted,
        tcp: tcp_sum(row, direction),
        udp: udp_sum(row, direction),
        ..Interval::default()
    })
}

/// The TCP flows of a direction together: their windows and retransmissions, and the mean of their round-trip times. `None` for a value
/// that one of them does not have.
fn tcp_sum(row: &IntervalRow, direction: Direction) -> Option<TcpInterval> {
    let flows = row.of_direction(direction);
    let flows: Vec<TcpInterval> = flows.map(|one| one.interval.tcp).collect::<Option<_>>()?;
    let sum = |value: fn(&TcpInterval) -> Option<u64>| flows.iter().map(value).sum::<Option<u64>>();
    let rtts: Option<u64> = flows.iter().map(|tcp| tcp.rtt_us.map(u64::from)).sum();
    let mean = |total: u64| u32::try_from(total / flows.len() as u64).ok();
    Some(TcpInterval {
        rtt_us: rtts.and_then(mean),
        min_rtt_us: flows.iter().filter_map(|tcp| tcp.min_rtt_us).min(),
        cwnd_bytes: sum(|tcp| tcp.cwnd_bytes),
        retransmitted_bytes: sum(|tcp| tcp.retransmitted_bytes),
        retransmits: sum(|tcp| tcp.retransmits),
        delivery_rate_bps: sum(|tcp| tcp.delivery_rate_bps),
        ..TcpInterval::default()
    })
}

/// The datagrams of all flows of a direction, and the mean of their jitters. `None` for a value that one of them does not have.
fn udp_sum(row: &IntervalRow, direction: Direction) -> Option<UdpInterval> {
    let flows = row.of_direction(direction);
    let flows: Vec<UdpInterval> = flows.map(|one| one.interval.udp).collect::<Option<_>>()?;
    let sum = |value: fn(&UdpInterval) -> Option<u64>| flows.iter().map(value).sum::<Option<u64>>();
    let jitter: Option<f64> = flows.iter().map(|udp| udp.jitter_rfc3550_us).sum();
    Some(UdpInterval {
        datagrams: sum(|udp| udp.datagrams),
        lost: flows.iter().map(|udp| udp.lost).sum(),
        duplicate: sum(|udp| udp.duplicate),
        reordered: sum(|udp| udp.reordered),
        late: sum(|udp| udp.late),
        corrupt: sum(|udp| udp.corrupt),
        socket_drops: sum(|udp| udp.socket_drops),
        ce: flows
            .iter()
            .filter_map(|udp| udp.ce)
            .reduce(u64::saturating_add),
        jitter_rfc3550_us: jitter.map(|total| total / flows.len() as f64),
    })
}

fn span(interval: &Interval) -> String {
    span_text(interval.start_s, interval.end_s)
}

/// The time from `start` to `end`, s, in at most 15 columns up to 30 days.
pub(super) fn span_text(start: f64, end: f64) -> String {
    match end {
        below if below < 999.995 => format!("{start:.2}-{end:.2} s"),
        below if below < 9999.95 => format!("{start:.1}-{end:.1} s"),
        below if below < 999_999.5 => format!("{start:.0}-{end:.0} s"),
        _ => format!("{start:.0}-{end:.0}"),
    }
}

/// A value, or a dash where it is not known.
fn or_dash<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), show)
}

fn line(name: &str, interval: &Interval, form: RowForm) -> String {
    // The headline explains the asterisk.
    let mark = if interval.omitted { '*' } else { ' ' };
    let carried = interval.bytes.or(interval.sent_bytes);
    let rate = interval.goodput_bps.or(interval.sent_bps);
    let mut cells = vec![
        FittedCell::new(format!("{:>15} {mark}{name:<8}", span(interval)), 25, 0),
        FittedCell::new(or_dash(carried, bytes), 10, 3),
        FittedCell::new(or_dash(rate, bits), 13, 0),
    ];
    cells.extend(tcp_cells(interval, form.detail));
    cells.extend(udp_cells(interval, form.detail));
    form.fit(&cells)
}

fn tcp_cells(interval: &Interval, detail: Detail) -> Vec<FittedCell> {
    let Some(tcp) = interval.tcp else {
        return Vec::new();
    };
    let us = |us: Option<u32>| or_dash(us, |us| time_us(f64::from(us)));
    let retransmitted = tcp.retransmitted_bytes.map_or_else(
        || or_dash(tcp.retransmits, |count| count.to_string()),
        bytes,
    );
    let mut cells = vec![FittedCell::new(us(tcp.rtt_us), 10, 2)];
    if detail == Detail::Every {
        cells.push(FittedCell::new(us(tcp.min_rtt_us), 10, 4));
    }
    cells.push(FittedCell::new(or_dash(tcp.cwnd_bytes, bytes), 10, 4));
    cells.push(FittedCell::new(retransmitted, 12, 1));
    if detail == Detail::Every {
        let elapsed_us = interval.length_s() * 1e6;
        let share = |us: Option<u64>| {
            or_dash(us, |us| {
                format!("{:.0} %", (us as f64 / elapsed_us).min(1.0) * 100.0)
            })
        };
        let delivery = or_dash(tcp.delivery_rate_bps, |bps| bits(bps as f64));
        cells.extend([
            FittedCell::new(delivery, 13, 4),
            FittedCell::new(share(tcp.receiver_window_limited_us), 7, 4),
            FittedCell::new(share(tcp.send_buffer_limited_us), 7, 4),
            FittedCell::new(share(tcp.busy_us), 7, 4),
        ]);
    }
    cells
}

fn udp_cells(interval: &Interval, detail: Detail) -> Vec<FittedCell> {
    let Some(udp) = interval.udp else {
        return Vec::new();
    };
    let count = |count: Option<u64>| or_dash(count, |count| count.to_string());
    let lost = or_dash(udp.lost, |lost| lost.to_string());
    let jitter = or_dash(udp.jitter_rfc3550_us, time_us);
    let mut cells = vec![
        FittedCell::new(lost, 10, 1),
        FittedCell::new(count(udp.reordered), 10, 4),
        FittedCell::new(jitter, 11, 2),
    ];
    if detail == Detail::Every {
        cells.extend([
            FittedCell::new(count(udp.duplicate), 10, 4),
            FittedCell::new(count(udp.late), 8, 4),
            FittedCell::new(count(udp.corrupt), 8, 4),
            FittedCell::new(count(udp.socket_drops), 8, 4),
        ]);
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::super::text::WIDTH;
    use super::*;

    #[test]
    fn headers_fit_the_terminal() {
        for transport in [Transport::Tcp, Transport::Udp] {
            assert!(header(transport, RowForm::USUAL).chars().count() <= WIDTH);
        }
    }

    #[test]
    fn rows_fit_the_terminal_however_long_the_test_and_many_the_flows() {
        use caudal_core::interval::TcpInterval;
        use caudal_core::plan::PlannedFlow;
        let tcp = TcpInterval {
            rtt_us: Some(999_990),
            cwnd_bytes: Some(999_999),
            retransmitted_bytes: Some(999_999_999),
            retransmits: Some(9),
            ..TcpInterval::default()
        };
        for start_s in [0.0, 999.0, 9_999.0, 999_999.0, 2_591_999.0] {
            let interval = Interval {
                start_s,
                end_s: start_s + 1.0,
                bytes: Some(99_990_000),
                goodput_bps: Some(799.9e6),
                omitted: true,
                tcp: Some(tcp),
                ..Interval::default()
            };
            let flow = |id| FlowInterval {
                flow: PlannedFlow {
                    id,
                    direction: Direction::Down,
                },
                interval: interval.clone(),
            };
            let row = IntervalRow {
                flows: vec![flow(0), flow(1023)],
            };
            for columns in [40, 50, 60, 79, WIDTH] {
                let form = RowForm {
                    width: LineWidth::of_columns(columns),
                    ..RowForm::USUAL
                };
                let header = header(Transport::Tcp, form);
                assert_eq!(header.contains("retransmit"), columns >= 50, "{header}");
                assert_eq!(header.contains("cwnd"), columns >= 80, "{header}");
                for line in row_lines(&row, form, FlowRows::Each) {
                    assert!(line.chars().count() <= columns, "{columns}: {line}");
                    assert_eq!(line.chars().count(), header.chars().count(), "{line}");
                    assert!(line.contains(" *down"), "{line}");
                    assert!(line.contains("bit/s"), "{line}");
                }
            }
        }
    }

    #[test]
    fn the_sum_of_datagram_flows_has_their_losses_and_their_mean_jitter() {
        use caudal_core::plan::PlannedFlow;
        let flow = |id, lost, jitter_us| FlowInterval {
            flow: PlannedFlow {
                id,
                direction: Direction::Up,
            },
            interval: Interval {
                end_s: 1.0,
                bytes: Some(1_000_000),
                goodput_bps: Some(8e6),
                udp: Some(UdpInterval {
                    lost: Some(lost),
                    reordered: Some(2),
                    jitter_rfc3550_us: Some(jitter_us),
                    ..UdpInterval::default()
                }),
                ..Interval::default()
            },
        };
        let row = IntervalRow {
            flows: vec![flow(0, 3, 10.0), flow(1, 4, 30.0)],
        };
        let sum = sum(&row, Direction::Up).unwrap().udp.unwrap();
        assert_eq!((sum.lost, sum.reordered), (Some(7), Some(4)));
        assert_eq!(sum.jitter_rfc3550_us, Some(20.0));
        let lines = row_lines(&row, RowForm::USUAL, FlowRows::SumOnly);
        assert!(lines[0].contains(" 7 "), "{lines:?}");
        assert!(lines[0].ends_with("20 µs"), "{lines:?}");
    }
}
