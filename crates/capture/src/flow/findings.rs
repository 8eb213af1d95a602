//! The rules by which a flow gives findings.

use super::state::{FlowKindState, FlowState};
use crate::evidence::EvidenceLog;
use crate::model::{
    CapturedDirection, CapturedFlow, Finding, FindingCode, FindingSeverity, HandshakeKind,
    RecognisedProtocol, TcpAnalysis, TcpDirectionAnalysis, TcpEndingKind, TcpOffer,
    UdpDirectionAnalysis,
};
use crate::tcp::{PathMtuWatch, TcpHalf, TcpTracker};

/// The MSS of an Ethernet MTU with IPv4 and IPv6.
const ETHERNET_MSS: [u16; 2] = [1460, 1440];
/// Minimum MSS for an ordinary share of headers: that of IPv6's minimum MTU (RFC 8200 section 5).
const SMALL_MSS: u16 = 1220;
/// Minimum timeouts of one large segment for a finding on its path: Linux suspects the MTU after as many (`tcp_retries1`).
const MIN_BLACK_HOLE_TIMEOUTS: u64 = 3;
/// Minimum times that the largest window was filled for a finding: a slow start fills each window once, before the receiver raises it.
const MIN_WINDOWS_FILLED: u64 = 2;
/// Minimum exchanges for a finding on a pattern.
const MIN_EXCHANGES: u64 = 10;

/// The findings about one flow, in the order of their rules.
struct FlowFindings<'a> {
    flow: &'a CapturedFlow,
    found: Vec<Finding>,
}

impl FlowState {
    /// The findings about this flow, whose document is `flow`.
    pub(crate) fn findings(&self, flow: &CapturedFlow) -> Vec<Finding> {
        let mut findings = FlowFindings {
            flow,
            found: Vec::new(),
        };
        findings.of_packets(self);
        if let (FlowKindState::Tcp(tracker), Some(tcp)) = (&self.kind, &flow.tcp) {
            findings.of_handshake(tracker, tcp);
            findings.of_ending(tracker, tcp);
            let flow_ns = self.last_ns.saturating_sub(self.first_ns);
            let (client, server) = (&tracker.client, &tracker.server);
            for (name, half, other) in [("client", client, server), ("server", server, client)] {
                if let Some(watch) = &half.path_mtu {
                    findings.of_path(name, watch, other.is_heard_again(flow_ns));
                }
            }
            findings.of_silence(tracker, flow_ns);
            findings.of_recovery(tracker, tcp);
            findings.of_windows(tracker, tcp);
            findings.of_offloads(tracker, tcp);
            findings.of_pattern(tracker, tcp);
        }
        if let Some(udp) = &flow.udp {
            findings.of_datagrams("client", &udp.to_server, flow.application);
            findings.of_datagrams("server", &udp.to_client, flow.application);
        }
        findings.found
    }
}

