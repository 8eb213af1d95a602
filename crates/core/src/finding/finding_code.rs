//! The codes of findings.

use super::severity::FindingSeverity;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// The kinds of findings there are. `Unknown` is for documents of newer versions only.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingCode {
    /// No frame at all.
    NothingCaptured,
    /// The capturing host dropped frames.
    FramesDropped,
    /// A file ends in the middle of a record, or is damaged there.
    CutShort,
    /// Frames contradict their own headers.
    MalformedFrames,
    /// An interface has a link type that is not read here.
    UnknownLinkType,
    /// Only the beginning of frames was kept.
    FramesCutOff,
    /// Frames were cut off within their headers.
    HeadersCutOff,
    /// No frame belongs to a flow.
    NoFlow,
    /// A file holds several captures.
    Concatenated,
    /// Times of frames go backwards.
    TimeBackwards,
    /// The clock was set while capturing.
    ClockSet,
    /// Frames have no time.
    NoTimes,
    /// Frames were captured twice.
    DuplicateFrames,
    /// Flows are added up instead of being shown.
    FlowsFolded,
    /// Flows were given up to bound the memory.
    FlowSplit,
    /// Only one direction of a flow was captured.
    OneDirection,
    /// The capture began in the middle of a connection.
    MidFlow,
    /// Frames are larger than the wire carries.
    SuperPackets,
    /// Checksums were completed by the device.
    ChecksumOffload,
    /// Nothing answered a SYN.
    NoAnswer,
    /// A RST answered a SYN.
    Refused,
    /// A handshake was not completed.
    NotCompleted,
    /// A SYN or SYN-ACK was sent again.
    HandshakeRepeated,
    /// A connection ended in a RST.
    Reset,
    /// Only one end closed its direction.
    HalfClosed,
    /// Windows are limited to 65 535 bytes.
    NoWindowScaling,
    /// Selective acknowledgements are not used.
    NoSack,
    /// The MSS is unusually small.
    SmallMss,
    /// The MSS looks lowered on the way.
    MssClamped,
    /// A router reported a smaller MTU.
    PathMtu,
    /// Full segments became smaller within a connection.
    SegmentsShrank,
    /// Full segments are repeated, and nothing explains why.
    BlackHole,
    /// IP packets are fragmented.
    Fragmented,
    /// Fragments are missing.
    FragmentsMissing,
    /// ICMP errors refer to a flow.
    IcmpError,
    /// Segments were sent again.
    Retransmissions,
    /// Segments were sent again after a timeout.
    Timeouts,
    /// Nothing came from an end for a time, although it was sent to again and again.
    Outage,
    /// Segments were sent again although they had arrived.
    SpuriousRetransmissions,
    /// Segments arrived out of order.
    OutOfOrder,
    /// Segments were not captured.
    SegmentsMissing,
    /// Bytes were acknowledged that were never captured.
    AckedNotCaptured,
    /// A receiver closed its window.
    ZeroWindow,
    /// A sender filled the receiver's window.
    WindowFull,
    /// Packets were marked Congestion Experienced.
    CongestionMarked,
    /// A sender waited for delayed acknowledgements.
    DelayedAckStall,
    /// Requests and responses take turns.
    StopAndWait,
    /// The TTL varies within a direction.
    TtlVaries,
    /// A new connection between the same ports.
    PortReused,
    /// Numbered datagrams are missing.
    DatagramLoss,
    /// Numbered datagrams arrived out of order.
    DatagramReordering,
    /// Numbered datagrams arrived twice.
    DatagramDuplication,
    /// A code this version does not know.
    Unknown(Box<str>),
}

/// What a code stands for.
struct CodeFacts {
    code: FindingCode,
    name: &'static str,
    severity: FindingSeverity,
    meaning: &'static str,
    remedy: &'static str,
}

const fn facts(
    code: FindingCode,
    name: &'static str,
    severity: FindingSeverity,
    meaning: &'static str,
    remedy: &'static str,
) -> CodeFacts {
    CodeFacts {
        code,
        name,
        severity,
        meaning,
        remedy,
    }
}

