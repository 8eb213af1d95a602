//! What can be told of the flows and links of a trial, by name.

use super::file::KindFile;
use caudal_core::quantity::Unit;

/// What a metric is measured on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// A throughput flow over TCP.
    Tcp,
    /// A flow of datagrams.
    Udp,
    /// Any throughput flow.
    Traffic,
    /// An echo flow.
    Echo,
    /// A link of a lab: `links.NAME.metric`.
    Link,
    /// All flows that are load together: `total.metric`.
    Total,
}

impl On {
    /// What of a flow can be measured.
    #[must_use]
    pub const fn of(kind: KindFile) -> &'static [Self] {
        match kind {
            KindFile::Tcp => &[Self::Tcp, Self::Traffic],
            KindFile::Udp => &[Self::Udp, Self::Traffic],
            KindFile::Rtt | KindFile::RttUdp => &[Self::Echo],
        }
    }

    /// What it is in words, with the name its metrics have before the dot.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Self::Tcp => "`FLOW.`, TCP",
            Self::Udp => "`FLOW.`, UDP",
            Self::Traffic => "`FLOW.`, TCP and UDP",
            Self::Echo => "`FLOW.`, echo",
            Self::Link => "`links.NAME.`, a lab's link",
            Self::Total => "`total.`, all flows that are load",
        }
    }
}

/// A metric: its name behind the flow's, as in `tcp.goodput`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// What it is measured on.
    pub on: On,
    /// Its unit, the base unit of its values.
    pub unit: Unit,
    /// What it is.
    pub about: &'static str,
    /// Whether more is better; `None` where neither is.
    pub more_is_better: Option<bool>,
}

impl Metric {
    /// Between which values it must be, ends included, in its unit.
    #[must_use]
    pub fn range(&self) -> (f64, f64) {
        match (self.name, self.unit) {
            // Who gets more beside others than alone is harmed by less than nothing.
            ("harm", _) => (f64::NEG_INFINITY, 1.0),
            // The end of an interval of normal theory, which knows no bounds.
            ("rtt_low", _) => (f64::NEG_INFINITY, f64::INFINITY),
            ("jain", _) | (_, Unit::Share) => (0.0, 1.0),
            _ => (0.0, f64::INFINITY),
        }
    }
}

const fn metric(
    name: &'static str,
    on: On,
    unit: Unit,
    more_is_better: Option<bool>,
    about: &'static str,
) -> Metric {
    Metric {
        name,
        on,
        unit,
        about,
        more_is_better,
    }
}

const MORE: Option<bool> = Some(true);
const LESS: Option<bool> = Some(false);