impl FlowFindings<'_> {
    fn push(&mut self, mut finding: Finding) {
        finding.flow = Some(self.flow.number);
        self.found.push(finding);
    }

    fn add(&mut self, code: FindingCode, message: String) {
        let mut finding = Finding::new(code, message);
        finding.frames = vec![self.flow.first_frame];
        self.push(finding);
    }

    /// A finding with the frames of the log, when the log has any.
    fn seen(&mut self, log: &EvidenceLog, code: FindingCode, message: impl Fn(u64) -> String) {
        if let Some(evidence) = log.of(&code) {
            let message = message(evidence.count);
            self.push(log.finding(code, message));
        }
    }

    fn of_packets(&mut self, state: &FlowState) {
        let log = &state.evidence;
        self.seen(log, FindingCode::CongestionMarked, |n| {
            format!("{n} packets carry Congestion Experienced")
        });
        self.seen(log, FindingCode::Fragmented, |n| {
            format!("{n} frames hold fragments of IP packets")
        });
        self.seen(log, FindingCode::FragmentsMissing, |n| {
            format!("{n} fragmented packets are incomplete")
        });
        self.seen(log, FindingCode::IcmpError, |n| {
            format!("{n} ICMP errors are about packets of this flow")
        });
        self.seen(log, FindingCode::PathMtu, |n| {
            format!("{n} ICMP messages say that packets are too big")
        });
        if state.given_up {
            self.add(
                FindingCode::FlowSplit,
                "the flow was concluded while it was open, to bound the memory".to_owned(),
            );
        }
        if state.reuses_ports {
            self.add(
                FindingCode::PortReused,
                "the ports are those of an earlier connection".to_owned(),
            );
        }
        let flow = self.flow;
        for (name, side) in [("client", &flow.to_server), ("server", &flow.to_client)] {
            self.of_ttl(name, side);
        }
        if is_one_sided(flow) {
            let present = if flow.to_client.frames == 0 {
                "client"
            } else {
                "server"
            };
            self.add(
                FindingCode::OneDirection,
                format!(
                    "only packets of the {present} were captured: round trips, duplicate ACKs, what was lost behind the capture and how the connection ended cannot be determined"
                ),
            );
        }
    }

    fn of_ttl(&mut self, name: &str, side: &CapturedDirection) {
        if let (Some(min), Some(max)) = (side.ttl_min, side.ttl_max)
            && min != max
        {
            self.add(
                FindingCode::TtlVaries,
                format!("the TTL of the {name}'s packets varies from {min} to {max}"),
            );
        }
    }

    fn of_handshake(&mut self, tracker: &TcpTracker, tcp: &TcpAnalysis) {
        let handshake = &tcp.handshake;
        let repeats = handshake.syn_retransmits + handshake.syn_ack_retransmits;
        match handshake.kind {
            HandshakeKind::NoAnswer => self.add(
                FindingCode::NoAnswer,
                format!("nothing answered {} SYN", repeats + 1),
            ),
            HandshakeKind::Refused => self.add(
                FindingCode::Refused,
                format!("{} refused the connection", self.flow.server),
            ),
            HandshakeKind::NotCompleted if is_one_sided(self.flow) => {}
            HandshakeKind::NotCompleted => self.add(
                FindingCode::NotCompleted,
                "the SYN-ACK was not acknowledged".to_owned(),
            ),
            HandshakeKind::SynNotCaptured if is_one_sided(self.flow) => {}
            HandshakeKind::NotCaptured | HandshakeKind::SynNotCaptured => {
                self.add(
                    FindingCode::MidFlow,
                    "the connection was open when the capture began".to_owned(),
                );
            }
            HandshakeKind::Complete
            | HandshakeKind::Simultaneous
            | HandshakeKind::AnswerNotCaptured => {}
        }
        if repeats > 0 && handshake.kind != HandshakeKind::NoAnswer {
            let (syn, answer) = (handshake.syn_retransmits, handshake.syn_ack_retransmits);
            let mut finding = tracker.evidence.finding(
                FindingCode::HandshakeRepeated,
                format!("SYNs sent again: {syn}; SYN-ACKs sent again: {answer}"),
            );
            finding.count = repeats;
            self.push(finding);
        }
        if let (Some(client), Some(server)) = (&handshake.client, &handshake.server) {
            self.of_offers(client, server);
        }
    }

    fn of_offers(&mut self, client: &TcpOffer, server: &TcpOffer) {
        let lacking = |has: &dyn Fn(&TcpOffer) -> bool| match (has(client), has(server)) {
            (true, true) => None,
            (true, false) => Some("the server"),
            (false, true) => Some("the client"),
            (false, false) => Some("neither end"),
        };
        let verb = |who: &str| {
            if who == "neither end" {
                "offers"
            } else {
                "does not offer"
            }
        };
        if let Some(who) = lacking(&|offer| offer.window_scale.is_some()) {
            self.add(
                FindingCode::NoWindowScaling,
                format!("{who} {} window scaling", verb(who)),
            );
        }
        if let Some(who) = lacking(&|offer| offer.sack_permitted) {
            self.add(
                FindingCode::NoSack,
                format!("{who} {} selective acknowledgements", verb(who)),
            );
        }
        let (Some(one), Some(other)) = (client.mss_bytes, server.mss_bytes) else {
            return;
        };
        let smaller = one.min(other);
        if smaller < SMALL_MSS {
            self.add(
                FindingCode::SmallMss,
                format!("the smaller MSS is {smaller} B"),
            );
        } else if one != other && smaller < ETHERNET_MSS[1] {
            self.add(
                FindingCode::MssClamped,
                format!("the client offers an MSS of {one} B, the server {other} B"),
            );
        }
    }

    fn of_ending(&mut self, tracker: &TcpTracker, tcp: &TcpAnalysis) {
        match tcp.ending.kind {
            TcpEndingKind::Reset if tcp.handshake.kind != HandshakeKind::Refused => {
                let by = match tcp.ending.reset_by_client {
                    Some(true) => "client",
                    _ => "server",
                };
                self.seen(&tracker.evidence, FindingCode::Reset, |_| {
                    format!("the {by} reset the connection")
                });
            }
            TcpEndingKind::HalfClosed => {
                let by = match tcp.ending.client_fin_frame {
                    Some(_) => "client",
                    None => "server",
                };
                self.add(
                    FindingCode::HalfClosed,
                    format!("only the {by} closed its direction"),
                );
            }
            _ => {}
        }
    }

    /// Path MTU: what ICMP reported, and what silence suggests.
    /// What the path made of large segments of an end; `is_heard_again` where the other was silent altogether, and is not any more.
    fn of_path(&mut self, name: &str, watch: &PathMtuWatch, is_heard_again: bool) {
        let repeated = &watch.most_repeated;
        let is_outage = is_heard_again && watch.shrunk.is_none();
        let is_suspect = watch.reported.is_none() && !is_outage;
        if is_suspect && repeated.timeouts >= MIN_BLACK_HOLE_TIMEOUTS {
            let times = repeated.timeouts;
            let message = format!(
                "the {name} sent a large segment again after {times} timeouts without an acknowledgement, and no ICMP message came"
            );
            let mut finding = Finding::new(FindingCode::BlackHole, message);
            (finding.frames, finding.count) = (repeated.frames(), times);
            self.push(finding);
        }
        let Some(shrunk) = watch.shrunk else { return };
        let after = shrunk.payload;
        let message = match (watch.reported, shrunk.before_bytes) {
            (Some(report), None) => {
                let size = report.packet_bytes;
                let mtu = report
                    .mtu
                    .map_or_else(String::new, |mtu| format!(" and the MTU {mtu} B"));
                format!(
                    "after ICMP reported that a packet of {size} B is too big{mtu}, the {name} sent its segment again with {after} B"
                )
            }
            (report, Some(before)) if shrunk.acknowledged => {
                let (times, silence) = (shrunk.timeouts, "; no ICMP message came");
                let silence = if report.is_none() { silence } else { "" };
                format!(
                    "after {times} timeouts the {name} sent a segment of {before} B again with {after} B, which was acknowledged{silence}"
                )
            }
            _ => return,
        };
        let mut finding = Finding::new(FindingCode::SegmentsShrank, message);
        finding.frames = vec![shrunk.frame];
        self.push(finding);
    }

    fn of_recovery(&mut self, tracker: &TcpTracker, tcp: &TcpAnalysis) {
        let log = &tracker.evidence;
        let is_one_sided = is_one_sided(self.flow);
        let sum =
            |of: &dyn Fn(&TcpDirectionAnalysis) -> u64| of(&tcp.to_server) + of(&tcp.to_client);
        let data = sum(&|side| side.data_frames).max(1);
        let share = |n: u64| {
            format!(
                "{n} of {data} data frames ({:.2} %)",
                n as f64 * 100.0 / data as f64
            )
        };
        let again = sum(&|side| side.retransmissions.fast + side.retransmissions.other);
        self.seen(log, FindingCode::Retransmissions, |_| {
            let fast = sum(&|side| side.retransmissions.fast);
            let share = share(again);
            match is_one_sided {
                true => format!(
                    "{share} were sent again; the ACKs that would say why were not captured"
                ),
                false => {
                    format!("{share} were sent again, {fast} of them after duplicate ACKs")
                }
            }
        });
        self.seen(log, FindingCode::Timeouts, |n| {
            format!("{} were sent again after a timeout", share(n))
        });
        self.seen(log, FindingCode::SpuriousRetransmissions, |n| {
            format!(
                "{} were sent again after they had been acknowledged",
                share(n)
            )
        });
        self.seen(log, FindingCode::OutOfOrder, |n| {
            format!("{} arrived out of order", share(n))
        });
        let missing = tcp.to_server.missing_bytes.get() + tcp.to_client.missing_bytes.get();
        self.seen(log, FindingCode::SegmentsMissing, |n| {
            format!("{n} gaps in the sequence numbers; {missing} B of payload were never captured")
        });
        self.seen(log, FindingCode::AckedNotCaptured, |n| {
            format!("{n} acknowledgements are of bytes that were not captured")
        });
    }

    /// The times in which an end was not heard.
    fn of_silence(&mut self, tracker: &TcpTracker, flow_ns: u64) {
        let ends = [
            ("server", "client", &tracker.server, &tracker.client),
            ("client", "server", &tracker.client, &tracker.server),
        ];
        for (name, other, half, sender) in ends {
            let Some((count, longest)) = half.silence.finish(flow_ns) else {
                continue;
            };
            // An end that gets no segment because they are too large is silent as well.
            let watch = sender.path_mtu.as_ref();
            if watch.is_some_and(|watch| watch.shrunk.is_some() || watch.reported.is_some()) {
                continue;
            }
            let s = |ns: u64| ns as f64 / 1e9;
            let from_s = s(longest.from_ns);
            let when = match longest.to_ns {
                Some(to_ns) => format!("from {from_s:.1} to {:.1} s", s(to_ns)),
                None => format!("from {from_s:.1} s on"),
            };
            let more = match count {
                1 => String::new(),
                count => format!(", the longest of {count} such times"),
            };
            let message = format!(
                "nothing came from the {name} {when} after the first frame, while the {other} sent {} segments again{more}",
                longest.repeated
            );
            let mut finding = Finding::new(FindingCode::Outage, message);
            finding.frames = vec![longest.frame];
            finding.count = count;
            self.push(finding);
        }
    }

    fn of_windows(&mut self, tracker: &TcpTracker, tcp: &TcpAnalysis) {
        let log = &tracker.evidence;
        let by = |client: u64, server: u64| match (client, server) {
            (0, _) => "the server",
            (_, 0) => "the client",
            _ => "both ends",
        };
        let (client, server) = (&tcp.to_server.window, &tcp.to_client.window);
        self.seen(log, FindingCode::ZeroWindow, |n| {
            format!(
                "{} advertised a window of zero {n} times",
                by(client.zero_windows, server.zero_windows)
            )
        });
        let filled = |half: &TcpHalf| half.counts.largest_window_filled >= MIN_WINDOWS_FILLED;
        if filled(&tracker.client) || filled(&tracker.server) {
            self.seen(log, FindingCode::WindowFull, |n| {
                format!(
                    "the window of {} was filled {n} times",
                    by(client.filled, server.filled)
                )
            });
        }
    }

    fn of_offloads(&mut self, tracker: &TcpTracker, tcp: &TcpAnalysis) {
        let largest = tcp
            .to_server
            .segmentation
            .max_frame_bytes
            .max(tcp.to_client.segmentation.max_frame_bytes);
        let supers =
            tcp.to_server.segmentation.super_packets + tcp.to_client.segmentation.super_packets;
        if supers > 0 {
            let mut finding = tracker.evidence.finding(
                FindingCode::SuperPackets,
                format!("{supers} frames hold more than one segment, the largest has {largest} B"),
            );
            finding.count = supers;
            self.push(finding);
        }
        for (name, side) in [("client", &tcp.to_server), ("server", &tcp.to_client)] {
            let frames = side.data_frames + side.pure_acks;
            if side.partial_checksums > 0 && side.partial_checksums * 2 > frames {
                let n = side.partial_checksums;
                self.add(
                    FindingCode::ChecksumOffload,
                    format!("{n} frames of the {name} have a checksum that its device completed after the capture"),
                );
            }
        }
    }

    fn of_pattern(&mut self, tracker: &TcpTracker, tcp: &TcpAnalysis) {
        self.seen(&tracker.evidence, FindingCode::DelayedAckStall, |n| {
            format!("{n} segments were sent as soon as a delayed acknowledgement came")
        });
        if let Some(responses) = &tcp.responses
            && responses.stop_and_wait
            && responses.exchanges >= MIN_EXCHANGES
        {
            let median = responses
                .response
                .and_then(|times| times.p50_us)
                .unwrap_or(0.0);
            let n = responses.exchanges;
            self.add(
                FindingCode::StopAndWait,
                format!("{n} exchanges of a request and its response took turns; half of the responses took less than {median:.0} µs"),
            );
        }
    }

    fn of_datagrams(
        &mut self,
        name: &str,
        side: &UdpDirectionAnalysis,
        protocol: Option<RecognisedProtocol>,
    ) {
        let Some(numbers) = &side.numbers else { return };
        let share = |n: u64| {
            format!(
                "{n} of {} ({:.2} %)",
                numbers.expected,
                n as f64 * 100.0 / numbers.expected.max(1) as f64
            )
        };
        if numbers.lost > max_unused(protocol, numbers.expected) {
            let mut finding = Finding::new(
                FindingCode::DatagramLoss,
                format!(
                    "{} datagrams of the {name} are missing",
                    share(numbers.lost)
                ),
            );
            finding.count = numbers.lost;
            self.push(finding);
        }
        if numbers.reordered > 0 {
            let mut finding = Finding::new(
                FindingCode::DatagramReordering,
                format!(
                    "{} datagrams of the {name} came out of order",
                    share(numbers.reordered)
                ),
            );
            finding.count = numbers.reordered;
            self.push(finding);
        }
        if numbers.duplicates > 0 {
            let mut finding = Finding::new(
                FindingCode::DatagramDuplication,
                format!(
                    "{} datagrams of the {name} came more than once",
                    share(numbers.duplicates)
                ),
            );
            finding.count = numbers.duplicates;
            finding.severity = FindingSeverity::Notice;
            self.push(finding);
        }
    }
}

