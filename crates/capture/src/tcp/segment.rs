//! One captured segment, and what it turned out to be.

use crate::dissect::{IpPacket, PackedAddress, TcpHeader};
use crate::read::{FrameOrigin, GsoRecord};

/// One captured segment of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrackedSegment<'a> {
    pub(crate) frame: u64,
    pub(crate) at_ns: u64,
    /// Time since the first frame of the flow.
    pub(crate) since_start_ns: u64,
    pub(crate) header: &'a TcpHeader,
    pub(crate) ip: &'a IpPacket<'a>,
    pub(crate) payload_bytes: u32,
    pub(crate) frame_bytes: u32,
    /// Bytes in front of IP beside the header of the link: tags and other packets that carry this one.
    pub(crate) encapsulation_bytes: u32,
    pub(crate) origin: FrameOrigin,
    pub(crate) gso: Option<GsoRecord>,
}

impl TrackedSegment<'_> {
    /// Bytes that count in sequence numbers: payload, SYN and FIN.
    #[inline]
    pub(crate) fn length(&self) -> i64 {
        use crate::dissect::TcpFlags;
        let flags = self.header.flags;
        i64::from(self.payload_bytes)
            + i64::from(flags.any(TcpFlags::SYN))
            + i64::from(flags.any(TcpFlags::FIN))
    }
}

/// What a segment with payload, SYN or FIN is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SegmentClass {
    /// Nothing but an acknowledgement.
    Empty,
    /// The next one.
    Next,
    /// One beyond a gap.
    BeyondGap,
    /// One that came later than others sent after it.
    OutOfOrder,
    KeepAlive,
    ZeroWindowProbe,
    FastRetransmission,
    TimeoutRetransmission,
    SpuriousRetransmission,
    Retransmission,
}

impl SegmentClass {
    /// `true` for all kinds of retransmissions.
    pub(crate) const fn is_retransmission(self) -> bool {
        matches!(
            self,
            Self::FastRetransmission
                | Self::TimeoutRetransmission
                | Self::SpuriousRetransmission
                | Self::Retransmission
        )
    }

    /// The words for a sequence diagram, those of Wireshark.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Empty | Self::Next => "",
            Self::BeyondGap => "previous segment not captured",
            Self::OutOfOrder => "out of order",
            Self::KeepAlive => "keep-alive",
            Self::ZeroWindowProbe => "zero-window probe",
            Self::FastRetransmission => "fast retransmission",
            Self::TimeoutRetransmission => "retransmission after timeout",
            Self::SpuriousRetransmission => "spurious retransmission",
            Self::Retransmission => "retransmission",
        }
    }
}

/// What an acknowledgement is beside its number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum AckClass {
    #[default]
    Plain,
    Duplicate,
    WindowUpdate,
    KeepAliveAnswer,
    /// It acknowledges what was never captured.
    Unseen,
}

impl AckClass {
    /// The words for a sequence diagram.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Duplicate => "duplicate ACK",
            Self::WindowUpdate => "window update",
            Self::KeepAliveAnswer => "keep-alive ACK",
            Self::Unseen => "acknowledges what was not captured",
        }
    }
}

/// What a segment turned out to be, for the details of a flow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SegmentOutcome {
    /// Relative to the first of this end.
    pub(crate) seq: i64,
    /// Relative to the first of the other end.
    pub(crate) ack: Option<i64>,
    pub(crate) window: u64,
    pub(crate) class: SegmentClass,
    pub(crate) ack_class: AckClass,
    pub(crate) zero_window: bool,
    pub(crate) window_full: bool,
    pub(crate) wire_segments: u32,
    pub(crate) in_flight: Option<u64>,
    /// Of the other end's segment that this one acknowledges.
    pub(crate) ack_rtt_ns: Option<u64>,
    pub(crate) timestamp_rtt_ns: Option<u64>,
    /// Payload that was not sent before.
    pub(crate) new_bytes: u64,
}

/// The sum over the pseudo-header (RFC 9293 section 3.1), not complemented: what Linux leaves in the checksum for a device to complete
/// (`CHECKSUM_PARTIAL`).
#[inline]
pub(super) fn pseudo_header_sum(segment: &TrackedSegment<'_>) -> u16 {
    let ip = segment.ip;
    let words = |address: PackedAddress| -> u64 {
        let bits = if ip.is_v6 {
            address.0
        } else {
            address.0 & 0xffff_ffff
        };
        let (high, low) = ((bits >> 64) as u64, bits as u64);
        let halves = |bits: u64| (bits >> 32) + (bits & 0xffff_ffff);
        halves(high) + halves(low)
    };
    let length = u64::from(segment.header.header_bytes + segment.payload_bytes);
    let mut sum = words(ip.source) + words(ip.destination) + 6 + length;
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}
