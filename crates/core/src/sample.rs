//! Readings of counters that only grow: rates are derived from two of them.

use crate::loss::ImplausibleLoss;
use crate::marks::ArrivedMarks;
use crate::plan::{Direction, Pacing, PlannedFlow};
use crate::readings::{ReceiverReadings, SenderReadings};
use crate::sequence::SequenceCounts;
use crate::tcp_trace::TcpTrace;
use crate::text::ExternalText;
use crate::transit::TransitTimes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The end of a flow at which a counter was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The end that sends the payload.
    Sender,
    /// The end that receives the payload.
    Receiver,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
        })
    }
}

/// The kernel's state of a TCP connection at its sender (`TCP_INFO`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TcpSnapshot {
    /// Smoothed round-trip time, µs.
    pub rtt_us: u32,
    /// Mean deviation of the round-trip time, µs.
    pub rttvar_us: u32,
    /// Minimum round-trip time over the kernel's recent window, µs; `None` when the kernel has none.
    pub min_rtt_us: Option<u32>,
    /// Congestion window, bytes.
    pub cwnd_bytes: u64,
    /// The window the receiver advertises, bytes.
    pub receiver_window_bytes: Option<u64>,
    /// Segments retransmitted since the connection opened.
    pub retransmits: u64,
    /// Bytes retransmitted since the connection opened.
    pub retransmitted_bytes: Option<u64>,
    /// Payload bytes sent, retransmissions included.
    pub bytes_sent: Option<u64>,
    /// Payload bytes the receiver acknowledged.
    pub bytes_acked: Option<u64>,
    /// The kernel's latest estimate of the delivery rate, bit/s.
    pub delivery_rate_bps: Option<u64>,
    /// `true` when that estimate was limited by the sending application.
    pub app_limited: bool,
    /// Time with data outstanding, µs.
    pub busy_us: Option<u64>,
    /// Time limited by the receiver's window, µs.
    pub receiver_window_limited_us: Option<u64>,
    /// Time limited by the send buffer, µs.
    pub send_buffer_limited_us: Option<u64>,
    /// The rate the kernel paces at, bit/s; `None` when it does not pace.
    pub pacing_rate_bps: Option<u64>,
    /// The limit set to that rate (`SO_MAX_PACING_RATE`), bit/s; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_pacing_rate_bps: Option<u64>,
    /// Sending maximum segment size, bytes.
    pub mss: u32,
    /// Path MTU, bytes.
    pub path_mtu: u32,
    /// Retransmission timeouts.
    pub timeouts: Option<u64>,
    /// Segments the receiver reported as received twice.
    pub duplicate_sacks: Option<u64>,
    /// Reordering events.
    pub reordering_seen: Option<u64>,
    /// `true` when both ends agreed on ECN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// Segments delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered: Option<u64>,
    /// Of these, segments that the receiver reported as marked CE.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered_ce: Option<u64>,
}

/// A sender's counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SenderCounters {
    /// Payload bytes handed to the kernel.
    pub bytes: u64,
    /// Datagrams handed to the kernel (UDP).
    pub datagrams: u64,
    /// Datagrams the kernel refused (UDP): they never left the sender's own queue.
    pub send_errors: u64,
    /// Of these, those that a firewall of the sender's host refused (`EPERM`).
    pub send_forbidden: u64,
    /// System calls for sending.
    pub calls: u64,
    /// CPU time of the sending thread, ns.
    pub cpu_ns: u64,
    /// Time the sending thread was ready to run without a processor, ns.
    pub cpu_wait_ns: u64,
    /// Time spent waiting for the receiver's credit, ns (UDP at `max` on one machine).
    pub credit_wait_ns: u64,
    /// Time spent waiting for the source of the payload, such as a pipe, ns (TCP).
    pub source_wait_ns: u64,
    /// Time spent waiting for the schedule of the rate asked for, ns (TCP).
    pub pace_wait_ns: u64,
    /// The states in which the connection was found between samples (TCP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readings: Option<SenderReadings>,
    /// The kernel's state (TCP).
    pub tcp: Option<TcpSnapshot>,
}

