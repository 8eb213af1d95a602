//! Ethernet frames, with or without their bytes.

use std::borrow::Cow;
use std::sync::Arc;

use crate::ecn;
use caudal_core::marks::Ecn;
use caudal_stats::random::mix;

use crate::segmentation::FrameSegment;

/// Preamble and start delimiter (IEEE 802.3 clause 4.2.5).
pub const PREAMBLE_BYTES: u32 = 8;
/// The interframe gap, 96 bit times (IEEE 802.3 clause 4.4.2).
pub const INTERFRAME_GAP_BYTES: u32 = 12;
/// The length of the shortest frame, from destination address to check sequence.
pub const MIN_FRAME_BYTES: u32 = 64;
/// The frame check sequence, which captures and TAP devices leave out.
pub const CHECK_SEQUENCE_BYTES: u32 = 4;
/// Destination address, source address and type.
pub const HEADER_BYTES: u32 = 14;
/// The type of a MAC control frame and its opcode for PAUSE (IEEE 802.3 annex 31B).
const MAC_CONTROL: [u8; 4] = [0x88, 0x08, 0x00, 0x01];

/// An Ethernet address.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// The broadcast address.
    pub const BROADCAST: Self = Self([0xff; 6]);
    /// The destination of PAUSE frames, which bridges never forward (IEEE 802.3 annex 31B).
    pub const PAUSE: Self = Self([0x01, 0x80, 0xc2, 0x00, 0x00, 0x01]);

    /// A locally administered address for station `number`.
    #[must_use]
    pub const fn station(number: u32) -> Self {
        let [a, b, c, d] = number.to_be_bytes();
        Self([0x02, 0x00, a, b, c, d])
    }

    /// `true` for a multicast or broadcast address.
    #[must_use]
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

/// An Ethernet frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// An identifier chosen by the sender; copies keep it.
    pub id: u64,
    /// The destination address.
    pub destination: MacAddress,
    /// The source address.
    pub source: MacAddress,
    /// A hash of the flow's addresses, protocol and ports.
    pub flow: u64,
    /// In a PAUSE frame, the pause time in units of 512 bit times.
    pub pause_quanta: Option<u16>,
    /// `true` when it was damaged in a way that its check sequence does not show.
    pub corrupted: bool,
    /// The ECN field of its packet.
    pub ecn: Ecn,
    content: Option<Content>,
    length: u32,
}

/// The content of a frame, from destination address to the end of the payload.
#[derive(Debug, Clone)]
enum Content {
    /// A frame as a host sent it.
    Whole(Arc<[u8]>),
    /// A frame of a super-frame, whose bytes are put together where they are needed.
    Segment(FrameSegment),
}

impl Content {
    fn bytes(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Whole(bytes) => Cow::Borrowed(bytes),
            Self::Segment(segment) => Cow::Owned(segment.bytes()),
        }
    }
}

impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Content {}

impl Frame {
    /// A frame without content, `length` bytes long from destination address to check sequence, at least 64.
    #[must_use]
    pub fn with_length(id: u64, length: u32) -> Self {
        Self {
            id,
            destination: MacAddress::BROADCAST,
            source: MacAddress::default(),
            flow: 0,
            pause_quanta: None,
            corrupted: false,
            ecn: Ecn::NotEct,
            content: None,
            length: length.max(MIN_FRAME_BYTES),
        }
    }

    /// The frame with content `bytes`, from destination address to the end of the payload.
    ///
    /// Addresses, flow and PAUSE are parsed from the bytes; fields beyond their end are zero.
    #[must_use]
    pub fn from_bytes(id: u64, bytes: &[u8]) -> Self {
        let mut frame = Self::with_addresses_of(id, bytes);
        if frame.destination == MacAddress::PAUSE && bytes.get(12..16) == Some(&MAC_CONTROL) {
            frame.pause_quanta = bytes.get(16..18).map(|q| u16::from_be_bytes([q[0], q[1]]));
        }
        frame.content = Some(Content::Whole(bytes.into()));
        frame
    }

