//! One frame after the other: links, IP, transports, flows.

use super::clock::{FrameClock, TimeStep};
use super::flows::Flows;
use super::totals::Totals;
use crate::bytes::be16;
use crate::copies::{CapturedAt, CopyDetector, PacketCopy, PacketIdentity};
use crate::detail::DetailFrame;
use crate::dissect::{
    FragmentPart, IpFault, IpPacket, Layers, LinkPayload, TcpFault, TcpHeader, innermost,
    may_carry_another, read_icmp_error, read_ip, read_link, read_tcp,
};
use crate::filter::CaptureFilter;
use crate::flow::{FlowFrame, FlowTuple, FrameMoment, TupleEnd};
use crate::fragments::{FragmentStep, FragmentTable, WaitingPacket};
use crate::model::FindingCode;
use crate::options::AnalysisOptions;
use crate::read::{CapturedFrame, FrameOrigin};
use crate::udp::TrackedDatagram;

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;

/// What all frames of a capture have shown so far.
#[derive(Debug)]
pub(crate) struct FrameAnalysis {
    filter: CaptureFilter,
    filters_ends: bool,
    pub(crate) totals: Totals,
    pub(crate) flows: Flows,
    fragments: FragmentTable,
    pub(crate) clock: FrameClock,
    copies: CopyDetector,
    /// Packets that were captured again at the same point, or at one that the file does not distinguish.
    pub(crate) again: u64,
    /// Captures before the present one, over all files.
    captures: u32,
    /// The number of the present one within its file.
    capture_in_file: u32,
    /// No frame of the present capture was seen yet.
    begins: bool,
    /// The latest steps of the clock.
    pub(crate) steps: ClockSteps,
}

/// Where the clock was set.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ClockSteps {
    /// By how much, ns, the first time.
    pub(crate) first_ns: i64,
    /// Those between two captures.
    pub(crate) between_captures: u64,
}

impl FrameAnalysis {
    pub(crate) fn new(options: &AnalysisOptions) -> Self {
        Self {
            filter: options.filter.clone(),
            filters_ends: options.filter.is_about_ends(),
            totals: Totals::default(),
            flows: Flows::new(options),
            fragments: FragmentTable::default(),
            clock: FrameClock::default(),
            copies: CopyDetector::default(),
            again: 0,
            captures: 0,
            capture_in_file: 0,
            begins: false,
            steps: ClockSteps::default(),
        }
    }

    /// Begins the next file.
    pub(crate) fn begin_file(&mut self) {
        self.capture_in_file = 0;
        self.begin_capture();
    }

    fn begin_capture(&mut self) {
        self.captures = self.captures.saturating_add(1);
        self.begins = true;
    }

    /// The time of a frame, and what is known of it.
    #[inline]
    fn moment(&mut self, frame: &CapturedFrame<'_>, number: u64) -> (u64, FrameMoment) {
        if frame.capture != self.capture_in_file {
            self.capture_in_file = frame.capture;
            self.begin_capture();
            self.totals.evidence.note(FindingCode::Concatenated, number);
        }
        let (at_ns, step) = self.clock.read(frame.at_ns);
        if number == 1 {
            self.flows.start_ns = at_ns;
        }
        match step {
            TimeStep::Steady => {}
            TimeStep::Backwards => {
                self.totals
                    .evidence
                    .note(FindingCode::TimeBackwards, number);
            }
            TimeStep::Missing => self.totals.evidence.note(FindingCode::NoTimes, number),
            TimeStep::Set(by_ns) => self.clock_was_set(by_ns, number),
        }
        self.begins = false;
        let moment = FrameMoment {
            capture: self.captures,
            epoch: self.clock.epoch,
            is_timed: step != TimeStep::Missing,
        };
        (at_ns, moment)
    }

    /// The clock was set, or a capture begins that has nothing to do with the one before.
    fn clock_was_set(&mut self, by_ns: i64, number: u64) {
        if self.totals.evidence.of(&FindingCode::ClockSet).is_none() {
            self.steps.first_ns = by_ns;
        }
        self.totals.evidence.note(FindingCode::ClockSet, number);
        self.copies.forget();
        if self.begins {
            self.steps.between_captures += 1;
            self.flows.conclude_all();
        }
    }

