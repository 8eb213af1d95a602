//! The state of a flow.

use super::key::FlowTuple;
use super::recognise::{is_iperf3_control, recognise_first};
use crate::dissect::{IcmpError, IcmpErrorKind, IpPacket, TcpFlags, TcpHeader};
use crate::evidence::EvidenceLog;
use crate::model::{FindingCode, FlowRoles, FrameDirection, RecognisedProtocol};
use crate::read::{FrameOrigin, GsoRecord};
use crate::tcp::{ReportedMtu, SegmentOutcome, TcpTracker, TrackedSegment};
use crate::udp::{TrackedDatagram, UdpTracker};

/// What is known of when a frame was captured, beside its time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FrameMoment {
    /// The number of its capture, over all files.
    pub(crate) capture: u32,
    /// Steps of the clock before it.
    pub(crate) epoch: u32,
    /// The file has a time for it.
    pub(crate) is_timed: bool,
}

/// One frame of a flow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlowFrame<'a> {
    pub(crate) frame: u64,
    pub(crate) at_ns: u64,
    /// From the link header on.
    pub(crate) bytes: u32,
    /// Bytes in front of IP beside the header of the link.
    pub(crate) encapsulation_bytes: u32,
    pub(crate) moment: FrameMoment,
    pub(crate) ip: &'a IpPacket<'a>,
    pub(crate) origin: FrameOrigin,
    pub(crate) gso: Option<GsoRecord>,
}

/// One direction of a flow, whatever its transport.
#[derive(Debug, Clone, Default)]
pub(crate) struct DirectionTraffic {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    pub(crate) payload: u64,
    pub(crate) max_frame: u32,
    pub(crate) ttl: Option<(u8, u8)>,
    pub(crate) df: u64,
    pub(crate) fragments: u64,
    /// The DSCP of the first frame, and how many have it.
    pub(crate) first_dscp: (u8, u64),
    /// Other values.
    pub(crate) other_dscp: Vec<(u8, u64)>,
    pub(crate) ecn: [u64; 4],
    pub(crate) first: Option<(u64, u64)>,
    pub(crate) last_ns: u64,
}

/// What is kept for the transport.
#[derive(Debug, Clone)]
pub(crate) enum FlowKindState {
    Tcp(Box<TcpTracker>),
    Udp(Box<UdpTracker>),
    Plain,
}

/// The state of a flow.
#[derive(Debug, Clone)]
pub(crate) struct FlowState {
    pub(crate) number: u64,
    pub(crate) tuple: FlowTuple,
    pub(crate) client_is_low: bool,
    pub(crate) roles: FlowRoles,
    pub(crate) first_frame: u64,
    pub(crate) last_frame: u64,
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
    pub(crate) to_server: DirectionTraffic,
    pub(crate) to_client: DirectionTraffic,
    pub(crate) application: Option<RecognisedProtocol>,
    pub(crate) icmp_errors: u64,
    pub(crate) evidence: EvidenceLog,
    pub(crate) kind: FlowKindState,
    /// The ports were those of a connection before it.
    pub(crate) reuses_ports: bool,
    /// It was concluded to bound the memory.
    pub(crate) given_up: bool,
    /// The capture of its latest frame.
    pub(crate) capture: u32,
    pub(crate) times: FlowTimeDoubt,
}

/// What is known of the times of a flow.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FlowTimeDoubt {
    /// Steps of the clock before its latest frame.
    epoch: u32,
    /// The clock was set between two of its frames.
    pub(crate) is_stepped: bool,
    /// Its frames without a time.
    pub(crate) untimed: u64,
}

