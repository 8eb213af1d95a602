//! The counts of a flow over a span of time.

use caudal_core::event::FlowTotals;
use caudal_core::sample::{Counters, ReceiverCounters, SenderCounters, TcpSnapshot};
use caudal_core::transit::TransitTimes;

/// The counts of a receiver of datagrams over a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct DatagramCounts {
    /// The jitter at its end, ms.
    pub(super) jitter_ms: f64,
    /// Datagrams missing; below 0 when some that had been missing arrived.
    pub(super) lost: i64,
    /// Datagrams that arrived or are missing.
    pub(super) total: u64,
    /// Datagrams that arrived after a later one.
    pub(super) out_of_order: u64,
    /// One-way transit times.
    pub(super) transit: TransitTimes,
}

/// The counts of a flow over a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct SpanCounts {
    /// The beginning, s after the start of the flow.
    pub(super) start_s: f64,
    /// The end, s after the start of the flow.
    pub(super) end_s: f64,
    /// Payload bytes.
    pub(super) bytes: u64,
    /// Datagrams sent (UDP sender).
    pub(super) datagrams: u64,
    /// System calls.
    pub(super) calls: u64,
    /// System calls that failed.
    pub(super) errors: u64,
    /// Segments retransmitted (TCP sender).
    pub(super) retransmits: u64,
    /// The kernel's state at the end (TCP sender).
    pub(super) tcp: Option<TcpSnapshot>,
    /// Reads by size, in eighths of the buffer (TCP receiver).
    pub(super) reads: [u64; 8],
    /// The account of datagrams (UDP receiver).
    pub(super) received: Option<DatagramCounts>,
    /// Response times (the client of a bounceback test), or the one-way times of bursts (TCP receiver).
    pub(super) transit: TransitTimes,
}

/// The counters of a flow at a time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FlowReading {
    /// The time, s after the start of the flow.
    pub(super) at_s: f64,
    /// The counters; `None` before the first reading.
    pub(super) counters: Option<Counters>,
}

impl FlowReading {
    /// Payload bytes so far.
    pub(super) const fn bytes(&self) -> u64 {
        match self.counters {
            Some(Counters::Sender(sent)) => sent.bytes,
            Some(Counters::Receiver(received)) => received.bytes,
            None => 0,
        }
    }

    fn sent(&self) -> SenderCounters {
        match self.counters {
            Some(Counters::Sender(sent)) => sent,
            _ => SenderCounters::default(),
        }
    }

    fn received(&self) -> ReceiverCounters {
        match self.counters {
            Some(Counters::Receiver(received)) => received,
            _ => ReceiverCounters::default(),
        }
    }

    /// Segments retransmitted so far, as far as the kernel said.
    pub(super) fn retransmits(&self) -> Option<u64> {
        self.sent().tcp.map(|tcp| tcp.retransmits)
    }
}

impl SpanCounts {
    /// The counts between two readings of a flow.
    pub(super) fn between(earlier: &FlowReading, later: &FlowReading, is_udp: bool) -> Self {
        let span = Self {
            start_s: earlier.at_s,
            end_s: later.at_s,
            bytes: later.bytes().saturating_sub(earlier.bytes()),
            ..Self::default()
        };
        match later.counters {
            None => span,
            Some(Counters::Sender(_)) => span.with_sent(&earlier.sent(), &later.sent()),
            Some(Counters::Receiver(_)) => {
                span.with_received(&earlier.received(), &later.received(), is_udp)
            }
        }
    }

    fn with_sent(self, earlier: &SenderCounters, later: &SenderCounters) -> Self {
        let retransmits = later.tcp.map_or(0, |tcp| tcp.retransmits);
        let before = earlier.tcp.map_or(0, |tcp| tcp.retransmits);
        Self {
            datagrams: later.datagrams.saturating_sub(earlier.datagrams),
            calls: later.calls.saturating_sub(earlier.calls),
            errors: later.send_errors.saturating_sub(earlier.send_errors),
            retransmits: retransmits.saturating_sub(before),
            tcp: later.tcp,
            ..self
        }
    }

    fn with_received(
        self,
        earlier: &ReceiverCounters,
        later: &ReceiverCounters,
        is_udp: bool,
    ) -> Self {
        let mut reads = later.read_sizes.unwrap_or_default();
        let before = earlier.read_sizes.unwrap_or_default();
        for (count, before) in reads.iter_mut().zip(before) {
            *count = count.saturating_sub(before);
        }
        let total =
            |counters: &ReceiverCounters| counters.datagrams + counters.late + counters.lost;
        let out_of_order = |counters: &ReceiverCounters| counters.reordered + counters.late;
        let transit = match (later.transit, earlier.transit) {
            (Some(later), Some(earlier)) => later.since(&earlier),
            (later, _) => later.unwrap_or_default(),
        };
        Self {
            datagrams: later.datagrams.saturating_sub(earlier.datagrams),
            calls: later.calls.saturating_sub(earlier.calls),
            reads,
            received: is_udp.then(|| DatagramCounts {
                jitter_ms: later.jitter_rfc3550_ns as f64 / 1e6,
                lost: later.lost as i64 - earlier.lost as i64,
                total: total(later).saturating_sub(total(earlier)),
                out_of_order: out_of_order(later).saturating_sub(out_of_order(earlier)),
                transit,
            }),
            transit,
            ..self
        }
    }

    /// The bit rate; 0 when no time passed.
    pub(super) fn bps(&self) -> f64 {
        let elapsed_s = self.end_s - self.start_s;
        if elapsed_s > 0.0 {
            self.bytes as f64 * 8.0 / elapsed_s
        } else {
            0.0
        }
    }

    /// The length of the span, s; never 0, for rates.
    pub(super) fn elapsed_s(&self) -> f64 {
        (self.end_s - self.start_s).max(1e-9)
    }
}

impl From<&FlowTotals> for SpanCounts {
    /// The other end's report on a UDP flow.
    fn from(totals: &FlowTotals) -> Self {
        let (datagrams, lost) = (totals.datagrams.unwrap_or(0), totals.lost.unwrap_or(0));
        Self {
            end_s: totals.elapsed_s,
            bytes: totals.bytes,
            datagrams: datagrams.saturating_sub(lost),
            received: Some(DatagramCounts {
                jitter_ms: totals.jitter_s.unwrap_or(0.0) * 1e3,
                lost: lost as i64,
                total: datagrams,
                out_of_order: totals.reordered.unwrap_or(0),
                transit: totals.transit.unwrap_or_default(),
            }),
            ..Self::default()
        }
    }
}