/// A receiver's counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReceiverCounters {
    /// Payload bytes that arrived and were read; datagrams received twice count once.
    pub bytes: u64,
    /// Payload bytes that have arrived behind a lost segment, as far as the kernel's counters tell: nobody can read them yet (TCP).
    #[serde(skip_serializing_if = "is_zero")]
    pub waiting_bytes: u64,
    /// Distinct datagrams that arrived in time (UDP).
    pub datagrams: u64,
    /// Datagrams that arrived again (UDP).
    pub duplicate: u64,
    /// Datagrams that arrived after a later one (RFC 4737).
    pub reordered: u64,
    /// Datagrams that arrived after they had been given up.
    pub late: u64,
    /// Datagrams with damaged content.
    pub corrupt: u64,
    /// Datagrams missing so far below the highest sequence number seen.
    pub lost: u64,
    /// Datagrams the kernel dropped because the receiving socket's buffer was full.
    pub socket_drops: u64,
    /// Datagrams marked CE, congestion experienced.
    #[serde(skip_serializing_if = "is_zero")]
    pub ce: u64,
    /// Interarrival jitter after RFC 3550, ns.
    pub jitter_rfc3550_ns: u64,
    /// System calls for receiving.
    pub calls: u64,
    /// CPU time of the receiving thread, ns.
    pub cpu_ns: u64,
    /// Time the receiving thread was ready to run without a processor, ns.
    pub cpu_wait_ns: u64,
    /// The arrival of the first payload, ns after the start; 0 before it.
    pub first_ns: u64,
    /// The arrival of the latest payload, ns after the start.
    pub last_ns: u64,
    /// Reads by the part of the buffer that they filled, in eighths, where they are counted (TCP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_sizes: Option<[u64; 8]>,
    /// The states in which the connection was found between samples (TCP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readings: Option<ReceiverReadings>,
    /// One-way transit times, where datagrams (UDP), or the bursts of iperf 2 over TCP, carry the sender's wall clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transit: Option<TransitTimes>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl ReceiverCounters {
    /// Payload bytes that have arrived, read or not. No kernel holds more than 2³² for a socket, whatever another end says.
    #[must_use]
    pub fn arrived_bytes(&self) -> u64 {
        let waiting = self.waiting_bytes.min(u64::from(u32::MAX));
        self.bytes.saturating_add(waiting)
    }
}

/// The counters of one end of one flow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Counters {
    /// Read where the payload is sent.
    Sender(SenderCounters),
    /// Read where the payload arrives.
    Receiver(ReceiverCounters),
}

/// One reading of one end of one flow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// The flow's number.
    pub flow: u32,
    /// The number of the reading: 0 at the start, then one at the end of every interval.
    pub tick: u64,
    /// The time of the reading, ns after the start by the clock of the end that made it.
    pub at_ns: u64,
    /// The counters.
    pub counters: Counters,
}

impl Sample {
    /// The same without the kernel's account of the connection.
    #[must_use]
    pub const fn without_tcp(mut self) -> Self {
        if let Counters::Sender(sender) = &mut self.counters {
            sender.tcp = None;
            sender.readings = None;
        }
        self
    }
}

/// The settings the kernel granted a data socket, which may differ from those asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Granted {
    /// The socket's own address and port.
    pub local: ExternalText,
    /// The other end's address and port.
    pub peer: ExternalText,
    /// Send buffer, bytes, as the kernel accounts it (twice what may be asked for).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_buffer_bytes: Option<u64>,
    /// Receive buffer, bytes, as the kernel accounts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer_bytes: Option<u64>,
    /// Maximum segment size, bytes (TCP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mss: Option<u32>,
    /// Path MTU, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_mtu: Option<u32>,
    /// Congestion control in use (TCP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<ExternalText>,
    /// `true` when Multipath TCP is in use; absent when it was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mptcp: Option<bool>,
    /// `true` when segments are acknowledged at once, without the usual delay (TCP receiver of a low rate).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quick_ack: Option<bool>,
    /// The maximum number of datagrams handed to the kernel in one call (UDP sender).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments_per_send: Option<u32>,
    /// `true` when the kernel coalesces datagrams on receive, UDP GRO (UDP receiver).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_offload: Option<bool>,
}