/// All metrics.
pub const METRICS: &[Metric] = &[
    metric(
        "goodput",
        On::Traffic,
        Unit::BitPerSecond,
        MORE,
        "payload that arrived per second, all connections of the flow together",
    ),
    metric(
        "sent",
        On::Traffic,
        Unit::BitPerSecond,
        None,
        "payload handed to the sender's kernel per second",
    ),
    metric(
        "bytes",
        On::Traffic,
        Unit::Bytes,
        MORE,
        "payload that arrived",
    ),
    metric(
        "loss",
        On::Udp,
        Unit::Share,
        LESS,
        "datagrams that never arrived, of those sent, wherever they were lost",
    ),
    metric(
        "loss_sender",
        On::Udp,
        Unit::Share,
        LESS,
        "datagrams that the sender's kernel refused or its queue dropped, of those sent",
    ),
    metric(
        "loss_path",
        On::Udp,
        Unit::Share,
        LESS,
        "datagrams lost on the way, of those sent",
    ),
    metric(
        "loss_socket",
        On::Udp,
        Unit::Share,
        LESS,
        "datagrams dropped at the receiving socket, of those sent",
    ),
    metric(
        "jitter",
        On::Udp,
        Unit::Seconds,
        LESS,
        "smoothed interarrival jitter, RFC 3550",
    ),
    metric(
        "reordered",
        On::Udp,
        Unit::Share,
        LESS,
        "datagrams overtaken by later ones, of those received, RFC 4737",
    ),
    metric(
        "retransmits",
        On::Tcp,
        Unit::Segments,
        LESS,
        "segments sent again",
    ),
    metric(
        "retransmitted",
        On::Tcp,
        Unit::Share,
        LESS,
        "payload sent again, of that sent",
    ),
    metric(
        "timeouts",
        On::Tcp,
        Unit::Timeouts,
        LESS,
        "retransmission timeouts",
    ),
    metric(
        "rtt",
        On::Tcp,
        Unit::Seconds,
        LESS,
        "mean of the kernel's smoothed round-trip times",
    ),
    metric(
        "rtt_min",
        On::Tcp,
        Unit::Seconds,
        LESS,
        "least round-trip time the kernel saw",
    ),
    metric(
        "cwnd_max",
        On::Tcp,
        Unit::Bytes,
        None,
        "largest congestion window",
    ),
    metric(
        "rtt",
        On::Echo,
        Unit::Seconds,
        LESS,
        "mean round-trip time, all sizes and connections pooled",
    ),
    metric(
        "rtt_p50",
        On::Echo,
        Unit::Seconds,
        LESS,
        "median round-trip time",
    ),
    metric(
        "rtt_p95",
        On::Echo,
        Unit::Seconds,
        LESS,
        "95th percentile of round-trip times",
    ),
    metric(
        "rtt_p99",
        On::Echo,
        Unit::Seconds,
        LESS,
        "99th percentile of round-trip times",
    ),
    metric(
        "rtt_max",
        On::Echo,
        Unit::Seconds,
        LESS,
        "largest round-trip time",
    ),
    metric(
        "rtt_sd",
        On::Echo,
        Unit::Seconds,
        LESS,
        "standard deviation of the round-trip times",
    ),
    metric(
        "rtt_low",
        On::Echo,
        Unit::Seconds,
        LESS,
        "lower end of the mean's interval over the messages of a trial; of echo with one size",
    ),
    metric(
        "rtt_high",
        On::Echo,
        Unit::Seconds,
        LESS,
        "upper end of the mean's interval over the messages of a trial; of echo with one size",
    ),
    metric(
        "lost",
        On::Echo,
        Unit::Share,
        LESS,
        "messages that did not come back, of those sent",
    ),
    metric(
        "share",
        On::Traffic,
        Unit::Ratio,
        MORE,
        "goodput over the max–min fair share of the link",
    ),
    metric(
        "harm",
        On::Traffic,
        Unit::Share,
        LESS,
        "(alone − together) / alone of its goodput, Ware et al. 2019",
    ),
    metric(
        "starved",
        On::Traffic,
        Unit::Share,
        LESS,
        "intervals below a tenth of the fair share, of all",
    ),
    metric(
        "starved_longest",
        On::Traffic,
        Unit::Seconds,
        LESS,
        "longest time on end below a tenth of the fair share",
    ),
    metric(
        "convergence",
        On::Traffic,
        Unit::Seconds,
        LESS,
        "from its start until its rate stays near its mean; absent where it never does",
    ),
    metric(
        "goodput",
        On::Total,
        Unit::BitPerSecond,
        MORE,
        "goodput of all flows that are load",
    ),
    metric(
        "goodput_each",
        On::Total,
        Unit::BitPerSecond,
        MORE,
        "goodput of a connection on the average, of all flows that are load",
    ),
    metric(
        "loss",
        On::Total,
        Unit::Share,
        LESS,
        "datagrams of all flows that are load that never arrived, of those sent",
    ),
    metric(
        "rtt",
        On::Total,
        Unit::Seconds,
        LESS,
        "mean round-trip time of all echo flows that are no probes, their messages pooled",
    ),
    metric(
        "collisions",
        On::Total,
        Unit::Share,
        LESS,
        "frames that collided at least once, of those sent, on all links; 0 where all are full duplex",
    ),
    metric(
        "jain",
        On::Total,
        Unit::Ratio,
        MORE,
        "Jain's fairness index of the goodputs of all connections that are load",
    ),
    metric(
        "utilisation",
        On::Link,
        Unit::Share,
        None,
        "busy part of the measured time, the busier direction",
    ),
    metric(
        "collisions",
        On::Link,
        Unit::Share,
        LESS,
        "frames that collided at least once, of those sent, both directions",
    ),
    metric(
        "drops",
        On::Link,
        Unit::Share,
        LESS,
        "frames dropped, of those offered, both directions",
    ),
    metric(
        "delivered",
        On::Link,
        Unit::BitPerSecond,
        MORE,
        "frame bits delivered per second, the busier direction",
    ),
    metric(
        "queue_max",
        On::Link,
        Unit::Bytes,
        LESS,
        "the longest its queues were",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_lie_between_nothing_and_all_and_most_else_above_zero() {
        for metric in METRICS {
            let (least, most) = metric.range();
            let bounded = metric.unit == Unit::Share || metric.name == "jain";
            assert_eq!(most == 1.0, bounded, "{}", metric.name);
            let signed = ["harm", "rtt_low"].contains(&metric.name);
            assert_eq!(least == 0.0, !signed, "{}", metric.name);
        }
    }
}
