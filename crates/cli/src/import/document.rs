//! The document of a log: that of a run of caudal's own, without what the log does not report.

use super::log::{Count, End, Flow, Log};
use caudal_core::interval::{Interval, TcpInterval, UdpInterval};
use caudal_core::loss::Loss;
use caudal_core::plan::{
    Direction, Directions, Omit, PlanKind, PlanRecord, PlannedFlow, Rate, TestEnd, Transport,
};
use caudal_core::run::{
    FlowReport, ReceiverReport, SenderReport, Summary, TcpReport, ThroughputSummary,
};
use caudal_core::sample::{DelaySummary, Role};
use caudal_core::summary::{DirectionSummary, TcpSummary};
use caudal_core::units::{BitRate, ByteCount};
use caudal_stats::{Estimate, wilson};
use std::time::Duration;

/// The confidence of the interval of a loss.
const CONFIDENCE: f64 = 0.95;

/// What a direction of a test adds up to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Totals {
    /// Payload that arrived per second, by the receiver's count.
    pub goodput_bps: Option<f64>,
    /// Payload handed to the sender's kernel per second, by the sender's count.
    pub sent_bps: Option<f64>,
    /// Payload that arrived.
    pub received_bytes: Option<f64>,
    /// Payload handed over.
    pub sent_bytes: Option<f64>,
    /// How long was counted.
    pub measured_s: f64,
    /// Segments sent again.
    pub retransmits: Option<f64>,
    /// The largest congestion window seen.
    pub cwnd_max_bytes: Option<f64>,
    /// The mean of the round trips seen.
    pub rtt_us: Option<f64>,
    /// Datagrams the receiver knows of, and how many of them did not arrive.
    pub losses: Option<(f64, f64)>,
    /// Datagrams sent.
    pub datagrams_sent: Option<f64>,
    /// Datagrams that arrived after a later one.
    pub reordered: Option<f64>,
    /// The largest jitter at the end of a flow, milliseconds.
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