    /// Takes in the next frame.
    #[inline]
    pub(crate) fn frame(&mut self, frame: &CapturedFrame<'_>) {
        let number = self.totals.next_number();
        let (at_ns, moment) = self.moment(frame, number);
        if !self
            .filter
            .takes_time(at_ns.saturating_sub(self.flows.start_ns))
        {
            self.totals.filtered += 1;
            return;
        }
        let link = read_link(frame.link_type, frame.data);
        let found = match link.payload {
            LinkPayload::Ip(found) => found,
            other => return self.without_ip(frame, at_ns, number, other),
        };
        let original = frame.original_bytes.saturating_sub(found.header_bytes);
        let mut ip = match read_ip(found.packet, original) {
            Ok(ip) => ip,
            Err(fault) => return self.unreadable(frame, at_ns, number, fault == IpFault::CutOff),
        };
        let (mut encapsulation_bytes, mut layers) = (found.encapsulation_bytes, found.layers);
        let mut depth = 0;
        if may_carry_another(&ip)
            && let Some(inner) = innermost(&ip)
        {
            encapsulation_bytes += inner.encapsulation_bytes;
            (ip, layers, depth) = (inner.ip, layers | inner.layers, inner.depth);
        }
        if self.filters_ends && !self.takes(&ip) {
            self.totals.filtered += 1;
            return;
        }
        let origin = match frame.origin {
            FrameOrigin::Unknown => link.origin,
            known => known,
        };
        let interface = frame.interface.wrapping_add(link.interface);
        if self.is_copy(&ip, CapturedAt::new(interface, origin, depth), at_ns) {
            self.totals.copies += 1;
            self.totals
                .evidence
                .note(FindingCode::DuplicateFrames, number);
            return;
        }
        self.totals
            .frame(at_ns, frame.original_bytes, frame.data.len());
        self.totals
            .packet(layers | of_ip(&ip), ip.protocol, frame.original_bytes);
        let flow_frame = FlowFrame {
            frame: number,
            at_ns,
            bytes: frame.original_bytes,
            encapsulation_bytes,
            moment,
            ip: &ip,
            origin,
            gso: frame.gso,
        };
        match ip.fragment {
            None => self.transport(&flow_frame, ip.payload, ip.payload_bytes, false),
            Some(part) => self.fragment(&flow_frame, part),
        }
    }

    /// Whether a packet was captured before.
    #[inline]
    fn is_copy(&mut self, ip: &IpPacket<'_>, at: CapturedAt, at_ns: u64) -> bool {
        let Some(identity) = PacketIdentity::of(ip) else {
            return false;
        };
        let flows = &mut self.flows;
        let rtt_ns = || {
            let (one, other) = ends(ip, ip.payload);
            let (tuple, _) = FlowTuple::of(one, other, ip.protocol);
            flows.existing(&tuple).and_then(|flow| flow.min_rtt_ns())
        };
        let copy = self.copies.push(&identity, at, at_ns, rtt_ns);
        self.again += u64::from(copy == Some(PacketCopy::Again));
        copy.is_some()
    }

    /// Whether the filter accepts a packet by its ends. A later fragment has no ports: it is judged with its packet.
    fn takes(&self, ip: &IpPacket<'_>) -> bool {
        let (one, other) = ends(ip, ip.payload);
        let is_later = ip.fragment.is_some_and(|part| part.offset > 0);
        let has_ports = matches!(ip.protocol, TCP | UDP);
        let transport = FlowTuple::of(one, other, ip.protocol).0.transport();
        if is_later && !self.filter.ports.is_empty() && has_ports {
            let without_ports = CaptureFilter {
                ports: Vec::new(),
                ..self.filter.clone()
            };
            return without_ports.takes_ends(one, other, transport, false);
        }
        self.filter.takes_ends(one, other, transport, has_ports)
    }

    fn without_ip(
        &mut self,
        frame: &CapturedFrame<'_>,
        at_ns: u64,
        number: u64,
        payload: LinkPayload<'_>,
    ) {
        if self.filters_ends {
            self.totals.filtered += 1;
            return;
        }
        match payload {
            LinkPayload::CutOff => return self.unreadable(frame, at_ns, number, true),
            LinkPayload::Other(kind) => self.totals.link(kind, frame.original_bytes),
            LinkPayload::UnknownLink => {
                self.totals
                    .evidence
                    .note(FindingCode::UnknownLinkType, number);
            }
            LinkPayload::Ip(_) => {}
        }
        self.totals
            .frame(at_ns, frame.original_bytes, frame.data.len());
    }