impl DirectionTraffic {
    #[inline]
    fn frame(&mut self, frame: &FlowFrame<'_>) {
        let ip = frame.ip;
        self.frames += 1;
        self.bytes += u64::from(frame.bytes);
        self.max_frame = self.max_frame.max(frame.bytes);
        let (min, max) = self.ttl.unwrap_or((ip.ttl, ip.ttl));
        self.ttl = Some((min.min(ip.ttl), max.max(ip.ttl)));
        self.df += u64::from(ip.df);
        self.fragments += u64::from(ip.fragment.is_some());
        self.ecn[usize::from(ip.tos & 3)] += 1;
        let dscp = ip.tos >> 2;
        if self.first.is_none() {
            self.first_dscp.0 = dscp;
        }
        if self.first_dscp.0 == dscp {
            self.first_dscp.1 += 1;
        } else if let Some(known) = self.other_dscp.iter_mut().find(|known| known.0 == dscp) {
            known.1 += 1;
        } else {
            self.other_dscp.push((dscp, 1));
        }
        self.first = self.first.or(Some((frame.frame, frame.at_ns)));
        self.last_ns = frame.at_ns;
    }
}

impl FlowState {
    /// A flow that begins with this frame. `tcp` is its header, where it has one.
    pub(crate) fn new(
        number: u64,
        tuple: FlowTuple,
        from_low: bool,
        frame: &FlowFrame<'_>,
        tcp: Option<&TcpHeader>,
    ) -> Self {
        let syn = tcp.is_some_and(|tcp| tcp.flags.any(TcpFlags::SYN));
        // A SYN-ACK comes from the server.
        let answers = syn && tcp.is_some_and(|tcp| tcp.flags.any(TcpFlags::ACK));
        Self {
            number,
            tuple,
            client_is_low: from_low != answers,
            roles: match syn {
                true => FlowRoles::Handshake,
                false => FlowRoles::FirstFrame,
            },
            first_frame: frame.frame,
            last_frame: frame.frame,
            first_ns: frame.at_ns,
            last_ns: frame.at_ns,
            to_server: DirectionTraffic::default(),
            to_client: DirectionTraffic::default(),
            application: None,
            icmp_errors: 0,
            evidence: EvidenceLog::default(),
            kind: match tuple.protocol {
                6 => FlowKindState::Tcp(Box::default()),
                17 => FlowKindState::Udp(Box::default()),
                _ => FlowKindState::Plain,
            },
            reuses_ports: false,
            given_up: false,
            capture: frame.moment.capture,
            times: FlowTimeDoubt {
                epoch: frame.moment.epoch,
                ..FlowTimeDoubt::default()
            },
        }
    }

    /// The direction of a packet.
    #[inline]
    pub(crate) fn direction(&self, from_low: bool) -> FrameDirection {
        match from_low == self.client_is_low {
            true => FrameDirection::ToServer,
            false => FrameDirection::ToClient,
        }
    }

    #[inline]
    fn side(&mut self, direction: FrameDirection) -> &mut DirectionTraffic {
        match direction {
            FrameDirection::ToServer => &mut self.to_server,
            FrameDirection::ToClient => &mut self.to_client,
        }
    }

    /// Counts a frame, whatever is in it.
    #[inline]
    pub(crate) fn frame(&mut self, direction: FrameDirection, frame: &FlowFrame<'_>) {
        self.last_frame = frame.frame;
        self.last_ns = self.last_ns.max(frame.at_ns);
        self.capture = frame.moment.capture;
        self.times.untimed += u64::from(!frame.moment.is_timed);
        if frame.moment.epoch != self.times.epoch {
            self.clock_was_set(frame.moment.epoch);
        }
        self.side(direction).frame(frame);
        if frame.ip.tos & 3 == 3 {
            self.evidence
                .note(FindingCode::CongestionMarked, frame.frame);
        }
        if frame.ip.fragment.is_some() {
            self.evidence.note(FindingCode::Fragmented, frame.frame);
        }
    }

    /// The clock was set since the flow's latest frame: no time between one before and one after is known.
    fn clock_was_set(&mut self, epoch: u32) {
        self.times.epoch = epoch;
        self.times.is_stepped = true;
        match &mut self.kind {
            FlowKindState::Tcp(tracker) => tracker.forget_times(),
            FlowKindState::Udp(tracker) => tracker.forget_times(),
            FlowKindState::Plain => {}
        }
    }

