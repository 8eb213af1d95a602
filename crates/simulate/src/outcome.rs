//! What came of a run.

use std::time::Duration;

use caudal_core::sequence::SequenceCounts;
use caudal_core::units::{BitRate, ByteCount};
use caudal_link::assembly::CourseReport;
use caudal_link::moment::Moment;
use caudal_link::occupancy::Occupancy;
use caudal_link::waiting::Waiting;
use caudal_stats::estimate::Welford;
use serde::{Serialize, Serializer};

pub use caudal_link::counters::DropReason;

/// Everything that is told of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// The flows, in the order of the scenario.
    pub flows: Vec<FlowOutcome>,
    /// The links, in the order of the topology.
    pub links: Vec<LinkOutcome>,
    /// How far virtual time went.
    pub end: Moment,
    /// Frames that entered or left the network, and timers.
    pub events: u64,
    /// Whether the limit of events ended the run before its time.
    pub cut_short: bool,
    /// Frames that hosts and routers let go by: damaged ones and those for others, as switches flood them.
    pub disregarded: u64,
}

/// What one link did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkOutcome {
    /// Its name in the topology.
    pub name: String,
    /// From its first end to its second, and back; queue over time and collisions are here.
    pub courses: [CourseReport; 2],
}

/// What one flow did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowOutcome {
    /// Where it began.
    pub from: String,
    /// Where it led.
    pub to: String,
    /// When its payload began to flow: behind the handshake and the greeting of a TCP transfer that has one.
    pub start: Moment,
    /// When its goodput ends to count: all was received, its application stopped, or the run ended.
    pub end: Moment,
    /// Payload that left its application for the first time.
    pub sent: ByteCount,
    /// Payload that came to the application at the other end.
    pub received: ByteCount,
    /// Payload received from its begin to its end, over that time; `None` when it never began.
    pub goodput: Option<BitRate>,
    /// Payload received over the time of the whole run.
    pub intervals: Vec<Interval>,
    /// What else is known of its kind.
    pub details: Details,
}

/// A stretch of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Interval {
    /// Its begin.
    pub start: Moment,
    /// Its end.
    pub end: Moment,
    /// Payload received in it.
    pub bytes: ByteCount,
    /// The same over its length.
    pub goodput: BitRate,
}

/// What is known of a flow by its kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Details {
    /// Of a TCP transfer.
    Tcp {
        /// Segments, losses and timeouts at the sender.
        counts: TcpCounts,
        /// Round trips as the sender saw them.
        rtt: RttSummary,
        /// The congestion window in segments over time.
        cwnd: Occupancy,
    },
    /// Of datagrams.
    Udp {
        /// Received, lost, reordered, of what was sent up to the newest that arrived: those behind it may be on their way.
        counts: SequenceCounts,
        /// From application to application.
        delay: RttSummary,
        /// RFC 3550's jitter in nanoseconds; `None` with fewer than two datagrams.
        jitter_ns: Option<f64>,
    },
    /// Of an echo client.
    Echo {
        /// Messages that came back.
        exchanges: u64,
        /// Messages that did not come back in time.
        lost: u64,
        /// From a message to its echo.
        rtt: RttSummary,
    },
}

/// What a TCP sender counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TcpCounts {
    /// Segments with data, repetitions included.
    pub segments: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Segments known to have arrived.
    pub delivered: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Times it entered recovery.
    pub recoveries: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// Segments that the receiver reported to have twice.
    pub superfluous: u64,
    /// Reductions of the window that were taken back.
    pub undone: u64,
}

/// Times of many round trips or ways, in bounded memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RttSummary {
    times: Welford,
    least_ns: u64,
    waits: Waiting,
}

/// What is written of it; a value is missing without a sample.
#[derive(Serialize)]
struct Shown {
    count: u64,
    min_ns: Option<u64>,
    mean_ns: Option<f64>,
    sd_ns: Option<f64>,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
}

impl Serialize for RttSummary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let shown = Shown {
            count: self.count(),
            min_ns: self.least().map(ns),
            mean_ns: self.times.mean(),
            sd_ns: self.times.sd(),
            p50_ns: self.quantile(0.5).map(ns),
            p99_ns: self.quantile(0.99).map(ns),
            max_ns: self.most().map(ns),
        };
        shown.serialize(serializer)
    }
}

impl RttSummary {
    pub(crate) fn record(&mut self, ns: u64) {
        self.least_ns = if self.waits.count() == 0 {
            ns
        } else {
            self.least_ns.min(ns)
        };
        self.times.push(ns as f64);
        self.waits.record(ns);
    }

    /// How many there were.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.waits.count()
    }

    /// The shortest; `None` without any.
    #[must_use]
    pub fn least(&self) -> Option<Duration> {
        (self.count() > 0).then(|| Duration::from_nanos(self.least_ns))
    }

    /// The mean; `None` without any.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        self.waits.mean()
    }

    /// The longest; `None` without any.
    #[must_use]
    pub fn most(&self) -> Option<Duration> {
        (self.count() > 0).then(|| self.waits.most())
    }

    /// A time that `share` of them did not exceed, at most a quarter too long; `None` without any.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        self.waits.quantile(share)
    }
}
