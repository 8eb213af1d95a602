//! Segmentation: packets that hosts hand over with the size at which their network card is to segment them (TSO, USO).

use std::ops::Range;
use std::sync::Arc;

use crate::checksum;

/// The transport protocol whose payload is segmented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentedProtocol {
    /// TCP: every segment has its own sequence number.
    Tcp,
    /// UDP: every segment is a datagram.
    Udp,
}

/// How a super-frame is segmented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segmentation {
    /// The protocol.
    pub protocol: SegmentedProtocol,
    /// The offset of the TCP or UDP header, bytes.
    pub transport_at: usize,
    /// The payload of every segment but the last, bytes.
    pub segment_bytes: usize,
}

impl Segmentation {
    /// The offset of the checksum in the TCP or UDP header.
    #[must_use]
    pub const fn checksum_at(&self) -> usize {
        match self.protocol {
            SegmentedProtocol::Tcp => checksum::IN_TCP,
            SegmentedProtocol::Udp => checksum::IN_UDP,
        }
    }

    const fn protocol_number(&self) -> u8 {
        match self.protocol {
            SegmentedProtocol::Tcp => 6,
            SegmentedProtocol::Udp => 17,
        }
    }
}

/// A packet with the size at which it is to be segmented.
#[derive(Debug, PartialEq, Eq)]
pub struct SuperFrame {
    bytes: Box<[u8]>,
    pub(crate) segmentation: Segmentation,
    pub(crate) is_ipv6: bool,
    network_at: usize,
    payload_at: usize,
    pub(crate) segments: usize,
}

const ETHERTYPE_AT: usize = 12;
const VLAN_TAGS: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xa8]];
const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
const UDP_HEADER: usize = 8;
const FLAGS_IN_TCP: usize = 13;
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

impl SuperFrame {
    /// The super-frame with content `bytes`; `None` when these are no headers of IP and what `segmentation` names.
    #[must_use]
    pub fn new(bytes: &[u8], segmentation: Segmentation) -> Option<Self> {
        let mut ethertype_at = ETHERTYPE_AT;
        while VLAN_TAGS
            .iter()
            .any(|tag| bytes.get(ethertype_at..ethertype_at + 2) == Some(tag))
        {
            ethertype_at += 4;
        }
        let network_at = ethertype_at + 2;
        let transport_at = segmentation.transport_at;
        let (is_ipv6, shortest) = match bytes.get(network_at)? >> 4 {
            4 => (false, IPV4_HEADER),
            6 => (true, IPV6_HEADER),
            _ => return None,
        };
        if transport_at < network_at + shortest {
            return None;
        }
        let header = match segmentation.protocol {
            SegmentedProtocol::Tcp => usize::from(bytes.get(transport_at + 12)? >> 4) * 4,
            SegmentedProtocol::Udp => UDP_HEADER,
        };
        let payload_at = transport_at + header;
        let payload = bytes.len().checked_sub(payload_at)?;
        let is_short = header < segmentation.checksum_at() + 2;
        if is_short || payload == 0 || segmentation.segment_bytes == 0 {
            return None;
        }
        Some(Self {
            bytes: bytes.into(),
            segments: payload.div_ceil(segmentation.segment_bytes),
            segmentation,
            is_ipv6,
            network_at,
            payload_at,
        })
    }

    /// Its headers as the host wrote them.
    pub(crate) fn written_headers(&self) -> &[u8] {
        &self.bytes[..self.payload_at]
    }

    /// The payload of these segments.
    pub(crate) fn payload(&self, segments: &Range<usize>) -> &[u8] {
        let at = |segment: usize| {
            let at = self.payload_at + segment * self.segmentation.segment_bytes;
            at.min(self.bytes.len())
        };
        &self.bytes[at(segments.start)..at(segments.end)]
    }