/// Every code of this version, the most important of a severity first.
static CODES: [CodeFacts; 52] = [
    facts(
        FindingCode::NothingCaptured,
        "nothing-captured",
        FindingSeverity::Problem,
        "the files hold no frame, or the filter leaves none",
        "check the capture filter and the interface",
    ),
    facts(
        FindingCode::FramesDropped,
        "frames-dropped",
        FindingSeverity::Problem,
        "the interface or the kernel dropped frames while capturing: what follows from missing frames is not certain",
        "capture with a larger buffer, a shorter snap length or a filter",
    ),
    facts(
        FindingCode::CutShort,
        "cut-short",
        FindingSeverity::Notice,
        "a file ends in the middle of a record, or is damaged: what follows it is unknown",
        "stop the capturing program before copying its file",
    ),
    facts(
        FindingCode::MalformedFrames,
        "malformed-frames",
        FindingSeverity::Notice,
        "frames are not what their headers announce",
        "look at the frames; a wrong link type or damaged memory makes such frames",
    ),
    facts(
        FindingCode::UnknownLinkType,
        "unknown-link-type",
        FindingSeverity::Problem,
        "an interface has a link type that is not read: its frames are counted only",
        "capture on an Ethernet interface or with -i any",
    ),
    facts(
        FindingCode::NoFlow,
        "no-flow",
        FindingSeverity::Problem,
        "no frame holds a packet of IP that could be read: there is nothing to analyse",
        "capture where packets pass that are neither encrypted nor in an encapsulation that is not read; docs/captures.md names those that are",
    ),
    facts(
        FindingCode::ClockSet,
        "clock-set",
        FindingSeverity::Problem,
        "the clock was set while capturing: rates of the flows concerned are unknown, and no time counts between the two frames",
        "capture again with a clock that is synchronised before",
    ),
    facts(
        FindingCode::NoTimes,
        "no-times",
        FindingSeverity::Problem,
        "frames have no time: rates, round-trip times and delays of their flows are unknown",
        "capture into pcap, or pcapng with Enhanced Packet Blocks",
    ),
    facts(
        FindingCode::Concatenated,
        "concatenated",
        FindingSeverity::Notice,
        "a file holds several captures one after the other: they are read as one that goes on",
        "put captures together by time with mergecap, or give their files one by one",
    ),
    facts(
        FindingCode::FramesCutOff,
        "frames-cut-off",
        FindingSeverity::Information,
        "frames were cut off (snap length) so early that options may be missing; sizes and times are those of whole frames",
        "keep at least 128 bytes of a frame, so that all TCP options are there",
    ),
    facts(
        FindingCode::HeadersCutOff,
        "headers-cut-off",
        FindingSeverity::Problem,
        "frames were cut off within their headers: their flows cannot be analysed",
        "capture with a snap length of at least 128 bytes",
    ),
    facts(
        FindingCode::TimeBackwards,
        "time-backwards",
        FindingSeverity::Notice,
        "times of frames go backwards: the clock was set, or frames come from several queues",
        "sort the file by time, or capture on one queue",
    ),
    facts(
        FindingCode::DuplicateFrames,
        "duplicate-frames",
        FindingSeverity::Notice,
        "packets were captured twice: as they came to a router or bridge and as they left, by a port that copies frames, or because the way duplicated them; each counts once",
        "none needed; captures on one interface have each packet once, and those of both ends, --sender and --receiver, tell how many the way duplicated",
    ),
    facts(
        FindingCode::FlowsFolded,
        "flows-folded",
        FindingSeverity::Information,
        "there are more flows than are kept one by one: the others are added up",
        "use a filter for the flow in question, or raise the number of flows",
    ),
    facts(
        FindingCode::FlowSplit,
        "flow-split",
        FindingSeverity::Notice,
        "flows were concluded while they were still open, to bound the memory: the rest of them is shown as a flow of its own",
        "use a filter for the flows in question, or raise the number of open flows",
    ),
    facts(
        FindingCode::OneDirection,
        "one-direction",
        FindingSeverity::Notice,
        "only one direction of the flow was captured: the other takes another path, or a filter leaves it out",
        "capture where both directions pass",
    ),
    facts(
        FindingCode::MidFlow,
        "mid-flow",
        FindingSeverity::Information,
        "the capture began in the middle of the connection: options, window scale and relative numbers are unknown",
        "begin to capture before the connection opens",
    ),
    facts(
        FindingCode::SuperPackets,
        "super-packets",
        FindingSeverity::Information,
        "frames are larger than the wire carries: offloads joined several segments",
        "sizes and counts on the wire are computed; for frames as on the wire, capture with TSO, GSO and GRO off, or at a switch",
    ),
    facts(
        FindingCode::ChecksumOffload,
        "checksum-offload",
        FindingSeverity::Information,
        "checksums are incomplete in the capture because the sending host's device computes them: the packets are not damaged",
        "none needed; disable checksum validation in programs that complain",
    ),
    facts(
        FindingCode::NoAnswer,
        "no-answer",
        FindingSeverity::Problem,
        "nothing answered the SYN: a firewall discards it, the host is down, or the answer takes another path",
        "check routes and firewalls on the way to the server",
    ),
    facts(
        FindingCode::Refused,
        "refused",
        FindingSeverity::Problem,
        "a RST answered the SYN: nothing listens there, or a firewall refuses it",
        "check whether the server listens on that address and port",
    ),
    facts(
        FindingCode::NotCompleted,
        "not-completed",
        FindingSeverity::Notice,
        "the SYN-ACK was not acknowledged: its return path is broken, or the client is a scanner",
        "check the route from the server to the client",
    ),
    facts(
        FindingCode::HandshakeRepeated,
        "handshake-repeated",
        FindingSeverity::Problem,
        "a SYN or SYN-ACK was sent again, which costs a second or more: it was lost, or the listen queue was full",
        "look for loss on the path, and at the server's listen queue (nstat TcpExtListenDrops)",
    ),
    facts(
        FindingCode::Reset,
        "reset",
        FindingSeverity::Notice,
        "the connection ended in a RST: data on its way may be lost",
        "check which end sent it; a process that exits with unread data does, and so do firewalls",
    ),
    facts(
        FindingCode::HalfClosed,
        "half-closed",
        FindingSeverity::Information,
        "only one end closed its direction within the capture",
        "",
    ),
    facts(
        FindingCode::NoWindowScaling,
        "no-window-scaling",
        FindingSeverity::Problem,
        "no window scaling: windows are limited to 65 535 bytes, and the rate to that for each round trip",
        "enable net.ipv4.tcp_window_scaling at both ends; look for a middlebox that removes the option",
    ),
    facts(
        FindingCode::NoSack,
        "no-sack",
        FindingSeverity::Notice,
        "selective acknowledgements are not permitted: more than one loss in a window is repaired slowly",
        "enable net.ipv4.tcp_sack at both ends; look for a middlebox that removes the option",
    ),
    facts(
        FindingCode::SmallMss,
        "small-mss",
        FindingSeverity::Notice,
        "an end offers an MSS below 1220 bytes: headers take a larger share",
        "check the interface's MTU and MSS clamping on the way",
    ),
    facts(
        FindingCode::MssClamped,
        "mss-clamped",
        FindingSeverity::Information,
        "the MSS is smaller than that of an Ethernet MTU, and not that of the other end: a tunnel, or a router that clamps it",
        "none needed where a tunnel explains it",
    ),
    facts(
        FindingCode::PathMtu,
        "path-mtu",
        FindingSeverity::Notice,
        "a router reported that packets are too big: the path MTU is smaller than the sender's",
        "none needed when segments became smaller afterwards",
    ),
    facts(
        FindingCode::SegmentsShrank,
        "segments-shrank",
        FindingSeverity::Notice,
        "full segments became smaller within the connection: the sender learnt a smaller path MTU",
        "",
    ),
    facts(
        FindingCode::BlackHole,
        "black-hole",
        FindingSeverity::Problem,
        "full segments are sent again and again while small ones pass, and no ICMP message arrives: a path-MTU black hole is suspected",
        "let ICMP \"packet too big\" pass, clamp the MSS, or set net.ipv4.tcp_mtu_probing=1",
    ),
    facts(
        FindingCode::Fragmented,
        "fragmented",
        FindingSeverity::Notice,
        "IP packets are fragmented: one lost fragment loses the whole",
        "use datagrams that fit the path MTU",
    ),
    facts(
        FindingCode::FragmentsMissing,
        "fragments-missing",
        FindingSeverity::Problem,
        "fragments of packets are missing",
        "use datagrams that fit the path MTU, and look for loss",
    ),
    facts(
        FindingCode::IcmpError,
        "icmp-error",
        FindingSeverity::Notice,
        "ICMP errors refer to packets of the flow",
        "see the type of the error in the frames",
    ),
    facts(
        FindingCode::Retransmissions,
        "retransmissions",
        FindingSeverity::Problem,
        "segments were sent again: loss on the path, or far behind schedule",
        "compare with a capture at the other end to see where segments are lost",
    ),
    facts(
        FindingCode::Outage,
        "outage",
        FindingSeverity::Problem,
        "nothing came from an end for a second or longer, although it was sent to again and again: the path was interrupted, or its host down",
        "look at what the network, or that host, did at that time",
    ),
    facts(
        FindingCode::Timeouts,
        "timeouts",
        FindingSeverity::Problem,
        "segments were sent again after a retransmission timeout: the connection stood still until then",
        "look for bursts of loss, and losses at the end of messages",
    ),
    facts(
        FindingCode::SpuriousRetransmissions,
        "spurious-retransmissions",
        FindingSeverity::Notice,
        "segments were sent again although they had been acknowledged: delays vary widely, or acknowledgements are lost",
        "look for reordering and for queues on the return path",
    ),
    facts(
        FindingCode::OutOfOrder,
        "out-of-order",
        FindingSeverity::Notice,
        "segments arrived out of order",
        "look for parallel paths and link bonding that splits flows",
    ),
    facts(
        FindingCode::SegmentsMissing,
        "segments-missing",
        FindingSeverity::Notice,
        "segments are missing: lost before the point of capture and not sent again within it, or dropped by the capture",
        "look at the drops of the capture; compare with a capture at the sender",
    ),
    facts(
        FindingCode::AckedNotCaptured,
        "acked-not-captured",
        FindingSeverity::Notice,
        "bytes were acknowledged that were never captured: the capture is incomplete",
        "capture with a larger buffer or on all interfaces; counts of this flow are too low",
    ),
    facts(
        FindingCode::ZeroWindow,
        "zero-window",
        FindingSeverity::Problem,
        "a receiver advertised a window of zero: its application reads too slowly",
        "look at the receiving application, and at its buffer sizes",
    ),
    facts(
        FindingCode::WindowFull,
        "window-full",
        FindingSeverity::Notice,
        "the sender filled the largest window that was advertised, again and again: the receiver's window limits the rate",
        "raise net.ipv4.tcp_rmem at the receiver, or its socket's buffer",
    ),
    facts(
        FindingCode::CongestionMarked,
        "congestion-marked",
        FindingSeverity::Notice,
        "packets were marked Congestion Experienced: a queue on the way is congested",
        "expected under load with ECN; the marks replace losses",
    ),
    facts(
        FindingCode::DelayedAckStall,
        "delayed-ack-stall",
        FindingSeverity::Notice,
        "a sender waited for delayed acknowledgements of small segments (Nagle's algorithm)",
        "set TCP_NODELAY, or write each message at once",
    ),
    facts(
        FindingCode::StopAndWait,
        "stop-and-wait",
        FindingSeverity::Information,
        "requests and responses take turns: the round trip, not the capacity, limits the rate",
        "",
    ),
    facts(
        FindingCode::TtlVaries,
        "ttl-varies",
        FindingSeverity::Notice,
        "the time to live varies within one direction: the route changed, or something answers in an end's place",
        "compare routes; look at the frames",
    ),
    facts(
        FindingCode::PortReused,
        "port-reused",
        FindingSeverity::Information,
        "a new connection uses the ports of one before it",
        "",
    ),
    facts(
        FindingCode::DatagramLoss,
        "datagram-loss",
        FindingSeverity::Problem,
        "numbered datagrams are missing at the point of capture",
        "look for drops between the sender and the point of capture",
    ),
    facts(
        FindingCode::DatagramReordering,
        "datagram-reordering",
        FindingSeverity::Notice,
        "numbered datagrams arrived out of order",
        "look for parallel paths and link bonding that splits flows",
    ),
    facts(
        FindingCode::DatagramDuplication,
        "datagram-duplication",
        FindingSeverity::Notice,
        "numbered datagrams arrived more than once",
        "",
    ),
];