/// The accuracy of a UDP sender's pacing: the error of each departure against its schedule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Spacing {
    /// The way the sender waited for its departures; absent where an older version sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing: Option<Pacing>,
    /// Departures that were scheduled.
    pub departures: u64,
    /// Mean number of datagrams in a departure.
    pub datagrams_per_departure: f64,
    /// The gap the schedule asks for between departures, µs.
    pub scheduled_gap_us: f64,
    /// |actual gap − scheduled gap|, µs: median.
    pub error_p50_us: f64,
    /// |actual gap − scheduled gap|, µs: 99th percentile.
    pub error_p99_us: f64,
    /// |actual gap − scheduled gap|, µs: largest.
    pub error_max_us: f64,
    /// Time the schedule gave up because the sender had fallen too far behind, µs.
    pub slipped_us: f64,
}

/// Segments as they arrived at a TCP receiver.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EcnArrived {
    /// Segments with payload.
    pub segments: u64,
    /// Segments marked CE, congestion experienced.
    pub ce: u64,
}

/// The final report of one end of one flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowEnd {
    /// The flow's number.
    pub flow: u32,
    /// The last reading.
    pub counters: Counters,
    /// The settings the kernel granted this end's socket.
    pub granted: Granted,
    /// The accuracy of the pacing (UDP sender).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Spacing>,
    /// The exact counts of datagrams (UDP receiver).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<SequenceCounts>,
    /// The marks with which datagrams arrived (UDP receiver).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks: Option<ArrivedMarks>,
    /// `true` when segments arrived as those of an ECN-capable transport (TCP receiver).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn_seen: Option<bool>,
    /// The segments that arrived, and those of them marked CE (TCP receiver with ECN; Linux 6.18 and later).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn_arrived: Option<EcnArrived>,
    /// Delay variation (UDP receiver).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<DelaySummary>,
    /// The course of the connection (TCP sender); of a few flows of a direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub trace: Option<TcpTrace>,
    /// The error that ended the flow early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<ExternalText>,
}

impl FlowEnd {
    /// The report of an end of which only the counters are known.
    #[must_use]
    pub fn from_counters(flow: u32, counters: Counters) -> Self {
        let sequence = match counters {
            Counters::Receiver(received) if received.datagrams > 0 => Some(SequenceCounts {
                duplicate: received.duplicate,
                reordered: received.reordered,
                late: received.late,
                ..SequenceCounts::from_totals(received.datagrams + received.lost, received.lost)
            }),
            _ => None,
        };
        Self {
            flow,
            counters,
            granted: Granted::default(),
            spacing: None,
            sequence,
            marks: None,
            ecn_seen: None,
            ecn_arrived: None,
            delay: None,
            trace: None,
            failure: None,
        }
    }
}

/// Delay variation of the datagrams that arrived, each measure by its own definition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DelaySummary {
    /// Transit times measured: one a datagram, or one a batch where the kernel coalesced datagrams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n: Option<u64>,
    /// Smoothed interarrival jitter after RFC 3550 section 6.4.1, µs.
    pub jitter_rfc3550_us: f64,
    /// Mean |difference of consecutive transit times|, µs (RFC 3393).
    pub ipdv_mean_abs_us: Option<f64>,
    /// Transit time above the minimum, µs: median (RFC 5481).
    pub pdv_p50_us: Option<f64>,
    /// 90th percentile of the same, µs.
    pub pdv_p90_us: Option<f64>,
    /// 99th percentile of the same, µs.
    pub pdv_p99_us: Option<f64>,
    /// 99.9th percentile of the same, µs; absent below 2995 values.
    pub pdv_p99_9_us: Option<f64>,
    /// The maximum of the same, µs.
    pub pdv_max_us: Option<f64>,
}

