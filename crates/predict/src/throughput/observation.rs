//! The observation of one direction of a throughput run that its predictions are compared with.

use caudal_core::text::ExternalText;
use std::time::Duration;

use caudal_analysis::summary::Context;
use caudal_analysis::timeline::MeasuredFlow;
use caudal_core::bottleneck::{Cause, LimitedBy};
use caudal_core::interval::Interval;
use caudal_core::plan::{Direction, Transport};
use caudal_core::sample::FlowRecord;
use caudal_core::summary::DirectionSummary;
use caudal_core::units::{BitRate, ByteCount};

/// Minimum share of intervals with losses at which the losses count as spread at random.
const MIN_INTERVALS_WITH_LOSS: f64 = 0.75;
/// Minimum intervals for an estimate of the spread of losses.
const MIN_INTERVALS: usize = 4;

/// The observation of one direction of a throughput run.
#[derive(Debug, Clone, Copy)]
pub struct DirectionObservation<'a> {
    /// The direction.
    pub direction: Direction,
    /// The protocol.
    pub transport: Transport,
    /// The payload received, bit/s.
    pub goodput_bps: f64,
    /// The bottleneck that limited the goodput.
    pub limited_by: &'a LimitedBy,
    /// The number of flows.
    pub flows: u32,
    /// The rate requested of each flow.
    pub requested: Option<BitRate>,
    /// The payload rate the link carries, bit/s, with its derivation.
    pub wire: Option<(f64, &'a str)>,
    /// `true` when the traffic stays on a loopback interface.
    pub loopback: bool,
    /// The receive windows of all flows together at the end of the run, bytes.
    pub window: Option<ByteCount>,
    /// The minimum round-trip time of all flows.
    pub min_rtt: Option<Duration>,
    /// The congestion control of the senders.
    pub congestion: Option<&'a str>,
    /// The payload of a full segment, bytes.
    pub mss: Option<u32>,
    /// Segments sent, retransmissions included (TCP).
    pub segments: Option<u64>,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Retransmission timeouts of the senders; `None` where the kernel does not report them.
    pub timeouts: Option<u64>,
    /// The mean round-trip time under the test's own load.
    pub mean_rtt: Option<Duration>,
    /// `true` when the retransmissions were spread over the test, as random losses are.
    pub losses_spread: bool,
    /// The payload passed to the sender's kernel, bit/s.
    pub sent_bps: Option<f64>,
    /// The share of datagrams lost (UDP).
    pub loss: Option<f64>,
    /// The time for which the last datagrams waited in the queue of the link, s: the maximum delay above the minimum (UDP).
    pub queued_s: Option<f64>,
    /// The length of the measured part, s.
    pub measured_s: f64,
    /// The amount of payload after which the test ends, where it ends by amount.
    pub amount: Option<ByteCount>,
    /// `true` when the other direction carries data too, whose acknowledgements then share the link.
    pub bidirectional: bool,
    /// The bytes of one write, the granularity of a paced rate.
    pub block_bytes: u32,
}

impl<'a> DirectionObservation<'a> {
    /// `true` when segments were lost at random over the test, as the loss models assume.
    pub(super) fn has_random_losses(&self) -> bool {
        match self.limited_by.cause {
            Some(Cause::RandomLoss) => true,
            Some(
                Cause::Policer
                | Cause::Bufferbloat
                | Cause::LinkRate
                | Cause::SlowStart
                | Cause::CongestionMarks
                | Cause::Reordering
                | Cause::Outage
                | Cause::MtuBlackHole,
            ) => false,
            Some(Cause::Cpu | Cause::Application | Cause::Stopped | Cause::ServerLimit) | None => {
                self.losses_spread
            }
        }
    }