impl FindingCode {
    /// Every code of this version.
    pub fn all() -> impl Iterator<Item = Self> {
        CODES.iter().map(|facts| facts.code.clone())
    }

    fn facts(&self) -> Option<&'static CodeFacts> {
        CODES.iter().find(|facts| facts.code == *self)
    }

    /// The code as documents write it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Unknown(name) => name,
            known => known.facts().map_or("", |facts| facts.name),
        }
    }

    /// How much it usually matters.
    #[must_use]
    pub fn severity(&self) -> FindingSeverity {
        self.facts()
            .map_or(FindingSeverity::Notice, |facts| facts.severity)
    }

    /// The meaning of the code, as the reference documents it.
    #[must_use]
    pub fn meaning(&self) -> &'static str {
        self.facts()
            .map_or("a finding of a newer version", |facts| facts.meaning)
    }

    /// The usual remedy; empty where there is none.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        self.facts().map_or("", |facts| facts.remedy)
    }
}

impl fmt::Display for FindingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for FindingCode {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for FindingCode {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = Cow::<'de, str>::deserialize(from)?;
        let known = CODES.iter().find(|facts| facts.name == name);
        Ok(known.map_or_else(
            || Self::Unknown(name.into_owned().into_boxed_str()),
            |facts| facts.code.clone(),
        ))
    }
}

impl JsonSchema for FindingCode {
    fn schema_name() -> Cow<'static, str> {
        "FindingCode".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = CODES.iter().map(|facts| facts.name).collect();
        json_schema!({
            "description": "The stable name of a finding; newer versions may add some.",
            "type": "string",
            "examples": names,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_reads_back_has_a_meaning_and_a_name_in_kebab_case() {
        for code in FindingCode::all() {
            let text = serde_json::to_string(&code).unwrap();
            assert_eq!(serde_json::from_str::<FindingCode>(&text).unwrap(), code);
            assert!(!code.meaning().is_empty());
            assert!(
                code.name()
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c == '-')
            );
        }
    }

    #[test]
    fn a_code_of_a_newer_version_survives() {
        let code: FindingCode = serde_json::from_str("\"too-dark\"").unwrap();
        assert_eq!(serde_json::to_string(&code).unwrap(), "\"too-dark\"");
    }
}
