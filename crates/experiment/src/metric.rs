//! The metrics of the flows and links of a trial.

use crate::file::FlowKindFile;
use caudal_core::quantity::Unit;

/// The subject of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricSubject {
    /// A throughput flow over TCP.
    Tcp,
    /// A flow of datagrams.
    Udp,
    /// Any throughput flow.
    Traffic,
    /// An echo flow.
    Echo,
    /// The transfer of a file.
    File,
    /// A path that is probed.
    Path,
    /// A link of such a path: `FLOW.linkN.metric`, where N is the TTL of its far end.
    PathLink,
    /// Any flow, captured at the host of its client.
    Captured,
    /// A link of a lab: `links.NAME.metric`.
    Link,
    /// All flows that are load together: `total.metric`.
    Total,
}

impl MetricSubject {
    /// The subjects of a flow of this kind.
    #[must_use]
    pub const fn for_flow(kind: FlowKindFile) -> &'static [Self] {
        match kind {
            FlowKindFile::Tcp => &[Self::Tcp, Self::Traffic, Self::Captured],
            FlowKindFile::Udp => &[Self::Udp, Self::Traffic, Self::Captured],
            FlowKindFile::Rtt | FlowKindFile::RttUdp => &[Self::Echo, Self::Captured],
            FlowKindFile::File => &[Self::File, Self::Captured],
            FlowKindFile::Path => &[Self::Path, Self::Captured],
        }
    }

    /// The description with the prefix of the metrics' names, for the reference.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::Tcp => "`FLOW.`, TCP",
            Self::Udp => "`FLOW.`, UDP",
            Self::Traffic => "`FLOW.`, TCP and UDP",
            Self::Echo => "`FLOW.`, echo",
            Self::File => "`FLOW.`, file",
            Self::Path => "`FLOW.`, path",
            Self::PathLink => "`FLOW.linkN.`, the link to hop N of a path",
            Self::Captured => "`FLOW.`, with `capture = true`, alone on its client's host",
            Self::Link => "`links.NAME.`, a lab's link",
            Self::Total => "`total.`, all flows that are load",
        }
    }
}

/// A metric; its full name follows that of the flow, as in `tcp.goodput`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// The name.
    pub name: &'static str,
    /// The subject.
    pub subject: MetricSubject,
    /// The unit, the base unit of its values.
    pub unit: Unit,
    /// The description.
    pub description: &'static str,
    /// `true` when more is better, `false` when less is; `None` where neither is.
    pub more_is_better: Option<bool>,
}

impl Metric {
    /// The possible range of its values, ends included, in its unit.
    #[must_use]
    pub fn range(&self) -> (f64, f64) {
        match (self.name, self.unit) {
            // A flow that gets more under contention than alone has negative harm.
            ("harm", _) => (f64::NEG_INFINITY, 1.0),
            // The end of an interval under normal theory, which has no bounds.
            ("rtt_low", _) => (f64::NEG_INFINITY, f64::INFINITY),
            // What is read may be more than twice the truth.
            ("error" | "error_up" | "error_down", _) => (0.0, f64::INFINITY),
            ("jain", _) | (_, Unit::Share) => (0.0, 1.0),
            _ => (0.0, f64::INFINITY),
        }
    }
}

/// The name of the link to a hop of a path, in the names of its metrics: `link2`.
#[must_use]
pub fn path_link_name(ttl: u8) -> String {
    format!("link{ttl}")
}

/// `true` for the name of the link to a hop of a path.
pub(crate) fn is_path_link(name: &str) -> bool {
    let ttl = name.strip_prefix("link").and_then(|ttl| ttl.parse().ok());
    ttl.is_some_and(|ttl: u8| ttl > 0 && path_link_name(ttl) == name)
}

const fn metric(
    name: &'static str,
    subject: MetricSubject,
    unit: Unit,
    more_is_better: Option<bool>,
    description: &'static str,
) -> Metric {
    Metric {
        name,
        subject,
        unit,
        description,
        more_is_better,
    }
}

const MORE: Option<bool> = Some(true);
const LESS: Option<bool> = Some(false);

