//! The summary of one direction, as documents carry it.

use super::other_traffic::OtherTraffic;
use crate::bottleneck::LimitedBy;
use crate::loss::Loss;
use crate::marks::MarkReport;
use crate::plan::Direction;
use crate::sample::{DelaySummary, Spacing};
use crate::window::{NextStep, WindowReport};
use caudal_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// The payload the link can carry at most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// The maximum goodput, bit/s; null when it is unknown.
    pub goodput_bps: Option<f64>,
    /// The share of it that was reached.
    pub share: Option<f64>,
    /// The calculation, or the reason why there is none.
    pub why: String,
}

/// TCP over the measured part of one direction. A log has the figures that it reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TcpSummary {
    /// Segments retransmitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmits: Option<u64>,
    /// Bytes retransmitted; absent when the kernel does not report them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmitted_bytes: Option<u64>,
    /// Minimum round-trip time, µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_min_us: Option<u32>,
    /// Mean of the smoothed round-trip times at the ends of the intervals, µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_mean_us: Option<f64>,
    /// Maximum of them, µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_max_us: Option<u32>,
    /// Maximum congestion window at the end of an interval, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwnd_max_bytes: Option<u64>,
    /// ECN as the connections used it; absent where no end told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<TcpEcn>,
}

/// ECN of the connections of a direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TcpEcn {
    /// Connections whose ends agreed on it.
    pub negotiated: u64,
    /// All connections.
    pub connections: u64,
    /// `true` when segments arrived as those of an ECN-capable transport, `false` when the path cleared the field; absent where the receiver
    /// did not tell, and without ECN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrived_capable: Option<bool>,
    /// Segments with payload that arrived; absent where the receiver's kernel does not count marks (Linux before 6.18).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrived: Option<u64>,
    /// Of these, segments marked CE, congestion experienced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrived_ce: Option<u64>,
    /// Segments delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered: Option<u64>,
    /// Of these, segments that were acknowledged while the receiver echoed a mark. It echoes one until it has seen that the sender has reduced
    /// its window (RFC 3168 section 6.1.3), so these are many more than were marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered_ce: Option<u64>,
}

impl TcpEcn {
    /// The share of the segments that arrived marked CE; `None` without ECN, and where the receiver did not count them.
    #[must_use]
    pub fn ce_share(&self) -> Option<f64> {
        let arrived = self.arrived.filter(|arrived| *arrived > 0)?;
        let share = self.arrived_ce? as f64 / arrived as f64;
        // The server's kernel counts, and its program says so.
        (self.negotiated > 0).then_some(share.min(1.0))
    }
}

/// The level that the goodput of a direction is given for, where its rate was at several; the others are episodes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateLevel {
    /// Its beginning, s after the start of the test.
    pub from_s: f64,
    /// Its end, s.
    pub to_s: f64,
    /// Payload that arrived per second over the whole measured part, bit/s.
    pub overall_bps: f64,
}

/// The summary of one direction. One made from another tool's log has the figures that the log reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionSummary {
    /// The direction.
    pub direction: Direction,
    /// The number of flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<usize>,
    /// Payload that arrived per second over the measured part, or over its `level`, bit/s; null when no rate can be given.
    #[serde(default, deserialize_with = "estimate_or_number")]
    pub goodput_bps: Option<Estimate>,
    /// The level that `goodput_bps` is of: the longest, and of equally long ones the last; absent where the rate stayed at one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<RateLevel>,
    /// `true` when the interval can be relied on: there are enough batches, and they are not correlated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput_trusted: Option<bool>,
    /// Payload handed to the sender's kernel per second, bit/s, where only the sender's log reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_bps: Option<f64>,
    /// Payload that arrived in the measured part, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The length of the measured part, s.
    #[serde(default)]
    pub measured_s: f64,
    /// The warm-up excluded before it, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted_s: Option<f64>,
    /// Payload that arrived in total, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_bytes: Option<u64>,
    /// Payload handed to the sender's kernel in total, bytes; null where the sender did not report.
    #[serde(default)]
    pub sent_bytes: Option<u64>,
    /// The payload the link can carry at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Ceiling>,
    /// The bottleneck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<LimitedBy>,
    /// Other traffic beside the test, by end; absent where none was found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_traffic: Vec<OtherTraffic>,
    /// The window that the path needs and what was granted; absent on a loopback, and where no round-trip time is known (TCP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Box<WindowReport>>,
    /// What to do next about what limited it; absent on a loopback (TCP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step: Option<NextStep>,
    /// Share of the time the sending threads spent on a processor, summed over flows; null where the sender did
    /// not report.
    #[serde(default)]
    pub sender_cpu: Option<f64>,
    /// Share of the time the receiving threads spent on a processor, summed over flows; absent where the
    /// receiver does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_cpu: Option<f64>,
    /// TCP's own account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpSummary>,
    /// The account of datagrams (UDP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// The marks of the IP header with which datagrams were sent, and those with which they arrived (UDP); absent where the receiver did
    /// not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks: Option<MarkReport>,
    /// Delay variation, of the flow where it was largest (UDP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<DelaySummary>,
    /// Evenness of the departures, of the flow where it was worst (UDP with a rate).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Spacing>,
}

impl DirectionSummary {
    /// A direction of which nothing was measured.
    #[must_use]
    pub const fn unmeasured(direction: Direction) -> Self {
        Self {
            direction,
            flows: None,
            goodput_bps: None,
            level: None,
            goodput_trusted: None,
            sent_bps: None,
            bytes: None,
            measured_s: 0.0,
            omitted_s: None,
            received_bytes: None,
            sent_bytes: None,
            ceiling: None,
            limited_by: None,
            other_traffic: Vec::new(),
            window: None,
            next_step: None,
            sender_cpu: None,
            receiver_cpu: None,
            tcp: None,
            loss: None,
            marks: None,
            delay: None,
            spacing: None,
        }
    }

    /// The duration with its warm-up, s; `None` where that is not known.
    #[must_use]
    pub fn duration_s(&self) -> Option<f64> {
        Some(self.measured_s + self.omitted_s?)
    }

    /// The mean goodput, bit/s.
    #[must_use]
    pub fn goodput_mean(&self) -> Option<f64> {
        self.goodput_bps.map(|goodput| goodput.mean)
    }
}

/// Reads an estimate; a bare number, as the first imported runs have it, is a single value.
pub(crate) fn estimate_or_number<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Estimate>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum EstimateForm {
        Estimate(Estimate),
        Number(f64),
    }
    Ok(Option::deserialize(from)?.map(|form| match form {
        EstimateForm::Estimate(estimate) => estimate,
        EstimateForm::Number(value) => Estimate::single(value),
    }))
}
