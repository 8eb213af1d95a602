//! The intervals between readings: what each flow carried from one reading of its counters to the next.

use crate::plan::{Direction, PlannedFlow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One flow between two readings.
///
/// Counted by its receiver where that is known; a log that only its sender wrote has `sent_bytes` and `sent_bps` instead.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Its beginning, s after the start by the clock of the end that counted.
    pub start_s: f64,
    /// Its end, s.
    pub end_s: f64,
    /// Payload bytes that arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Payload that arrived per second, bit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput_bps: Option<f64>,
    /// Payload bytes handed to the sender's kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_bytes: Option<u64>,
    /// Payload handed to the sender's kernel per second, bit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_bps: Option<f64>,
    /// Datagrams handed to the sender's kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_datagrams: Option<u64>,
    /// `true` for a part of the warm-up.
    #[serde(default)]
    pub omitted: bool,
    /// Share of the interval the receiving thread spent on a processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_cpu: Option<f64>,
    /// Share of the interval the sending thread spent on a processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_cpu: Option<f64>,
    /// TCP as its sender saw it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpInterval>,
    /// Datagrams as their receiver saw them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp: Option<UdpInterval>,
}

/// TCP between two readings of the sender's kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TcpInterval {
    /// Smoothed round-trip time at its end, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_us: Option<u32>,
    /// Minimum round-trip time so far, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_rtt_us: Option<u32>,
    /// Congestion window at its end, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwnd_bytes: Option<u64>,
    /// Bytes retransmitted in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmitted_bytes: Option<u64>,
    /// Segments retransmitted in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmits: Option<u64>,
    /// The kernel's delivery rate at its end, bit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_rate_bps: Option<u64>,
    /// Time with data outstanding, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_us: Option<u64>,
    /// The part of that time limited by the receiver's window, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_window_limited_us: Option<u64>,
    /// The part of that time limited by the send buffer, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_buffer_limited_us: Option<u64>,
    /// `true` when the sending application limited the delivery rate at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_limited: Option<bool>,
}

/// Datagrams between two readings of their receiver; counts that the receiver does not report are absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UdpInterval {
    /// Distinct datagrams that arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<u64>,
    /// Change in the number of datagrams missing: negative when missing ones arrived after all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<i64>,
    /// Datagrams that arrived again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<u64>,
    /// Datagrams that arrived after a later one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reordered: Option<u64>,
    /// Datagrams that arrived after they had been given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<u64>,
    /// Datagrams with damaged content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrupt: Option<u64>,
    /// Datagrams dropped at the receiving socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket_drops: Option<u64>,
    /// Datagrams marked CE, congestion experienced; absent where none has been since the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ce: Option<u64>,
    /// RFC 3550 jitter at its end, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_rfc3550_us: Option<f64>,
}

/// The account a server gives of the datagrams it receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerAccount {
    /// Every counter at every tick, its processor time included: a server of caudal.
    Full,
    /// Totals of what arrived and was lost: another program's server.
    Totals {
        /// `true` when it counts datagrams that arrive after a later one.
        reordered: bool,
    },
}

impl ServerAccount {
    /// `true` for a server of caudal.
    #[must_use]
    pub const fn is_full(self) -> bool {
        matches!(self, Self::Full)
    }

    /// `true` when it counts datagrams that arrive after a later one.
    #[must_use]
    pub const fn counts_reordering(self) -> bool {
        matches!(self, Self::Full | Self::Totals { reordered: true })
    }
}

impl Interval {
    /// Its length, s.
    #[must_use]
    pub fn length_s(&self) -> f64 {
        self.end_s - self.start_s
    }
}

/// One flow's part of an [`IntervalRow`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowInterval {
    /// The flow.
    #[serde(flatten)]
    pub flow: PlannedFlow,
    /// Its interval.
    #[serde(flatten)]
    pub interval: Interval,
}

/// All flows between the same two ticks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalRow {
    /// One interval for each flow, in the order of the plan.
    pub flows: Vec<FlowInterval>,
}

/// The sum of the flows of one direction in an [`IntervalRow`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DirectionSum {
    /// Payload bytes that arrived.
    pub bytes: u64,
    /// Payload that arrived per second, bit/s.
    pub goodput_bps: f64,
    /// The number of flows.
    pub flows: usize,
}

impl IntervalRow {
    /// The flows of one direction.
    pub fn of_direction(&self, direction: Direction) -> impl Iterator<Item = &FlowInterval> {
        self.flows
            .iter()
            .filter(move |flow| flow.flow.direction == direction)
    }

    /// The sum over the flows of one direction.
    #[must_use]
    pub fn sum(&self, direction: Direction) -> DirectionSum {
        self.of_direction(direction)
            .fold(DirectionSum::default(), |sum, flow| DirectionSum {
                bytes: sum
                    .bytes
                    .saturating_add(flow.interval.bytes.unwrap_or_default()),
                goodput_bps: sum.goodput_bps + flow.interval.goodput_bps.unwrap_or_default(),
                flows: sum.flows + 1,
            })
    }
}