/// All metrics.
pub const METRICS: &[Metric] = &[
    metric(
        "goodput",
        MetricSubject::Traffic,
        Unit::BitPerSecond,
        MORE,
        "payload received per second, all connections of the flow together",
    ),
    metric(
        "sent",
        MetricSubject::Traffic,
        Unit::BitPerSecond,
        None,
        "payload passed to the sender's kernel per second",
    ),
    metric(
        "bytes",
        MetricSubject::Traffic,
        Unit::Bytes,
        MORE,
        "payload received",
    ),
    metric(
        "loss",
        MetricSubject::Udp,
        Unit::Share,
        LESS,
        "datagrams lost anywhere, of those sent",
    ),
    metric(
        "loss_sender",
        MetricSubject::Udp,
        Unit::Share,
        LESS,
        "datagrams that the sender's kernel refused or its queue dropped, of those sent",
    ),
    metric(
        "loss_path",
        MetricSubject::Udp,
        Unit::Share,
        LESS,
        "datagrams lost on the path, of those sent",
    ),
    metric(
        "loss_socket",
        MetricSubject::Udp,
        Unit::Share,
        LESS,
        "datagrams dropped at the receiving socket, of those sent",
    ),
    metric(
        "jitter",
        MetricSubject::Udp,
        Unit::Seconds,
        LESS,
        "smoothed interarrival jitter, RFC 3550",
    ),
    metric(
        "reordered",
        MetricSubject::Udp,
        Unit::Share,
        LESS,
        "datagrams overtaken by later ones, of those received, RFC 4737",
    ),
    metric(
        "retransmits",
        MetricSubject::Tcp,
        Unit::Segments,
        LESS,
        "segments retransmitted",
    ),
    metric(
        "retransmitted",
        MetricSubject::Tcp,
        Unit::Share,
        LESS,
        "payload retransmitted, of that sent",
    ),
    metric(
        "timeouts",
        MetricSubject::Tcp,
        Unit::Timeouts,
        LESS,
        "retransmission timeouts",
    ),
    metric(
        "rtt",
        MetricSubject::Tcp,
        Unit::Seconds,
        LESS,
        "mean of the kernel's smoothed round-trip times",
    ),
    metric(
        "rtt_min",
        MetricSubject::Tcp,
        Unit::Seconds,
        LESS,
        "minimum round-trip time that the kernel measured",
    ),
    metric(
        "cwnd_max",
        MetricSubject::Tcp,
        Unit::Bytes,
        None,
        "largest congestion window",
    ),
    metric(
        "rtt",
        MetricSubject::Echo,
        Unit::Seconds,
        LESS,
        "mean round-trip time, all sizes and connections pooled",
    ),
    metric(
        "rtt_p50",
        MetricSubject::Echo,
        Unit::Seconds,
        LESS,
        "median round-trip time",
    ),
    metric(
        "rtt_p95",
        MetricSubject::Echo,
        Unit::Seconds,
        LESS,
        "95th percentile of round-trip times",
    ),
    metric(
        "rtt_p99",
        MetricSubject::Echo,
        Unit::Seconds,
        LESS,
        "99th percentile of round-trip times",
    ),
    metric(
        "rtt_max",
        MetricSubject::Echo,
        Unit::Seconds,
        LESS,
        "largest round-trip time",
    ),
    metric(
        "rtt_sd",
        MetricSubject::Echo,
        Unit::Seconds,
        LESS,
        "standard deviation of the round-trip times",
    ),
    metric(
        "rtt_low",
        MetricSubject::Echo,
        Unit::Seconds,
        LESS,
        "lower end of the mean's interval over the messages of a trial; echo with one size only",
    ),
    metric(
        "rtt_high",
        MetricSubject::Echo,
        Unit::Seconds,
        LESS,
        "upper end of the mean's interval over the messages of a trial; echo with one size only",
    ),
    metric(
        "lost",
        MetricSubject::Echo,
        Unit::Share,
        LESS,
        "messages without a reply, of those sent",
    ),
    metric(
        "time",
        MetricSubject::File,
        Unit::Seconds,
        LESS,
        "time of the transfer, from the first packet of its handshake to the receiver's answer that every byte is written",
    ),
    metric(
        "goodput",
        MetricSubject::File,
        Unit::BitPerSecond,
        MORE,
        "size of the file over the time of the transfer",
    ),
    metric(
        "handshake",
        MetricSubject::File,
        Unit::Seconds,
        LESS,
        "time until the connection or session was set up",
    ),
    metric(
        "verify",
        MetricSubject::File,
        Unit::Seconds,
        LESS,
        "time from the last byte written until the receiver had compared the digest",
    ),
    metric(
        "retransmitted",
        MetricSubject::File,
        Unit::Share,
        LESS,
        "datagrams or segments sent again, of those sent",
    ),
    metric(
        "datagrams",
        MetricSubject::File,
        Unit::Datagrams,
        None,
        "datagrams with file bytes sent, RBT and QUIC",
    ),
    metric(
        "socket_drops",
        MetricSubject::File,
        Unit::Datagrams,
        LESS,
        "datagrams dropped at the receiving socket, RBT and QUIC",
    ),
    metric(
        "cpu",
        MetricSubject::File,
        Unit::Seconds,
        LESS,
        "CPU time of both ends' threads that carry the data",
    ),
    metric(
        "rtt_min",
        MetricSubject::File,
        Unit::Seconds,
        LESS,
        "minimum round-trip time that the sender measured",
    ),
    metric(
        "capacity",
        MetricSubject::Path,
        Unit::BitPerSecond,
        None,
        "capacity of the narrow link as probed from one end, frames on the wire",
    ),
    metric("mtu", MetricSubject::Path, Unit::Bytes, None, "path MTU"),
    metric(
        "routes",
        MetricSubject::Path,
        Unit::Paths,
        None,
        "routes that flows which differ in their source port take",
    ),
    metric(
        "capacity_up",
        MetricSubject::Path,
        Unit::BitPerSecond,
        None,
        "capacity of the narrow link as measured between both ends, from the first host to the second; the rate of a token bucket where there is one",
    ),
    metric(
        "capacity_down",
        MetricSubject::Path,
        Unit::BitPerSecond,
        None,
        "the same from the second host to the first",
    ),
    metric(
        "error_up",
        MetricSubject::Path,
        Unit::Share,
        LESS,
        "difference of `capacity_up` from that of the lab's links, of the latter",
    ),
    metric(
        "error_down",
        MetricSubject::Path,
        Unit::Share,
        LESS,
        "difference of `capacity_down` from that of the lab's links, of the latter",
    ),
    metric(
        "available_up_low",
        MetricSubject::Path,
        Unit::BitPerSecond,
        None,
        "highest rate found below the available bandwidth from the first host to the second, frames on the wire",
    ),
    metric(
        "available_up_high",
        MetricSubject::Path,
        Unit::BitPerSecond,
        None,
        "lowest rate found above it",
    ),
    metric(
        "available_down_low",
        MetricSubject::Path,
        Unit::BitPerSecond,
        None,
        "highest rate found below the available bandwidth from the second host to the first",
    ),
    metric(
        "available_down_high",
        MetricSubject::Path,
        Unit::BitPerSecond,
        None,
        "lowest rate found above it",
    ),
    metric(
        "full_duplex",
        MetricSubject::Path,
        Unit::Share,
        None,
        "1 where the links are found to be full duplex, else 0: over trials the share of them",
    ),
    metric(
        "half_duplex",
        MetricSubject::Path,
        Unit::Share,
        None,
        "1 where a link is found to be half duplex at both ends",
    ),
    metric(
        "mismatch_near",
        MetricSubject::Path,
        Unit::Share,
        None,
        "1 where a duplex mismatch is found whose near end is half duplex",
    ),
    metric(
        "mismatch_far",
        MetricSubject::Path,
        Unit::Share,
        None,
        "1 where a duplex mismatch is found whose far end is half duplex",
    ),
    metric(
        "duplex_unknown",
        MetricSubject::Path,
        Unit::Share,
        LESS,
        "1 where the duplex mode, or the half-duplex end of a mismatch, could not be found",
    ),
    metric(
        "rtt_min",
        MetricSubject::Path,
        Unit::Seconds,
        LESS,
        "minimum round-trip time of the host, by probes from one end",
    ),
    metric(
        "probing_time",
        MetricSubject::Path,
        Unit::Seconds,
        LESS,
        "time that probing took, between both ends included",
    ),
    metric(
        "probing_bytes",
        MetricSubject::Path,
        Unit::Bytes,
        LESS,
        "bytes sent for it, IP headers included, both ends together",
    ),
    metric(
        "capacity",
        MetricSubject::PathLink,
        Unit::BitPerSecond,
        None,
        "its capacity, frames on the wire; of a shaped link the minimum over the path so far",
    ),
    metric(
        "error",
        MetricSubject::PathLink,
        Unit::Share,
        LESS,
        "difference of that from the capacity of the lab's link, of the latter",
    ),
    metric(
        "measured",
        MetricSubject::PathLink,
        Unit::Share,
        MORE,
        "1 where its capacity was found, else 0: over trials the share of them",
    ),
    metric(
        "serialising",
        MetricSubject::PathLink,
        Unit::Share,
        None,
        "1 where it is classed as serialising",
    ),
    metric(
        "shaped",
        MetricSubject::PathLink,
        Unit::Share,
        None,
        "1 where it is classed as shaped",
    ),
    metric(
        "too_fast",
        MetricSubject::PathLink,
        Unit::Share,
        None,
        "1 where it is too fast to tell",
    ),
    metric(
        "hidden_switch",
        MetricSubject::PathLink,
        Unit::Share,
        None,
        "1 where it is perhaps several links with a switch between them",
    ),
    metric(
        "narrow",
        MetricSubject::PathLink,
        Unit::Share,
        None,
        "1 where it is the narrow link",
    ),
    metric(
        "share",
        MetricSubject::Traffic,
        Unit::Ratio,
        MORE,
        "goodput over the max–min fair share of the link",
    ),
    metric(
        "harm",
        MetricSubject::Traffic,
        Unit::Share,
        LESS,
        "(solo − contended) / solo goodput, Ware et al. 2019",
    ),
    metric(
        "starved",
        MetricSubject::Traffic,
        Unit::Share,
        LESS,
        "share of the time below a tenth of the fair share",
    ),
    metric(
        "starved_longest",
        MetricSubject::Traffic,
        Unit::Seconds,
        LESS,
        "longest continuous time below a tenth of the fair share",
    ),
    metric(
        "convergence",
        MetricSubject::Traffic,
        Unit::Seconds,
        LESS,
        "time from its start until its rate stays near its mean; absent where it never does",
    ),
    metric(
        "frame_usual",
        MetricSubject::Captured,
        Unit::Bytes,
        None,
        "most frequent size of a frame with payload that the client sent, as captured: TCP only",
    ),
    metric(
        "frame_sent_max",
        MetricSubject::Captured,
        Unit::Bytes,
        None,
        "largest frame that the client sent, as captured",
    ),
    metric(
        "frame_received_max",
        MetricSubject::Captured,
        Unit::Bytes,
        None,
        "largest frame that the client received, as captured",
    ),
    metric(
        "segment",
        MetricSubject::Captured,
        Unit::Bytes,
        None,
        "payload of a full segment that the client sent: TCP only",
    ),
    metric(
        "segments_per_frame",
        MetricSubject::Captured,
        Unit::Ratio,
        None,
        "segments on the wire for each frame with payload that the client sent: TCP only",
    ),
    metric(
        "headers",
        MetricSubject::Captured,
        Unit::Share,
        LESS,
        "headers, check sequences, preambles and gaps of what the client sent, of its bytes on the wire: TCP only",
    ),
    metric(
        "dont_fragment",
        MetricSubject::Captured,
        Unit::Share,
        None,
        "frames of both directions with Don't Fragment set",
    ),
    metric(
        "goodput",
        MetricSubject::Total,
        Unit::BitPerSecond,
        MORE,
        "goodput of all flows that are load",
    ),
    metric(
        "goodput_each",
        MetricSubject::Total,
        Unit::BitPerSecond,
        MORE,
        "mean goodput of a connection, over all flows that are load",
    ),
    metric(
        "loss",
        MetricSubject::Total,
        Unit::Share,
        LESS,
        "datagrams lost, of those sent, over all flows that are load",
    ),
    metric(
        "rtt",
        MetricSubject::Total,
        Unit::Seconds,
        LESS,
        "mean round-trip time of all echo flows that are not probes, messages pooled",
    ),
    metric(
        "collisions",
        MetricSubject::Total,
        Unit::Share,
        LESS,
        "frames that collided at least once, of those sent, on all links; 0 where all are full duplex",
    ),
    metric(
        "jain",
        MetricSubject::Total,
        Unit::Ratio,
        MORE,
        "Jain's fairness index of the goodputs of all connections that are load",
    ),
    metric(
        "utilisation",
        MetricSubject::Link,
        Unit::Share,
        None,
        "busy share of the measured time, the busier direction",
    ),
    metric(
        "collisions",
        MetricSubject::Link,
        Unit::Share,
        LESS,
        "frames that collided at least once, of those sent, both directions",
    ),
    metric(
        "drops",
        MetricSubject::Link,
        Unit::Share,
        LESS,
        "frames dropped, of those offered, both directions",
    ),
    metric(
        "delivered",
        MetricSubject::Link,
        Unit::BitPerSecond,
        MORE,
        "frame bits delivered per second, the busier direction",
    ),
    metric(
        "queue_max",
        MetricSubject::Link,
        Unit::Bytes,
        LESS,
        "longest queue",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_lie_between_zero_and_one_and_most_other_metrics_above_zero() {
        for metric in METRICS {
            let (min, max) = metric.range();
            let is_error = metric.name.starts_with("error");
            let bounded = metric.unit == Unit::Share && !is_error || metric.name == "jain";
            assert_eq!(max == 1.0, bounded, "{}", metric.name);
            let signed = ["harm", "rtt_low"].contains(&metric.name);
            assert_eq!(min == 0.0, !signed, "{}", metric.name);
        }
    }
}