    /// A frame without content, of the length of `bytes` and with their addresses and flow.
    pub(crate) fn with_addresses_of(id: u64, bytes: &[u8]) -> Self {
        let mut frame = Self::with_length(id, length_on_wire(bytes.len()));
        let address = |at: usize| {
            let octets = bytes
                .get(at..at + 6)
                .and_then(|octets| octets.try_into().ok());
            MacAddress(octets.unwrap_or_default())
        };
        frame.destination = address(0);
        frame.source = address(6);
        frame.flow = flow_hash(bytes);
        frame.ecn = ecn::field(bytes);
        frame
    }

    /// The frame with content `segment` and the addresses and flow of this one.
    pub(crate) fn segment(&self, id: u64, segment: FrameSegment) -> Self {
        Self {
            id,
            length: length_on_wire(segment.length()).max(MIN_FRAME_BYTES),
            content: Some(Content::Segment(segment)),
            ..self.clone()
        }
    }

    /// Its place in its super-frame; `None` when it is not of one, or was changed.
    pub(crate) const fn as_segment(&self) -> Option<&FrameSegment> {
        match &self.content {
            Some(Content::Segment(segment)) => Some(segment),
            _ => None,
        }
    }

    /// A PAUSE frame for `quanta` times 512 bit times; zero resumes.
    #[must_use]
    pub fn new_pause(quanta: u16) -> Self {
        let mut bytes = [0; (MIN_FRAME_BYTES - CHECK_SEQUENCE_BYTES) as usize];
        bytes[..6].copy_from_slice(&MacAddress::PAUSE.0);
        bytes[12..16].copy_from_slice(&MAC_CONTROL);
        bytes[16..18].copy_from_slice(&quanta.to_be_bytes());
        Self::from_bytes(u64::MAX, &bytes)
    }

    /// The same frame with these addresses.
    #[must_use]
    pub fn with_addresses(mut self, source: MacAddress, destination: MacAddress) -> Self {
        self.source = source;
        self.destination = destination;
        self
    }

    /// The same frame with flow hash `flow`.
    #[must_use]
    pub fn with_flow(mut self, flow: u64) -> Self {
        self.flow = flow;
        self
    }

    /// The same frame, of the same length, with content `bytes`.
    ///
    /// For models that carry headers and no payload; a corrupted bit is one of these.
    #[must_use]
    pub fn with_content(mut self, bytes: &[u8]) -> Self {
        self.content = Some(Content::Whole(bytes.into()));
        self
    }

    /// The length in bytes, from destination address to check sequence.
    #[must_use]
    pub const fn length(&self) -> u32 {
        self.length
    }

    /// The length of payload and padding in bytes, without Ethernet header and check sequence.
    #[must_use]
    pub const fn packet_bytes(&self) -> u32 {
        self.length - HEADER_BYTES - CHECK_SEQUENCE_BYTES
    }

    /// The content, from destination address to the end of the payload; `None` without any.
    #[must_use]
    pub fn bytes(&self) -> Option<Cow<'_, [u8]>> {
        self.content.as_ref().map(Content::bytes)
    }

    /// The number of bits from the first of the preamble to the last of the check sequence.
    #[must_use]
    pub const fn wire_bits(&self) -> u64 {
        (self.length as u64 + PREAMBLE_BYTES as u64) * 8
    }

    /// Inverts bit `position`, modulo the length, behind the Ethernet header.
    /// This frame with an ECN field, for frames without their bytes.
    #[must_use]
    pub const fn with_ecn(mut self, ecn: Ecn) -> Self {
        self.ecn = ecn;
        self
    }

    /// Marks its packet CE, where it is one of an ECN-capable transport; `false` where it is not.
    pub(crate) fn mark_ce(&mut self) -> bool {
        if self.ecn.is_not_ect() {
            return false;
        }
        if self.ecn != Ecn::Ce {
            self.ecn = Ecn::Ce;
            if let Some(bytes) = self.whole_bytes() {
                ecn::set_ce(bytes);
            }
        }
        true
    }

    /// Its own bytes, to be changed.
    fn whole_bytes(&mut self) -> Option<&mut [u8]> {
        if let Some(Content::Segment(segment)) = &self.content {
            self.content = Some(Content::Whole(segment.bytes().into()));
        }
        match &mut self.content {
            Some(Content::Whole(bytes)) => Some(Arc::make_mut(bytes)),
            _ => None,
        }
    }

    pub(crate) fn flip_bit(&mut self, position: u64) {
        self.corrupted = true;
        if let Some(bytes) = self.whole_bytes() {
            let bits = (bytes.len().saturating_sub(HEADER_BYTES as usize) * 8) as u64;
            if bits > 0 {
                let bit = position % bits;
                // Below the length, which is a usize.
                bytes[HEADER_BYTES as usize + (bit / 8) as usize] ^= 1 << (bit % 8);
            }
        }
    }
}

