//! The plan, flows and summary of a log, as far as it reports them.

use super::log::{Log, LogCounts, LogFlow};
use super::totals::{directions, flows_in, totals};
use caudal_core::interval::{Interval, TcpInterval, UdpInterval};
use caudal_core::loss::Loss;
use caudal_core::plan::{
    BulkPlanRecord, Direction, Directions, Omit, PlanRecord, PlannedFlow, Rate, TestEnd,
};
use caudal_core::run::{
    FlowReport, ReceiverReport, RunResult, SenderReport, TcpReport, ThroughputSummary,
};
use caudal_core::sample::DelaySummary;
use caudal_core::sample::Role;
use caudal_core::summary::{DirectionSummary, TcpSummary};
use caudal_core::units::{BitRate, ByteCount};
use caudal_stats::{Estimate, wilson};
use std::time::Duration;

/// The confidence of the interval of a loss.
const CONFIDENCE: f64 = 0.95;

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

/// The plan, as far as the log shows it.
#[must_use]
pub fn plan(log: &Log) -> PlanRecord {
    let directions = directions(log);
    let parallel = directions
        .iter()
        .map(|direction| flows_in(log, *direction).count() as u32)
        .max()
        .filter(|count| *count > 0);
    let keys = BulkPlanRecord {
        peer: log.peer.clone().map(Into::into),
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
        congestion: log.congestion.clone().map(|name| Some(name.into())),
        ..BulkPlanRecord::default()
    };
    PlanRecord::bulk_transfer(log.protocol, keys)
}

/// Datagrams that arrived, of a count that includes the lost ones.
fn arrived(count: &LogCounts) -> Option<f64> {
    let total = count.datagrams?;
    count
        .lost
        .filter(|lost| *lost <= total)
        .map(|lost| total - lost)
}

fn has_tcp(count: &LogCounts) -> bool {
    count.retransmits.is_some() || count.cwnd_bytes.is_some() || count.rtt_us.is_some()
}

fn interval(count: &LogCounts, counted_by: Role) -> Interval {
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
        Role::Receiver => {
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
        Role::Sender => {
            interval.sent_bytes = whole(count.bytes);
            interval.sent_bps = count.bps;
            interval.sent_datagrams = whole(count.datagrams);
        }
    }
    interval
}

fn sender(count: &LogCounts) -> SenderReport {
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

fn receiver(count: &LogCounts) -> ReceiverReport {
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
    let mut sorted: Vec<&LogFlow> = all.iter().collect();
    sorted.sort_by_key(|flow| flow.direction);
    let report = |(id, flow): (u32, &LogFlow)| FlowReport {
        counted_by: Some(flow.counted_by),
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

/// The result.
#[must_use]
pub fn result(log: &Log) -> RunResult {
    let directions = directions(log);
    let goodput_bps = match directions.as_slice() {
        [only] => totals(log, *only).goodput_bps.map(Estimate::single),
        _ => None,
    };
    RunResult::Throughput(Box::new(ThroughputSummary {
        goodput_bps,
        directions: directions
            .iter()
            .map(|direction| direction_summary(log, *direction))
            .collect(),
        idle_rtt_us: log.idle_rtt_us,
        ..ThroughputSummary::default()
    }))
}

fn direction_summary(log: &Log, direction: Direction) -> DirectionSummary {
    let totals = totals(log, direction);
    let flows = flows_in(log, direction).count();
    let tcp = TcpSummary {
        retransmits: whole(totals.retransmits),
        cwnd_max_bytes: whole(totals.cwnd_max_bytes),
        rtt_mean_us: totals.rtt_us,
        rtt_min_us: whole_u32(log.tcp_rtt_min_us),
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
        flows: (flows > 0).then_some(flows),
        goodput_bps: totals.goodput_bps.map(Estimate::single),
        sent_bps: totals.sent_bps,
        measured_s: totals.measured_s,
        received_bytes: whole(totals.received_bytes),
        sent_bytes: whole(totals.sent_bytes),
        tcp: (tcp != TcpSummary::default()).then_some(tcp),
        loss: (loss != Loss::default()).then_some(loss),
        delay: micros(totals.jitter_ms).map(jitter),
        ..DirectionSummary::unmeasured(direction)
    }
}