    /// A frame whose headers cannot be read.
    fn unreadable(&mut self, frame: &CapturedFrame<'_>, at_ns: u64, number: u64, cut_off: bool) {
        self.totals
            .frame(at_ns, frame.original_bytes, frame.data.len());
        self.fault(
            number,
            cut_off && (frame.data.len() as u64) < u64::from(frame.original_bytes),
        );
    }

    fn fault(&mut self, number: u64, cut_off: bool) {
        if cut_off {
            self.totals
                .evidence
                .note(FindingCode::HeadersCutOff, number);
        } else {
            self.totals.malformed += 1;
            self.totals
                .evidence
                .note(FindingCode::MalformedFrames, number);
        }
    }

    /// A whole packet of IP, in one frame or put together.
    #[inline]
    fn transport(&mut self, frame: &FlowFrame<'_>, bytes: &[u8], original: u32, fragmented: bool) {
        match frame.ip.protocol {
            TCP => self.tcp(frame, bytes, original, fragmented),
            UDP => self.udp(frame, bytes, original, fragmented),
            ICMP | ICMPV6 => self.icmp(frame, bytes),
            _ => self.plain(frame),
        }
    }

    #[inline]
    fn tcp(&mut self, frame: &FlowFrame<'_>, bytes: &[u8], original: u32, fragmented: bool) {
        let header = match read_tcp(bytes, original) {
            Ok(header) => header,
            Err(fault) => {
                self.fault(frame.frame, fault == TcpFault::CutOff);
                return;
            }
        };
        let payload_bytes = original - header.header_bytes;
        let payload = bytes.get(header.header_bytes as usize..).unwrap_or(&[]);
        let (one, other) = with_ports(frame.ip, header.source, header.destination);
        let (tuple, from_low) = FlowTuple::of(one, other, TCP);
        let Some((flow, recorder)) = self.flows.of_packet(tuple, from_low, frame, Some(&header))
        else {
            return;
        };
        let direction = flow.direction(from_low);
        if !fragmented {
            flow.frame(direction, frame);
        }
        let outcome = flow.segment(direction, frame, &header, payload_bytes, payload);
        if let (Some(recorder), Some(outcome)) = (recorder, outcome) {
            let detail = DetailFrame {
                frame: frame.frame,
                since_start_ns: frame.at_ns.saturating_sub(flow.first_ns),
                direction,
                payload_bytes,
                frame_bytes: frame.bytes,
            };
            recorder.segment(&detail, &flag_names(&header), &outcome);
        }
    }

    #[inline]
    fn udp(&mut self, frame: &FlowFrame<'_>, bytes: &[u8], original: u32, fragmented: bool) {
        if bytes.len() < 8 {
            self.fault(frame.frame, original >= 8);
            return;
        }
        // A length of zero is a jumbogram, or a datagram that UDP segmentation will split.
        let payload_bytes = match u32::from(be16(bytes, 4)) {
            length if length >= 8 && length <= original && frame.gso.is_none() => length - 8,
            0 => original - 8,
            _ if frame.gso.is_some() => original - 8,
            _ => return self.fault(frame.frame, false),
        };
        let (one, other) = with_ports(frame.ip, be16(bytes, 0), be16(bytes, 2));
        let (tuple, from_low) = FlowTuple::of(one, other, UDP);
        let Some((flow, recorder)) = self.flows.of_packet(tuple, from_low, frame, None) else {
            return;
        };
        let direction = flow.direction(from_low);
        if !fragmented {
            flow.frame(direction, frame);
        }
        flow.datagram(
            direction,
            &TrackedDatagram {
                at_ns: frame.at_ns,
                payload_bytes,
                payload: &bytes[8..bytes.len().min(8 + payload_bytes as usize)],
                fragmented,
                gso: frame.gso,
            },
        );
        if let Some(recorder) = recorder {
            recorder.frame(&DetailFrame {
                frame: frame.frame,
                since_start_ns: frame.at_ns.saturating_sub(flow.first_ns),
                direction,
                payload_bytes,
                frame_bytes: frame.bytes,
            });
        }
    }

