//! The totals of a log by direction.

use super::log::{Log, LogCounts, LogFlow};
use caudal_core::plan::Direction;
use caudal_core::sample::Role;

/// The totals of a direction.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DirectionTotals {
    /// Payload that arrived per second by the receiver's count, bit/s.
    pub goodput_bps: Option<f64>,
    /// Payload handed to the sender's kernel per second by the sender's count, bit/s.
    pub sent_bps: Option<f64>,
    /// Payload that arrived, bytes.
    pub received_bytes: Option<f64>,
    /// Payload handed to the sender's kernel, bytes.
    pub sent_bytes: Option<f64>,
    /// The time counted, s.
    pub measured_s: f64,
    /// Segments retransmitted.
    pub retransmits: Option<f64>,
    /// The maximum congestion window, bytes.
    pub cwnd_max_bytes: Option<f64>,
    /// The mean of the smoothed round-trip times, µs.
    pub rtt_us: Option<f64>,
    /// Datagrams that the receiver knows of, and those of them that were lost.
    pub losses: Option<(f64, f64)>,
    /// Datagrams sent.
    pub datagrams_sent: Option<f64>,
    /// Datagrams that arrived after a later one.
    pub reordered: Option<f64>,
    /// The maximum jitter at the end of a flow, ms.
    pub jitter_ms: Option<f64>,
}

/// The directions of a test, up first.
#[must_use]
pub fn directions(log: &Log) -> Vec<Direction> {
    [Direction::Up, Direction::Down]
        .into_iter()
        .filter(|direction| {
            let mut all = log.flows.iter().chain(&log.sums);
            all.any(|flow| flow.direction == *direction)
        })
        .collect()
}

/// The totals of a direction: the sums of the log where it has them, else those of its flows.
#[must_use]
pub fn totals(log: &Log, direction: Direction) -> DirectionTotals {
    let flows: Vec<&LogFlow> = log
        .flows
        .iter()
        .filter(|flow| flow.direction == direction)
        .collect();
    let sum = log.sums.iter().find(|sum| sum.direction == direction);
    let ends = |end: Role| -> Vec<LogCounts> {
        if let Some(count) = sum.and_then(|sum| sum.end(end)) {
            return vec![*count];
        }
        // The sum over a part of the flows is not that of all.
        let counts: Option<Vec<LogCounts>> = flows.iter().map(|flow| end_of(flow, end)).collect();
        counts.unwrap_or_default()
    };
    let (sent, arrived) = (ends(Role::Sender), ends(Role::Receiver));
    let add = |counts: &[LogCounts], key: fn(&LogCounts) -> Option<f64>| -> Option<f64> {
        let all: Option<Vec<f64>> = counts.iter().map(key).collect();
        all.filter(|all| !all.is_empty())
            .map(|all| all.iter().sum())
    };
    let longest = |counts: &[LogCounts]| {
        let lengths = counts.iter().map(|count| count.end_s - count.start_s);
        lengths.fold(0.0, f64::max)
    };
    let flow_ends = |end: Role, key: fn(&LogCounts) -> Option<f64>| -> Option<f64> {
        let all: Option<Vec<f64>> = flows
            .iter()
            .map(|flow| end_of(flow, end).and_then(|count| key(&count)))
            .collect();
        all.filter(|all| !all.is_empty())
            .map(|all| all.iter().sum())
    };
    let seen = |key: fn(&LogCounts) -> Option<f64>| -> Vec<f64> {
        let rows = flows.iter().flat_map(|flow| &flow.intervals);
        rows.filter(|row| !row.omitted).filter_map(key).collect()
    };
    let largest = |values: Vec<f64>| values.into_iter().reduce(f64::max);
    let round_trips = seen(|row| row.rtt_us);
    let ends_rtt: Vec<f64> = flows
        .iter()
        .filter_map(|flow| flow.sender?.rtt_us)
        .collect();
    let mean = |values: &[f64]| {
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let measured = if arrived.is_empty() { &sent } else { &arrived };
    let counted = |key: fn(&LogCounts) -> Option<f64>| {
        flow_ends(Role::Receiver, key).or_else(|| add(&arrived, key))
    };
    DirectionTotals {
        goodput_bps: add(&arrived, rate),
        sent_bps: add(&sent, rate),
        received_bytes: add(&arrived, |count| count.bytes),
        sent_bytes: add(&sent, |count| count.bytes),
        measured_s: longest(measured),
        retransmits: add(&sent, |count| count.retransmits),
        cwnd_max_bytes: largest(seen(|row| row.cwnd_bytes)).or_else(|| {
            largest(
                flows
                    .iter()
                    .filter_map(|flow| flow.sender?.cwnd_bytes)
                    .collect(),
            )
        }),
        rtt_us: mean(&ends_rtt).or_else(|| mean(&round_trips)),
        losses: counted(|count| count.datagrams)
            .zip(counted(|count| count.lost))
            .filter(|(all, lost)| lost <= all),
        datagrams_sent: flow_ends(Role::Sender, |count| count.datagrams)
            .or_else(|| add(&sent, |count| count.datagrams)),
        reordered: counted(|count| count.reordered),
        jitter_ms: largest(
            flows
                .iter()
                .filter_map(|flow| end_of(flow, Role::Receiver)?.jitter_ms)
                .collect(),
        ),
    }
}

/// The totals of one end of a flow: those of the log or, of a log that breaks off, the sums over its intervals.
fn end_of(flow: &LogFlow, end: Role) -> Option<LogCounts> {
    if let Some(count) = flow.end(end) {
        return Some(*count);
    }
    let rows: Vec<&LogCounts> = flow.intervals.iter().filter(|row| !row.omitted).collect();
    let (first, last) = (rows.first()?, rows.last()?);
    if flow.counted_by != end {
        return None;
    }
    let add =
        |key: fn(&LogCounts) -> Option<f64>| rows.iter().map(|row| key(row)).sum::<Option<f64>>();
    let seconds: f64 = rows.iter().map(|row| row.end_s - row.start_s).sum();
    let bytes = add(|row| row.bytes);
    Some(LogCounts {
        start_s: first.start_s,
        end_s: last.end_s.max(first.start_s),
        bytes,
        bps: bytes
            .filter(|_| seconds > 0.0)
            .map(|bytes| bytes * 8.0 / seconds),
        retransmits: add(|row| row.retransmits),
        datagrams: add(|row| row.datagrams),
        lost: add(|row| row.lost),
        reordered: add(|row| row.reordered),
        jitter_ms: last.jitter_ms,
        ..LogCounts::default()
    })
}

fn rate(count: &LogCounts) -> Option<f64> {
    let seconds = count.end_s - count.start_s;
    count.bps.or_else(|| {
        count
            .bytes
            .filter(|_| seconds > 0.0)
            .map(|bytes| bytes * 8.0 / seconds)
    })
}

/// The flows of a direction.
pub fn flows_in(log: &Log, direction: Direction) -> impl Iterator<Item = &LogFlow> {
    log.flows
        .iter()
        .filter(move |flow| flow.direction == direction)
}
