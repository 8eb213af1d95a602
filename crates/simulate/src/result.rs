//! The result of a simulation.

use std::time::Duration;

use caudal_core::sequence::SequenceCounts;
use caudal_core::units::{BitRate, ByteCount};
use caudal_link::histogram::DurationHistogram;
use caudal_link::model::DirectionReport;
use caudal_link::occupancy::OccupancySummary;
use caudal_link::time::{SimTime, duration_to_ns};
use caudal_stats::Welford;
use serde::{Serialize, Serializer};

pub use caudal_link::counters::DropReason;

/// The result of a simulation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SimulationResult {
    /// The flows, in the order of the scenario.
    pub flows: Vec<FlowResult>,
    /// The links, in the order of the topology.
    pub links: Vec<LinkResult>,
    /// The virtual time at the end.
    pub end: SimTime,
    /// The number of events: frames that entered or left the network, and timers.
    pub events: u64,
    /// `true` when the limit of events ended the simulation before its time.
    pub cut_short: bool,
    /// Frames that hosts and routers ignored: damaged ones, and flooded ones for other stations.
    pub ignored_frames: u64,
}

/// The counters of one link.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkResult {
    /// Its name in the topology.
    pub name: String,
    /// From its first end to its second, and back; with the queue over time and the collisions.
    pub directions: [DirectionReport; 2],
}

/// The result of one flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowResult {
    /// The node where it starts.
    pub from: String,
    /// The node where it ends.
    pub to: String,
    /// The time at which its payload starts: after the handshakes of TCP and of the application.
    pub start: SimTime,
    /// The end of the time that counts for its goodput: everything was received, its application stopped, or the
    /// simulation ended.
    pub end: SimTime,
    /// Payload sent, without retransmissions.
    pub sent: ByteCount,
    /// Payload that arrived at the other end.
    pub received: ByteCount,
    /// Payload received from `start` to `end`, over that time; `None` when the flow never started.
    pub goodput: Option<BitRate>,
    /// Payload received in each interval of the whole simulated time.
    pub intervals: Vec<GoodputInterval>,
    /// The counters that belong to its kind of traffic.
    pub details: FlowDetails,
}

/// The payload received in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct GoodputInterval {
    /// The start of the interval.
    pub start: SimTime,
    /// The end of the interval.
    pub end: SimTime,
    /// The payload received in it.
    pub bytes: ByteCount,
    /// The payload received over its length.
    pub goodput: BitRate,
}

/// The counters of a flow by its kind of traffic.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowDetails {
    /// Those of a TCP transfer.
    Tcp {
        /// Segments, losses and timeouts of the sender.
        counts: TcpCounts,
        /// The round-trip times that the sender measured.
        rtt: DelayStatistics,
        /// The congestion window in segments over time.
        cwnd: OccupancySummary,
    },
    /// Those of UDP datagrams.
    Udp {
        /// The datagrams received, lost and reordered, of those sent up to the newest that arrived: later ones may be on
        /// their way.
        counts: SequenceCounts,
        /// The one-way delay from application to application.
        delay: DelayStatistics,
        /// The jitter of RFC 3550 in nanoseconds; `None` with fewer than two datagrams.
        jitter_ns: Option<f64>,
    },
    /// Those of an echo client.
    Echo {
        /// Messages that were echoed.
        exchanges: u64,
        /// Messages without an echo in time.
        lost: u64,
        /// The time from a message to its echo.
        rtt: DelayStatistics,
    },
}

/// The counters of a TCP sender.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TcpCounts {
    /// Segments with data sent, retransmissions included.
    pub segments: u64,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Segments known to have arrived.
    pub delivered: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Times it entered recovery.
    pub recoveries: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// Segments that the receiver reported as duplicates (D-SACK, RFC 2883).
    pub dsacks: u64,
    /// Reductions of the congestion window that were undone.
    pub undone: u64,
}

/// Statistics of many delays, one-way or round-trip, in bounded memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DelayStatistics {
    moments: Welford,
    min_ns: u64,
    histogram: DurationHistogram,
}

/// The serialized form; a statistic is missing without a sample.
#[derive(Serialize)]
struct DelayFields {
    count: u64,
    min_ns: Option<u64>,
    mean_ns: Option<f64>,
    sd_ns: Option<f64>,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
}

impl Serialize for DelayStatistics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = DelayFields {
            count: self.count(),
            min_ns: self.min().map(duration_to_ns),
            mean_ns: self.moments.mean(),
            sd_ns: self.moments.sd(),
            p50_ns: self.quantile(0.5).map(duration_to_ns),
            p99_ns: self.quantile(0.99).map(duration_to_ns),
            max_ns: self.max().map(duration_to_ns),
        };
        fields.serialize(serializer)
    }
}

impl DelayStatistics {
    pub(crate) fn record(&mut self, ns: u64) {
        self.min_ns = if self.count() == 0 {
            ns
        } else {
            self.min_ns.min(ns)
        };
        self.moments.push(ns as f64);
        self.histogram.record(ns);
    }

    /// The number of samples.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.histogram.count()
    }

    /// The minimum; `None` without a sample.
    #[must_use]
    pub fn min(&self) -> Option<Duration> {
        (self.count() > 0).then(|| Duration::from_nanos(self.min_ns))
    }

    /// The mean; `None` without a sample.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        self.histogram.mean()
    }

    /// The maximum; `None` without a sample.
    #[must_use]
    pub fn max(&self) -> Option<Duration> {
        (self.count() > 0).then(|| self.histogram.max())
    }

    /// The delay that `fraction` of the samples do not exceed, at most a quarter too long; `None` without a sample.
    #[must_use]
    pub fn quantile(&self, fraction: f64) -> Option<Duration> {
        self.histogram.quantile(fraction)
    }
}