/// The length from destination address to check sequence of a frame with `bytes` bytes of content.
fn length_on_wire(bytes: usize) -> u32 {
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX - CHECK_SEQUENCE_BYTES);
    bytes.saturating_add(CHECK_SEQUENCE_BYTES)
}

/// A hash of addresses, protocol and ports; zero for frames that are neither IPv4 nor IPv6.
fn flow_hash(bytes: &[u8]) -> u64 {
    const VLAN: [u8; 2] = [0x81, 0x00];
    const TCP_UDP: [u8; 2] = [6, 17];
    let mut at = 12;
    while bytes.get(at..at + 2) == Some(&VLAN) {
        at += 4;
    }
    let ip = bytes.get(at + 2..).unwrap_or_default();
    let (addresses, protocol, body, is_whole) = match bytes.get(at..at + 2) {
        Some([0x08, 0x00]) if ip.len() >= 20 => {
            let header = usize::from(ip[0] & 0x0f) * 4;
            // Later fragments carry no ports, so ports are left out of the hash of all fragments.
            let is_whole = ip[6] & 0x3f == 0 && ip[7] == 0;
            (&ip[12..20], ip[9], ip.get(header..), is_whole)
        }
        Some([0x86, 0xdd]) if ip.len() >= 40 => (&ip[8..40], ip[6], ip.get(40..), true),
        _ => return 0,
    };
    let ports = body
        .and_then(|body| body.get(..4))
        .filter(|_| is_whole && TCP_UDP.contains(&protocol))
        .unwrap_or_default();
    // FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/, mixed so that all bits depend on all input.
    let hash = addresses
        .iter()
        .chain([&protocol])
        .chain(ports)
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
    mix(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(source_port: u16, fragment_offset: u8) -> Vec<u8> {
        let mut bytes = vec![0; 60];
        bytes[12..14].copy_from_slice(&[0x08, 0x00]);
        bytes[14] = 0x45;
        bytes[21] = fragment_offset;
        bytes[23] = 17;
        bytes[34..36].copy_from_slice(&source_port.to_be_bytes());
        bytes
    }

    #[test]
    fn a_short_frame_is_padded_and_a_check_sequence_is_added() {
        assert_eq!(Frame::from_bytes(0, &[0; 20]).length(), 64);
        assert_eq!(Frame::from_bytes(0, &[0; 1514]).length(), 1518);
        assert_eq!(Frame::from_bytes(0, &[0; 1514]).wire_bits(), 1526 * 8);
        assert_eq!(Frame::from_bytes(0, &[]).packet_bytes(), 46);
    }

    #[test]
    fn ports_distinguish_flows_except_in_fragments() {
        let flow = |port, offset| Frame::from_bytes(0, &datagram(port, offset)).flow;
        assert_eq!(flow(7, 0), flow(7, 0));
        assert_ne!(flow(7, 0), flow(8, 0));
        assert_eq!(flow(7, 1), flow(8, 1));
        assert_eq!(flow_hash(&[0; 60]), 0);
    }

    #[test]
    fn a_pause_frame_is_recognised_by_its_bytes() {
        let frame = Frame::new_pause(515);
        assert_eq!((frame.length(), frame.pause_quanta), (64, Some(515)));
        let parsed = Frame::from_bytes(1, &frame.bytes().unwrap());
        assert_eq!(
            (parsed.pause_quanta, parsed.destination),
            (Some(515), MacAddress::PAUSE)
        );
    }

    #[test]
    fn a_flipped_bit_leaves_copies_alone() {
        let sent = Frame::from_bytes(0, &[0; 60]);
        let mut received = sent.clone();
        received.flip_bit(8);
        assert_eq!(received.bytes().unwrap()[15], 1);
        assert_eq!(sent.bytes().unwrap()[15], 0);
        assert!(received.corrupted && !sent.corrupted);
    }
}