/// `true` for a connection of which one direction alone was captured, and that was more than an attempt to open it.
fn is_one_sided(flow: &CapturedFlow) -> bool {
    let Some(tcp) = &flow.tcp else { return false };
    let is_one_way = flow.to_server.frames == 0 || flow.to_client.frames == 0;
    let is_attempt = matches!(
        tcp.handshake.kind,
        HandshakeKind::NoAnswer | HandshakeKind::Refused
    );
    // SYN-ACKs alone are those of a server whose client does not take them, or is not captured.
    let frames = flow.to_server.frames + flow.to_client.frames;
    let is_answer_alone = tcp.handshake.kind == HandshakeKind::SynNotCaptured
        && frames == 1 + tcp.handshake.syn_ack_retransmits;
    let is_reset_alone = frames == 1 && tcp.ending.kind == TcpEndingKind::Reset;
    is_one_way && !is_attempt && !is_answer_alone && !is_reset_alone
}

/// Maximum number of numbers among `expected` that a protocol leaves out without a datagram being missing.
///
/// A sender of RBT skips one after 64 to 575 packets and then after each 256 to 1279: spec/rbt.md section 6.1.
fn max_unused(protocol: Option<RecognisedProtocol>, expected: u64) -> u64 {
    match protocol {
        Some(RecognisedProtocol::Rbt) if expected > 64 => 1 + (expected - 64) / 256,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_rbt_skips_are_not_missing() {
        let rbt = Some(RecognisedProtocol::Rbt);
        let cases = [(10, 0), (64, 0), (716, 3), (65_600, 257)];
        assert_eq!(
            cases.map(|(n, _)| max_unused(rbt, n)),
            cases.map(|(_, max)| max)
        );
        assert_eq!(max_unused(Some(RecognisedProtocol::CaudalUdp), 716), 0);
    }
}