/// The final reports of both ends of one flow.
#[derive(Debug, Clone)]
pub struct FlowRecord {
    /// The flow.
    pub flow: PlannedFlow,
    /// The sending end; `None` when it could not report.
    pub sender: Option<FlowEnd>,
    /// The receiving end; `None` when it could not report.
    pub receiver: Option<FlowEnd>,
    /// The account of datagrams for which the server's report was discarded.
    pub implausible: Option<ImplausibleLoss>,
}

impl FlowRecord {
    /// The record of a flow. Where both reports cannot be true, the server's is discarded.
    #[must_use]
    pub fn new(flow: PlannedFlow, sender: Option<FlowEnd>, receiver: Option<FlowEnd>) -> Self {
        let mut record = Self {
            flow,
            sender,
            receiver,
            implausible: None,
        };
        if let Err(implausible) = record.check_loss() {
            match flow.direction {
                Direction::Up => record.receiver = None,
                Direction::Down => record.sender = None,
            }
            record.implausible = Some(implausible);
        }
        record
    }

    fn check_loss(&self) -> Result<(), ImplausibleLoss> {
        let sequence = self.receiver.as_ref().and_then(|end| end.sequence.as_ref());
        let Some(sequence) = sequence else {
            return Ok(());
        };
        let sent = self
            .sent()
            .map(|sent| sent.datagrams)
            .filter(|sent| *sent > 0);
        ImplausibleLoss::check(sequence.expected, sequence.lost, sent)
    }

    /// The sender's last counters.
    #[must_use]
    pub fn sent(&self) -> Option<&SenderCounters> {
        match &self.sender.as_ref()?.counters {
            Counters::Sender(counters) => Some(counters),
            Counters::Receiver(_) => None,
        }
    }

    /// The receiver's last counters.
    #[must_use]
    pub fn received(&self) -> Option<&ReceiverCounters> {
        match &self.receiver.as_ref()?.counters {
            Counters::Receiver(counters) => Some(counters),
            Counters::Sender(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(direction: Direction, sent: u64, accounted: u64, lost: u64) -> FlowRecord {
        let sender = SenderCounters {
            datagrams: sent,
            ..SenderCounters::default()
        };
        let receiver = FlowEnd {
            sequence: Some(SequenceCounts::from_totals(accounted, lost)),
            ..FlowEnd::from_counters(0, Counters::Receiver(ReceiverCounters::default()))
        };
        let sender = FlowEnd::from_counters(0, Counters::Sender(sender));
        FlowRecord::new(
            PlannedFlow { id: 0, direction },
            Some(sender),
            Some(receiver),
        )
    }

    #[test]
    fn the_report_of_a_server_that_cannot_be_true_is_discarded() {
        let upload = record(Direction::Up, 350, 2_147_483_306, 2_147_482_957);
        assert!(upload.receiver.is_none() && upload.sender.is_some());
        let implausible = upload.implausible.unwrap().to_string();
        assert!(
            implausible.contains("2147482957 of 2147483306") && implausible.contains("350 sent")
        );
        let download = record(Direction::Down, 3, 100, 50);
        assert!(download.sender.is_none() && download.receiver.is_some());
    }

    proptest! {
        #[test]
        fn no_more_is_lost_than_was_sent(sent in 1_u64..5000, accounted in 0_u64..5000, lost in 0_u64..6000) {
            let record = record(Direction::Up, sent, accounted, lost);
            if let Some(end) = &record.receiver {
                prop_assert!(end.sequence.as_ref().is_none_or(|counts| counts.lost <= sent));
            }
            prop_assert_eq!(record.receiver.is_some(), lost <= accounted.min(sent));
        }
    }
}