    /// The headers of one packet with the payload of these segments.
    ///
    /// The checksum of TCP or UDP is complete where `is_complete`, and otherwise the sum of the pseudo-header, to be completed for every
    /// segment by whoever segments it again.
    ///
    /// Source: segmentation-offloads.rst of the kernel's documentation; `inet_gso_segment`, `tcp_gso_segment`.
    pub(crate) fn headers(&self, segments: &Range<usize>, is_complete: bool) -> Vec<u8> {
        let payload = self.payload(segments);
        let mut headers = self.bytes[..self.payload_at].to_vec();
        let network_at = self.network_at;
        let transport_at = self.segmentation.transport_at;
        let transport_bytes = self.payload_at - transport_at + payload.len();
        let put = |headers: &mut [u8], at: usize, value: u16| {
            headers[at..at + 2].copy_from_slice(&value.to_be_bytes());
        };
        let addresses = if self.is_ipv6 {
            let length = self.payload_at - network_at - IPV6_HEADER + payload.len();
            put(&mut headers, network_at + 4, length as u16);
            network_at + 8..network_at + IPV6_HEADER
        } else {
            let length = self.payload_at - network_at + payload.len();
            put(&mut headers, network_at + 2, length as u16);
            let id = [headers[network_at + 4], headers[network_at + 5]];
            let id = u16::from_be_bytes(id).wrapping_add(segments.start as u16);
            put(&mut headers, network_at + 4, id);
            put(&mut headers, network_at + 10, 0);
            let sum = checksum::sum(&headers[network_at..transport_at]);
            headers[network_at + 10..network_at + 12].copy_from_slice(&checksum::finish(sum));
            network_at + 12..network_at + IPV4_HEADER
        };
        match self.segmentation.protocol {
            SegmentedProtocol::Tcp => {
                let at = transport_at + 4;
                let mut sequence = [0; 4];
                sequence.copy_from_slice(&headers[at..at + 4]);
                let offset = segments.start * self.segmentation.segment_bytes;
                let sequence = u32::from_be_bytes(sequence).wrapping_add(offset as u32);
                headers[at..at + 4].copy_from_slice(&sequence.to_be_bytes());
                let flags = &mut headers[transport_at + FLAGS_IN_TCP];
                if segments.end < self.segments {
                    *flags &= !(FIN | PSH);
                }
                if segments.start > 0 {
                    *flags &= !CWR;
                }
            }
            SegmentedProtocol::Udp => {
                put(&mut headers, transport_at + 4, transport_bytes as u16);
            }
        }
        // The pseudo-header of RFC 9293 section 3.1 and RFC 8200 section 8.1.
        let mut pseudo_header = [0; 8];
        pseudo_header[..4].copy_from_slice(&(transport_bytes as u32).to_be_bytes());
        pseudo_header[7] = self.segmentation.protocol_number();
        let mut sum = checksum::sum(&headers[addresses]) + checksum::sum(&pseudo_header);
        let at = transport_at + self.segmentation.checksum_at();
        let checksum = if is_complete {
            headers[at..at + 2].fill(0);
            sum += checksum::sum(&headers[transport_at..]) + checksum::sum(payload);
            match self.segmentation.protocol {
                SegmentedProtocol::Tcp => checksum::finish(sum),
                SegmentedProtocol::Udp => checksum::finish_udp(sum),
            }
        } else {
            checksum::fold(sum).to_ne_bytes()
        };
        headers[at..at + 2].copy_from_slice(&checksum);
        headers
    }
}

/// A frame of a super-frame.
#[derive(Debug, Clone)]
pub(crate) struct FrameSegment {
    pub(crate) of: Arc<SuperFrame>,
    pub(crate) index: usize,
}

impl FrameSegment {
    /// Its length, from destination address to the end of the payload.
    pub(crate) fn length(&self) -> usize {
        self.of.payload_at + self.of.payload(&self.range()).len()
    }

    /// Its content, as a network card sends it.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.of.headers(&self.range(), true);
        bytes.extend_from_slice(self.of.payload(&self.range()));
        bytes
    }

    pub(crate) const fn range(&self) -> Range<usize> {
        self.index..self.index + 1
    }
}