    /// `true` when a packet that opens a connection is that of another one: it is in another capture than the handshake before it.
    #[inline]
    pub(crate) fn is_opened_again(&self, frame: &FlowFrame<'_>) -> bool {
        frame.moment.capture != self.capture
            && matches!(&self.kind, FlowKindState::Tcp(tracker) if tracker.is_open())
    }

    /// The smallest round-trip time known, ns.
    pub(crate) fn min_rtt_ns(&self) -> Option<u64> {
        match &self.kind {
            FlowKindState::Tcp(tracker) => tracker.min_rtt_ns(),
            _ => None,
        }
    }

    /// Takes in a segment of `payload_bytes`, of which `payload` was kept.
    #[inline]
    pub(crate) fn segment(
        &mut self,
        direction: FrameDirection,
        frame: &FlowFrame<'_>,
        header: &TcpHeader,
        payload_bytes: u32,
        payload: &[u8],
    ) -> Option<SegmentOutcome> {
        let is_first = self.side(direction).payload == 0;
        self.side(direction).payload += u64::from(payload_bytes);
        if is_first && payload_bytes > 0 {
            self.recognise(direction, payload, payload_bytes);
        }
        let FlowKindState::Tcp(tracker) = &mut self.kind else {
            return None;
        };
        Some(tracker.segment(
            direction,
            &TrackedSegment {
                frame: frame.frame,
                at_ns: frame.at_ns,
                since_start_ns: frame.at_ns.saturating_sub(self.first_ns),
                header,
                ip: frame.ip,
                payload_bytes,
                frame_bytes: frame.bytes,
                encapsulation_bytes: frame.encapsulation_bytes,
                origin: frame.origin,
                gso: frame.gso,
            },
        ))
    }

    fn recognise(&mut self, direction: FrameDirection, payload: &[u8], bytes: u32) {
        let answers = direction == FrameDirection::ToClient;
        if self.application == Some(RecognisedProtocol::Iperf3Data)
            && answers
            && is_iperf3_control(payload, bytes)
        {
            self.application = Some(RecognisedProtocol::Iperf3Control);
        }
        if self.application.is_none() {
            self.application = recognise_first(direction, payload);
        }
    }

    /// Takes in a datagram of `payload_bytes`, of which `payload` was kept.
    #[inline]
    pub(crate) fn datagram(&mut self, direction: FrameDirection, datagram: &TrackedDatagram<'_>) {
        self.side(direction).payload += u64::from(datagram.payload_bytes);
        if let FlowKindState::Udp(tracker) = &mut self.kind {
            tracker.datagram(direction, datagram);
        }
    }

    /// Takes in an ICMP error about a packet of this flow.
    pub(crate) fn icmp_error(&mut self, direction: FrameDirection, error: &IcmpError, frame: u64) {
        self.icmp_errors += 1;
        let IcmpErrorKind::TooBig { mtu } = error.kind else {
            self.evidence.note(FindingCode::IcmpError, frame);
            return;
        };
        self.evidence.note(FindingCode::PathMtu, frame);
        if let FlowKindState::Tcp(tracker) = &mut self.kind {
            let half = match direction {
                FrameDirection::ToServer => &mut tracker.client,
                FrameDirection::ToClient => &mut tracker.server,
            };
            half.path_mtu.get_or_insert_default().report(ReportedMtu {
                mtu: (mtu > 0).then_some(mtu),
                packet_bytes: error.packet_bytes,
                seq: error.seq,
            });
        }
    }

    /// A fragment of a datagram never came.
    pub(crate) fn fragments_missing(&mut self, direction: FrameDirection, frame: u64) {
        self.evidence.note(FindingCode::FragmentsMissing, frame);
        if let FlowKindState::Udp(tracker) = &mut self.kind {
            match direction {
                FrameDirection::ToServer => tracker.client.incomplete += 1,
                FrameDirection::ToClient => tracker.server.incomplete += 1,
            }
        }
    }

    /// `true` when both ends have closed, or one reset it.
    pub(crate) fn is_over(&self) -> bool {
        matches!(&self.kind, FlowKindState::Tcp(tracker) if tracker.is_over())
    }
}
