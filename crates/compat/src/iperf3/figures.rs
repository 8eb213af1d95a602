//! The figures of a stream over some time.

use caudal_core::event::FlowTotals;
use caudal_core::sample::{Counters, ReceiverCounters, Sample, TcpSnapshot};

/// The figures of one stream, or of several, over some time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StreamFigures {
    /// The begin, s after the start or the end of the warm-up.
    pub start_s: f64,
    /// The end, s.
    pub end_s: f64,
    /// Payload bytes.
    pub bytes: u64,
    /// Segments retransmitted (TCP sender).
    pub retransmits: Option<u64>,
    /// The kernel's state at the end (TCP sender).
    pub tcp: Option<TcpSnapshot>,
    /// Datagrams (UDP).
    pub packets: u64,
    /// Datagrams lost (UDP receiver).
    pub lost: u64,
    /// Datagrams out of order (UDP receiver).
    pub out_of_order: u64,
    /// Jitter, s (UDP receiver).
    pub jitter_s: f64,
}

impl StreamFigures {
    /// The figures between two readings of a stream, with times after `base_ns`.
    #[must_use]
    pub fn between(base_ns: u64, earlier: &Sample, later: &Sample) -> Self {
        let seconds = |ns: u64| ns.saturating_sub(base_ns) as f64 / 1e9;
        let span = Self {
            start_s: seconds(earlier.at_ns),
            end_s: seconds(later.at_ns),
            ..Self::default()
        };
        match (earlier.counters, later.counters) {
            (Counters::Sender(earlier), Counters::Sender(later)) => Self {
                bytes: later.bytes.saturating_sub(earlier.bytes),
                packets: later.datagrams.saturating_sub(earlier.datagrams),
                retransmits: later.tcp.map(|tcp| {
                    let before = earlier.tcp.map_or(0, |tcp| tcp.retransmits);
                    tcp.retransmits.saturating_sub(before)
                }),
                tcp: later.tcp,
                ..span
            },
            (Counters::Receiver(earlier), Counters::Receiver(later)) => {
                let seen = |counters: &ReceiverCounters| counters.datagrams + counters.lost;
                let packets = seen(&later).saturating_sub(seen(&earlier));
                Self {
                    bytes: later.bytes.saturating_sub(earlier.bytes),
                    packets,
                    lost: later.lost.saturating_sub(earlier.lost).min(packets),
                    out_of_order: later.reordered.saturating_sub(earlier.reordered),
                    jitter_s: later.jitter_rfc3550_ns as f64 / 1e9,
                    ..span
                }
            }
            _ => span,
        }
    }

    /// The duration, s.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.end_s - self.start_s
    }

    /// Bytes per second.
    #[must_use]
    pub fn bytes_per_s(&self) -> f64 {
        self.bytes as f64 / self.seconds().max(1e-9)
    }

    /// Datagrams lost, %.
    #[must_use]
    pub fn lost_percent(&self) -> f64 {
        if self.packets == 0 {
            0.0
        } else {
            self.lost as f64 * 100.0 / self.packets as f64
        }
    }

    /// The sum of several streams: jitter is the mean, the begin that of the first.
    #[must_use]
    pub fn sum(all: &[Self]) -> Self {
        let mut sum = all.first().copied().unwrap_or_default();
        for one in all.iter().skip(1) {
            sum.bytes += one.bytes;
            sum.packets += one.packets;
            sum.lost += one.lost;
            sum.out_of_order += one.out_of_order;
            sum.jitter_s += one.jitter_s;
            sum.end_s = sum.end_s.max(one.end_s);
            sum.retransmits = match (sum.retransmits, one.retransmits) {
                (Some(sum), Some(one)) => Some(sum + one),
                (sum, one) => sum.or(one),
            };
        }
        sum.jitter_s /= all.len().max(1) as f64;
        sum.tcp = None;
        sum
    }
}

impl From<&FlowTotals> for StreamFigures {
    /// The figures of a whole measured part, as the end that counted has reported them.
    fn from(totals: &FlowTotals) -> Self {
        Self {
            end_s: totals.elapsed_s,
            bytes: totals.bytes,
            retransmits: totals.retransmits,
            packets: totals.datagrams.unwrap_or(0),
            lost: totals.lost.unwrap_or(0),
            out_of_order: totals.reordered.unwrap_or(0),
            jitter_s: totals.jitter_s.unwrap_or(0.0),
            ..Self::default()
        }
    }
}

/// The extremes of a TCP sender's state at the ends of intervals.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TcpExtremes {
    /// The maximum congestion window, bytes.
    pub max_cwnd_bytes: u64,
    /// The maximum window of the receiver, bytes.
    pub max_window_bytes: u64,
    /// The minimum round-trip time, µs.
    pub min_rtt_us: u32,
    /// The maximum round-trip time, µs.
    pub max_rtt_us: u32,
    /// Reordering events.
    pub reordering: Option<u64>,
    rtt_sum_us: u64,
    rtt_count: u64,
}

impl TcpExtremes {
    /// Takes the state at the end of an interval.
    pub fn take(&mut self, tcp: &TcpSnapshot) {
        self.max_cwnd_bytes = self.max_cwnd_bytes.max(tcp.cwnd_bytes);
        let window_bytes = tcp.receiver_window_bytes.unwrap_or(0);
        self.max_window_bytes = self.max_window_bytes.max(window_bytes);
        self.min_rtt_us = match self.rtt_count {
            0 => tcp.rtt_us,
            _ => self.min_rtt_us.min(tcp.rtt_us),
        };
        self.max_rtt_us = self.max_rtt_us.max(tcp.rtt_us);
        self.rtt_sum_us += u64::from(tcp.rtt_us);
        self.rtt_count += 1;
        self.reordering = tcp.reordering_seen.or(self.reordering);
    }

    /// The mean round-trip time, µs; `None` when there was no interval.
    #[must_use]
    pub const fn mean_rtt_us(&self) -> Option<u64> {
        self.rtt_sum_us.checked_div(self.rtt_count)
    }
}