    fn icmp(&mut self, frame: &FlowFrame<'_>, bytes: &[u8]) {
        if let Some(error) = read_icmp_error(bytes, frame.ip.is_v6) {
            self.flows.icmp_error(&error, frame.frame);
            return;
        }
        self.plain(frame);
    }

    /// A packet whose transport has no ports.
    fn plain(&mut self, frame: &FlowFrame<'_>) {
        let (one, other) = with_ports(frame.ip, 0, 0);
        let (tuple, from_low) = FlowTuple::of(one, other, frame.ip.protocol);
        if let Some((flow, _)) = self.flows.of_packet(tuple, from_low, frame, None) {
            let direction = flow.direction(from_low);
            flow.frame(direction, frame);
        }
    }

    fn fragment(&mut self, frame: &FlowFrame<'_>, part: FragmentPart) {
        let flows = &mut self.flows;
        let mut lost = |packet: &WaitingPacket| give_up(flows, packet);
        let step = self
            .fragments
            .push(frame.ip, part, frame.frame, frame.at_ns, &mut lost);
        let ports = match &step {
            FragmentStep::Waiting(ports) => *ports,
            FragmentStep::Complete(packet) => packet.head().first_chunk().copied(),
        };
        // A fragment in front of the first one belongs to no flow yet: it is part of the totals alone.
        if let (Some(ports), TCP | UDP) = (ports, frame.ip.protocol) {
            let (one, other) = with_ports(frame.ip, be16(&ports, 0), be16(&ports, 2));
            let (tuple, from_low) = FlowTuple::of(one, other, frame.ip.protocol);
            if let Some((flow, _)) = self.flows.of_packet(tuple, from_low, frame, None) {
                let direction = flow.direction(from_low);
                flow.frame(direction, frame);
            }
        }
        if let FragmentStep::Complete(packet) = step {
            self.transport(frame, packet.head(), packet.total(), true);
        }
    }

    /// Ends the capture: what still waits for fragments is incomplete.
    pub(crate) fn finish(&mut self) {
        let flows = &mut self.flows;
        let mut lost = |packet: &WaitingPacket| give_up(flows, packet);
        self.fragments.drain(&mut lost);
    }
}

/// Notes a packet whose fragments did not all come.
fn give_up(flows: &mut Flows, packet: &WaitingPacket) {
    let ports = packet.head();
    if ports.len() < 4 {
        return;
    }
    let end = |address, port| TupleEnd { address, port };
    let source = end(packet.source, be16(ports, 0));
    let destination = end(packet.destination, be16(ports, 2));
    let (tuple, from_low) = FlowTuple::of(source, destination, packet.protocol);
    if let Some(flow) = flows.existing(&tuple) {
        let direction = flow.direction(from_low);
        flow.fragments_missing(direction, packet.frame);
    }
}

#[inline]
fn with_ports(ip: &IpPacket<'_>, source: u16, destination: u16) -> (TupleEnd, TupleEnd) {
    let end = |address, port| TupleEnd { address, port };
    (end(ip.source, source), end(ip.destination, destination))
}

/// The ends of a packet, with the ports that its payload begins with.
fn ends(ip: &IpPacket<'_>, payload: &[u8]) -> (TupleEnd, TupleEnd) {
    match ip.protocol {
        TCP | UDP if ip.fragment.is_none_or(|part| part.offset == 0) => {
            with_ports(ip, be16(payload, 0), be16(payload, 2))
        }
        _ => with_ports(ip, 0, 0),
    }
}

/// The headers of IP, and of UDP above it.
#[inline]
const fn of_ip(ip: &IpPacket<'_>) -> Layers {
    match (ip.is_v6, ip.protocol) {
        (false, UDP) => Layers::IPV4.with(Layers::UDP),
        (true, UDP) => Layers::IPV6.with(Layers::UDP),
        (false, _) => Layers::IPV4,
        (true, _) => Layers::IPV6,
    }
}

fn flag_names(header: &TcpHeader) -> String {
    header.flags.names()
}