    /// The observation of the direction in `summary`; `None` where no rate was measured.
    #[must_use]
    pub fn from_run(context: &'a Context<'_>, summary: &'a DirectionSummary) -> Option<Self> {
        let (Some(goodput), Some(limited_by), Some(ceiling)) =
            (summary.goodput_bps, &summary.limited_by, &summary.ceiling)
        else {
            return None;
        };
        let records: Vec<&FlowRecord> = context
            .records
            .iter()
            .filter(|record| record.flow.direction == summary.direction)
            .collect();
        let intervals: Vec<Vec<Interval>> = records
            .iter()
            .map(|record| context.timeline.intervals(record.flow.id))
            .collect();
        let measured: Vec<MeasuredFlow> = records
            .iter()
            .filter_map(|record| context.timeline.measured(record.flow.id))
            .collect();
        let sender = SenderObservation::new(&records, &measured);
        let tcp = summary.tcp.as_ref();
        Some(Self {
            direction: summary.direction,
            transport: context.transport(),
            goodput_bps: goodput.mean,
            limited_by,
            flows: records.len() as u32,
            requested: context.bulk.rate.limit(),
            wire: ceiling.goodput_bps.map(|bps| (bps, ceiling.why.as_str())),
            loopback: context.loopback,
            window: sender.window,
            min_rtt: tcp
                .and_then(|tcp| tcp.rtt_min_us)
                .map(|us| Duration::from_micros(u64::from(us))),
            congestion: sender.congestion,
            mss: sender.mss,
            segments: sender.segments,
            retransmits: tcp.and_then(|tcp| tcp.retransmits).unwrap_or(0),
            timeouts: sender.timeouts,
            mean_rtt: tcp
                .and_then(|tcp| tcp.rtt_mean_us)
                .and_then(|us| Duration::try_from_secs_f64(us / 1e6).ok()),
            losses_spread: are_losses_spread(&intervals),
            sent_bps: Some(measured.iter().map(MeasuredFlow::sent_bps).sum()),
            loss: summary
                .loss
                .as_ref()
                .and_then(|loss| Some(loss.fraction?.mean)),
            queued_s: summary
                .delay
                .as_ref()
                .and_then(|delay| Some(delay.pdv_max_us? / 1e6)),
            measured_s: summary.measured_s,
            amount: context
                .bulk
                .bytes()
                .filter(|bytes| bytes.get() < u64::MAX - 1),
            bidirectional: context.bulk.directions.each().len() > 1,
            block_bytes: context.bulk.length,
        })
    }
}

/// The state of the sending sockets, over all flows of a direction.
struct SenderObservation<'a> {
    window: Option<ByteCount>,
    congestion: Option<&'a str>,
    mss: Option<u32>,
    segments: Option<u64>,
    timeouts: Option<u64>,
}

impl<'a> SenderObservation<'a> {
    fn new(records: &[&'a FlowRecord], measured: &[MeasuredFlow]) -> Self {
        let granted = || {
            records
                .iter()
                .filter_map(|record| Some(&record.sender.as_ref()?.granted))
        };
        let counters = || measured.iter().filter_map(|flow| flow.tcp);
        let windows: Option<u64> = measured
            .iter()
            .map(|flow| flow.tcp?.1.receiver_window_bytes)
            .sum();
        let mss = granted().filter_map(|granted| granted.mss).min();
        let sent: Option<u64> = counters()
            .map(|(first, last)| Some(last.bytes_sent?.saturating_sub(first.bytes_sent?)))
            .sum();
        let controls: Vec<&str> = granted()
            .filter_map(|granted| granted.congestion.as_ref().map(ExternalText::as_received))
            .collect();
        Self {
            window: windows.filter(|bytes| *bytes > 0).map(ByteCount::new),
            congestion: controls
                .first()
                .copied()
                .filter(|first| controls.iter().all(|control| control == first)),
            mss,
            segments: sent
                .zip(mss)
                .map(|(sent, mss)| sent / u64::from(mss.max(1))),
            timeouts: counters()
                .map(|(first, last)| Some(last.timeouts?.saturating_sub(first.timeouts?)))
                .sum(),
        }
    }
}

/// `true` when losses were spread over the intervals of a direction, as random ones are, and not in a few bursts.
#[must_use]
pub fn are_losses_spread(intervals: &[Vec<Interval>]) -> bool {
    let retransmits: Vec<u64> = intervals
        .iter()
        .flatten()
        .filter(|interval| !interval.omitted)
        .filter_map(|interval| interval.tcp?.retransmits)
        .collect();
    let with_loss = retransmits.iter().filter(|count| **count > 0).count();
    let total: u64 = retransmits.iter().sum();
    let max = retransmits.iter().max().copied().unwrap_or(0);
    retransmits.len() >= MIN_INTERVALS
        && with_loss as f64 >= MIN_INTERVALS_WITH_LOSS * retransmits.len() as f64
        && max * 2 <= total
}