/// What a direction adds up to: the log's own sums where it has them, else what its flows do, as far as they go.
#[must_use]
pub fn totals(log: &Log, direction: Direction) -> Totals {
    let flows: Vec<&Flow> = log
        .flows
        .iter()
        .filter(|flow| flow.direction == direction)
        .collect();
    let sum = log.sums.iter().find(|sum| sum.direction == direction);
    let of = |end: End| -> Vec<Count> {
        if let Some(count) = sum.and_then(|sum| sum.end(end)) {
            return vec![*count];
        }
        // All or nothing: a part of the flows is not their sum.
        let counts: Option<Vec<Count>> = flows.iter().map(|flow| end_of(flow, end)).collect();
        counts.unwrap_or_default()
    };
    let (sent, arrived) = (of(End::Sender), of(End::Receiver));
    let add = |counts: &[Count], key: fn(&Count) -> Option<f64>| -> Option<f64> {
        let all: Option<Vec<f64>> = counts.iter().map(key).collect();
        all.filter(|all| !all.is_empty())
            .map(|all| all.iter().sum())
    };
    let longest = |counts: &[Count]| {
        let lengths = counts.iter().map(|count| count.end_s - count.start_s);
        lengths.fold(0.0, f64::max)
    };
    let flow_ends = |end: End, key: fn(&Count) -> Option<f64>| -> Option<f64> {
        let all: Option<Vec<f64>> = flows
            .iter()
            .map(|flow| end_of(flow, end).and_then(|count| key(&count)))
            .collect();
        all.filter(|all| !all.is_empty())
            .map(|all| all.iter().sum())
    };
    let seen = |key: fn(&Count) -> Option<f64>| -> Vec<f64> {
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
    let counted = |key: fn(&Count) -> Option<f64>| {
        flow_ends(End::Receiver, key).or_else(|| add(&arrived, key))
    };
    Totals {
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
        datagrams_sent: flow_ends(End::Sender, |count| count.datagrams)
            .or_else(|| add(&sent, |count| count.datagrams)),
        reordered: counted(|count| count.reordered),
        jitter_ms: largest(
            flows
                .iter()
                .filter_map(|flow| end_of(flow, End::Receiver)?.jitter_ms)
                .collect(),
        ),
    }
}

/// What an end of a flow adds up to: as the log says, or of a log that breaks off the intervals there are.
fn end_of(flow: &Flow, end: End) -> Option<Count> {
    if let Some(count) = flow.end(end) {
        return Some(*count);
    }
    let rows: Vec<&Count> = flow.intervals.iter().filter(|row| !row.omitted).collect();
    let (first, last) = (rows.first()?, rows.last()?);
    if flow.counted_by != end {
        return None;
    }
    let add = |key: fn(&Count) -> Option<f64>| rows.iter().map(|row| key(row)).sum::<Option<f64>>();
    let seconds: f64 = rows.iter().map(|row| row.end_s - row.start_s).sum();
    let bytes = add(|row| row.bytes);
    Some(Count {
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
        ..Count::default()
    })
}

fn rate(count: &Count) -> Option<f64> {
    let seconds = count.end_s - count.start_s;
    count.bps.or_else(|| {
        count
            .bytes
            .filter(|_| seconds > 0.0)
            .map(|bytes| bytes * 8.0 / seconds)
    })
}

/// A count as a whole number.
fn whole(value: Option<f64>) -> Option<u64> {
    value.map(|value| value.round() as u64)
}

/// A count as a whole number of 32 bits.
fn whole_u32(value: Option<f64>) -> Option<u32> {
    value.map(|value| value.round() as u32)
}

/// Microseconds of milliseconds, to the nanosecond they may have been printed to.
fn micros(milliseconds: Option<f64>) -> Option<f64> {
    milliseconds.map(|value| (value * 1e6).round() / 1e3)
}

fn nanoseconds(seconds: f64) -> Duration {
    Duration::from_nanos((seconds * 1e9).round() as u64)
}

fn flows_of(log: &Log, direction: Direction) -> impl Iterator<Item = &Flow> {
    log.flows
        .iter()
        .filter(move |flow| flow.direction == direction)
}

/// The plan, as far as the log shows it.
#[must_use]
pub fn plan(log: &Log) -> PlanRecord {
    let directions = directions(log);
    let parallel = directions
        .iter()
        .map(|direction| flows_of(log, *direction).count() as u32)
        .max()
        .filter(|count| *count > 0);
    PlanRecord {
        kind: log.protocol.map(|transport| match transport {
            Transport::Tcp => PlanKind::Tcp,
            Transport::Udp => PlanKind::Udp,
        }),
        transport: log.protocol,
        peer: log.peer.clone(),
        directions: match directions.as_slice() {
            [Direction::Up] => Some(Directions::Up),
            [Direction::Down] => Some(Directions::Down),
            [_, _] => Some(Directions::Both),
            _ => None,
        },
        parallel,
        end: match (log.bytes, log.time_s) {
            (Some(bytes), _) => Some(TestEnd::Bytes(ByteCount::new(bytes.round() as u64))),
            (None, Some(seconds)) => Some(TestEnd::Time(nanoseconds(seconds))),
            (None, None) => None,
        },
        omit: log.omit_s.map(|seconds| Omit::Time(nanoseconds(seconds))),
        rate: log
            .rate
            .map(|rate| Rate::Limit(BitRate::from_bps(rate.round() as u64))),
        length: whole(log.length),
        congestion: log.congestion.clone().map(Some),
        ..PlanRecord::default()
    }
}

/// Datagrams that arrived, of a count that includes the lost ones.
fn arrived(count: &Count) -> Option<f64> {
    let total = count.datagrams?;
    count
        .lost
        .filter(|lost| *lost <= total)
        .map(|lost| total - lost)
}

fn has_tcp(count: &Count) -> bool {
    count.retransmits.is_some() || count.cwnd_bytes.is_some() || count.rtt_us.is_some()
}

fn interval(count: &Count, counted_by: End) -> Interval {
    let mut interval = Interval {
        start_s: count.start_s,
        end_s: count.end_s,
        omitted: count.omitted,
        tcp: has_tcp(count).then(|| TcpInterval {
            retransmits: whole(count.retransmits),
            cwnd_bytes: whole(count.cwnd_bytes),
            rtt_us: whole_u32(count.rtt_us),
            ..TcpInterval::default()
        }),
        ..Interval::default()
    };
    match counted_by {
        End::Receiver => {
            interval.bytes = whole(count.bytes);
            interval.goodput_bps = count.bps;
            let udp = UdpInterval {
                datagrams: whole(arrived(count)),
                lost: count.lost.map(|lost| lost.round() as i64),
                reordered: whole(count.reordered),
                jitter_rfc3550_us: micros(count.jitter_ms),
                ..UdpInterval::default()
            };
            interval.udp = (udp != UdpInterval::default()).then_some(udp);
        }
        End::Sender => {
            interval.sent_bytes = whole(count.bytes);
            interval.sent_bps = count.bps;
            interval.sent_datagrams = whole(count.datagrams);
        }
    }
    interval
}

fn sender(count: &Count) -> SenderReport {
    SenderReport {
        start_s: Some(count.start_s),
        end_s: Some(count.end_s),
        bytes: whole(count.bytes),
        sent_bps: count.bps,
        datagrams: whole(count.datagrams),
        tcp: has_tcp(count).then(|| TcpReport {
            retransmits: whole(count.retransmits),
            cwnd_bytes: whole(count.cwnd_bytes),
            rtt_us: whole_u32(count.rtt_us),
            ..TcpReport::default()
        }),
        ..SenderReport::default()
    }
}

fn receiver(count: &Count) -> ReceiverReport {
    ReceiverReport {
        start_s: Some(count.start_s),
        end_s: Some(count.end_s),
        bytes: whole(count.bytes),
        goodput_bps: count.bps,
        datagrams: whole(arrived(count)),
        lost: whole(count.lost),
        reordered: whole(count.reordered),
        delay: micros(count.jitter_ms).map(jitter),
        ..ReceiverReport::default()
    }
}

fn jitter(us: f64) -> DelaySummary {
    DelaySummary {
        jitter_rfc3550_us: us,
        ..DelaySummary::default()
    }
}

/// The flows, up first. A log of sums alone still has a flow: all of them together.
#[must_use]
pub fn flows(log: &Log) -> Vec<FlowReport> {
    let all = if log.flows.is_empty() {
        &log.sums
    } else {
        &log.flows
    };
    let mut sorted: Vec<&Flow> = all.iter().collect();
    sorted.sort_by_key(|flow| flow.direction);
    let report = |(id, flow): (u32, &Flow)| FlowReport {
        counted_by: Some(match flow.counted_by {
            End::Sender => Role::Sender,
            End::Receiver => Role::Receiver,
        }),
        sender: flow.sender.as_ref().map(sender),
        receiver: flow.receiver.as_ref().map(receiver),
        intervals: Some(
            flow.intervals
                .iter()
                .map(|count| interval(count, flow.counted_by))
                .collect(),
        ),
        ..FlowReport::new(PlannedFlow {
            id,
            direction: flow.direction,
        })
    };
    (0..).zip(sorted).map(report).collect()
}

/// The summary.
#[must_use]
pub fn summary(log: &Log) -> Summary {
    let directions = directions(log);
    let goodput_bps = match directions.as_slice() {
        [only] => totals(log, *only).goodput_bps.map(Estimate::single),
        _ => None,
    };
    Summary::Throughput(Box::new(ThroughputSummary {
        goodput_bps,
        directions: directions
            .iter()
            .map(|direction| direction_summary(log, *direction))
            .collect(),
        ..ThroughputSummary::default()
    }))
}

fn direction_summary(log: &Log, direction: Direction) -> DirectionSummary {
    let totals = totals(log, direction);
    let flows = flows_of(log, direction).count();
    let tcp = TcpSummary {
        retransmits: whole(totals.retransmits),
        cwnd_max_bytes: whole(totals.cwnd_max_bytes),
        rtt_mean_us: totals.rtt_us,
        ..TcpSummary::default()
    };
    let loss = Loss {
        sent: whole(totals.datagrams_sent),
        received: whole(totals.losses.map(|(all, lost)| all - lost)),
        lost: whole(totals.losses.map(|(_, lost)| lost)),
        fraction: totals
            .losses
            .and_then(|(all, lost)| wilson(lost.round() as u64, all.round() as u64, CONFIDENCE)),
        reordered: whole(totals.reordered),
        ..Loss::default()
    };
    DirectionSummary {
        direction,
        flows: (flows > 0).then_some(flows),
        goodput_bps: totals.goodput_bps.map(Estimate::single),
        goodput_trusted: None,
        sent_bps: totals.sent_bps,
        bytes: None,
        measured_s: totals.measured_s,
        omitted_s: None,
        received_bytes: whole(totals.received_bytes),
        sent_bytes: whole(totals.sent_bytes),
        ceiling: None,
        limited_by: None,
        sender_cpu: None,
        receiver_cpu: None,
        tcp: (tcp != TcpSummary::default()).then_some(tcp),
        loss: (loss != Loss::default()).then_some(loss),
        delay: micros(totals.jitter_ms).map(jitter),
        spacing: None,
    }
}
