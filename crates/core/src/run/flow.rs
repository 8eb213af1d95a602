//! One flow of a run: the final reports of both its ends, and its intervals.

use crate::interval::Interval;
use crate::marks::ArrivedMarks;
use crate::plan::PlannedFlow;
use crate::sample::{DelaySummary, Granted, Role, Spacing};
use crate::sequence::LossRuns;
use crate::text::ExternalText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One flow of a run. A flow of a throughput test has `sender`, `receiver` and `intervals`; a connection of a
/// round-trip test has `connect_us` and what the kernels at both ends granted it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowReport {
    /// The flow.
    #[serde(flatten)]
    pub flow: PlannedFlow,
    /// The end that counted the intervals, in a log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_by: Option<Role>,
    /// The final report of the sending end; absent when it could not report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<SenderReport>,
    /// The final report of the receiving end; absent when it could not report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<ReceiverReport>,
    /// The intervals, by the receiver's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intervals: Option<Vec<Interval>>,
    /// The time it took to connect, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_us: Option<f64>,
    /// The settings the client's kernel granted the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<Granted>,
    /// The settings the server's kernel granted the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_granted: Option<Granted>,
    /// The reason why the connection ended before its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<ExternalText>,
}

/// The sending end of a flow, from the flow's start to its end, the warm-up included.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SenderReport {
    /// The beginning of the count in a log, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_s: Option<f64>,
    /// The end of the count in a log, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_s: Option<f64>,
    /// Payload handed to the kernel, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Payload handed to the kernel per second, bit/s, as a log reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_bps: Option<f64>,
    /// System calls made to send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// Processor time of the sending thread, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_s: Option<f64>,
    /// Time that thread was runnable and waited for a processor, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_wait_s: Option<f64>,
    /// The kernel's account at the end (TCP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpReport>,
    /// Datagrams handed to the kernel (UDP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<u64>,
    /// Datagrams the kernel refused (UDP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<u64>,
    /// Of these, those that a firewall of the sender's host refused (UDP); absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forbidden: Option<u64>,
    /// Time spent waiting for the receiver's credit, s (UDP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credit_wait_s: Option<f64>,
    /// The settings the kernel granted this end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granted: Option<Granted>,
    /// Evenness of the departures (UDP with a rate).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Spacing>,
    /// The reason why this end ended before its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<ExternalText>,
}

/// The receiving end of a flow, from the flow's start to its end, the warm-up included.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReceiverReport {
    /// The beginning of the count in a log, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_s: Option<f64>,
    /// The end of the count in a log, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_s: Option<f64>,
    /// Payload that arrived, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Payload that arrived per second, bit/s, as a log reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput_bps: Option<f64>,
    /// System calls made to receive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// Processor time of the receiving thread, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_s: Option<f64>,
    /// Time that thread was runnable and waited for a processor, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_wait_s: Option<f64>,
    /// Arrival of the first payload, s after the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte_s: Option<f64>,
    /// Arrival of the latest payload, s after the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_byte_s: Option<f64>,
    /// Distinct datagrams that arrived in time (UDP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<u64>,
    /// Datagrams that did not arrive (UDP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// Datagrams that arrived again (UDP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<u64>,
    /// Datagrams that arrived after a later one (RFC 4737).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordered: Option<u64>,
    /// The maximum extent of reordering, datagrams (RFC 4737 section 4.2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorder_extent_max: Option<u64>,
    /// Datagrams 3-reordered (RFC 4737 section 5.4).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub three_reordered: Option<u64>,
    /// Datagrams that arrived after they had been given up (UDP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late: Option<u64>,
    /// Datagrams with damaged content (UDP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrupt: Option<u64>,
    /// Datagrams dropped at this socket (UDP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket_drops: Option<u64>,
    /// The marks with which datagrams arrived (UDP); absent where the receiver did not report them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marks: Option<ArrivedMarks>,
    /// Lengths of runs of consecutive losses (UDP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_runs: Option<LossRuns>,
    /// The settings the kernel granted this end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granted: Option<Granted>,
    /// Delay variation (UDP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<DelaySummary>,
    /// The reason why this end ended before its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<ExternalText>,
}

/// A TCP connection at its end, as its sender's kernel saw it. A log has the figures that it reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TcpReport {
    /// Smoothed round-trip time, µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_us: Option<u32>,
    /// Mean deviation of the round-trip time, µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rttvar_us: Option<u32>,
    /// Minimum round-trip time, µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rtt_us: Option<u32>,
    /// Congestion window, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwnd_bytes: Option<u64>,
    /// The window the receiver advertises, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver_window_bytes: Option<u64>,
    /// Segments retransmitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmits: Option<u64>,
    /// Bytes retransmitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmitted_bytes: Option<u64>,
    /// Payload bytes sent, retransmissions included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_sent: Option<u64>,
    /// Payload bytes the receiver acknowledged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_acked: Option<u64>,
    /// The kernel's latest estimate of the delivery rate, bit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery_rate_bps: Option<u64>,
    /// `true` when the sending application limited that estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_limited: Option<bool>,
    /// Time with data outstanding, µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_us: Option<u64>,
    /// Time limited by the receiver's window, µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver_window_limited_us: Option<u64>,
    /// Time limited by the send buffer, µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_buffer_limited_us: Option<u64>,
    /// The rate the kernel paces at, bit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing_rate_bps: Option<u64>,
    /// Sending maximum segment size, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mss: Option<u32>,
    /// Path MTU, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_mtu: Option<u32>,
    /// Retransmission timeouts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<u64>,
    /// Segments the receiver reported as received twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate_sacks: Option<u64>,
    /// Reordering events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordering_seen: Option<u64>,
    /// `true` when both ends agreed on ECN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// Segments delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered: Option<u64>,
    /// Of these, segments that the receiver reported as marked CE, congestion experienced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered_ce: Option<u64>,
}

impl FlowReport {
    /// A flow of which nothing is known yet.
    #[must_use]
    pub const fn new(flow: PlannedFlow) -> Self {
        Self {
            flow,
            counted_by: None,
            sender: None,
            receiver: None,
            intervals: None,
            connect_us: None,
            granted: None,
            server_granted: None,
            failure: None,
        }
    }

    /// The flow's intervals; none for a connection of a round-trip test.
    #[must_use]
    pub fn intervals(&self) -> &[Interval] {
        self.intervals.as_deref().unwrap_or_default()
    }
}
