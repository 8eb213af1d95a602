//! Packets that a capture holds more than once: on a router or a bridge as they come and as they go, and at ports that copy frames.
//!
//! A copy has the identification, the numbers, the checksum and the timestamps of the packet before, which no retransmission of Linux has: its
//! identification (RFC 791, RFC 6864) or its timestamp (RFC 7323) is another. docs/captures.md says what cannot be distinguished.

use crate::bytes::{be16, be32, be64};
use crate::dissect::{IpPacket, PackedAddress, TcpFlags};
use crate::read::FrameOrigin;

/// Packets remembered, a power of two: queues of 1000 of a router in either direction.
const REMEMBERED: usize = 2048;
/// Maximum time in a queue between two points of capture, ns.
const MAX_QUEUED_NS: u64 = 2_000_000_000;
/// Minimum time before a retransmission by timeout: TCP_RTO_MIN of Linux, 200 ms, less the rounding of a timer tick, ns.
const MIN_TIMEOUT_NS: u64 = 190_000_000;
/// Maximum time that counts as well under a round trip where that is not known, ns.
const SHORT_NS: u64 = 200_000;
/// Maximum time between copies at one point that have no identification, ns.
const MAX_ANONYMOUS_NS: u64 = 20_000_000;
/// Maximum number of packets with one hash to compare.
const MAX_STEPS: usize = 64;
/// Marks of points that are distinguished: interfaces by their number, each with three origins.
const INTERFACES: u32 = 10;
const TCP: u8 = 6;

/// What identifies a packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PacketIdentity {
    mark: u64,
    ttl: u8,
    kind: IdentityKind,
    /// It has an identification of IP other than zero, or is a fragment.
    has_id: bool,
    /// It has a timestamp of TCP.
    has_stamp: bool,
}

/// What a packet is to those that look the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IdentityKind {
    /// A segment with SYN: it is sent again after a timeout only.
    Opening,
    /// A segment with payload or FIN, which is sent again after a round trip at the earliest.
    Data,
    /// An acknowledgement alone: a receiver without timestamps and SACK sends the same for each segment that comes out of order.
    Acknowledgement,
    /// A packet of another transport, whose sender may send the same bytes at any time.
    Other,
}

/// The place where a frame was captured: the interface, and whether it came or went there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CapturedAt(u32);

/// How a packet was captured once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PacketCopy {
    /// At another point: the other interface, the other direction or a router further.
    Elsewhere,
    /// At the same point, or one that the file does not distinguish; the path may have duplicated the packet.
    Again,
}

/// A packet that was seen.
#[derive(Debug, Clone, Copy, Default)]
struct Sighting {
    mark: u64,
    first_ns: u64,
    /// One bit for each point at which it was captured.
    points: u32,
    /// The number of the packet before it with the same hash.
    before: u32,
    /// The lowest time to live, or hop limit.
    ttl: u8,
}

/// The packets of the latest frames, of all flows.
#[derive(Debug)]
pub(crate) struct CopyDetector {
    seen: Box<[Sighting]>,
    /// The number of the latest packet by the lowest bits of its mark; numbers count from 1.
    latest: Box<[u32]>,
    count: u32,
    /// How surely every frame is there twice at one point: data and SYNs that were raise it, other data lowers it.
    doubled: u8,
}

impl CapturedAt {
    /// The point of a frame; `depth` is the number of packets that carry the one that is compared.
    #[inline]
    pub(crate) const fn new(interface: u32, origin: FrameOrigin, depth: u32) -> Self {
        let interface = interface.wrapping_add(depth * 5) % INTERFACES;
        Self(1 << (interface * 3 + origin as u32))
    }
}

/// Folds two words into one (as foldhash and wyhash do).
#[inline]
const fn fold(one: u64, two: u64) -> u64 {
    let product = (one ^ 0x9E37_79B9_7F4A_7C15) as u128 * (two ^ 0xD1B5_4A32_D192_ED03) as u128;
    product as u64 ^ (product >> 64) as u64
}

/// Spreads the bits of a word, so that it can be joined with another one by XOR.
#[inline]
const fn spread(word: u64) -> u64 {
    word.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[inline]
const fn half(address: PackedAddress) -> u64 {
    address.0 as u64 ^ ((address.0 >> 64) as u64).rotate_left(32)
}

/// The header of UDP or ICMP and the first 32 bytes behind it, folded.
#[inline]
fn beginning(payload: &[u8]) -> u64 {
    let mut padded = [0; 40];
    let kept = payload.first_chunk::<40>().unwrap_or_else(|| {
        padded[..payload.len()].copy_from_slice(payload);
        &padded
    });
    let word = |at| be64(kept, at);
    fold(fold(word(0), word(8)), fold(word(16), word(24)) ^ word(32))
}

impl PacketIdentity {
    /// The identity of a packet; `None` where too little of it was kept.
    #[inline]
    pub(crate) fn of(ip: &IpPacket<'_>) -> Option<Self> {
        let (payload, part) = (ip.payload, ip.fragment);
        let ends = spread(half(ip.source) ^ half(ip.destination).rotate_left(17));
        let id = part.map_or(u64::from(ip.id), |part| {
            u64::from(part.id) << 32 | u64::from(part.offset)
        });
        let sizes = u64::from(ip.payload_bytes) << 8 | u64::from(ip.protocol);
        let outside = spread(id ^ sizes.rotate_left(40));
        let has_id = ip.id != 0 || part.is_some();
        if ip.protocol != TCP || part.is_some() {
            return (payload.len() >= 8).then(|| Self {
                mark: fold(ends, outside) ^ beginning(payload).rotate_left(1),
                ttl: ip.ttl,
                kind: IdentityKind::Other,
                has_id,
                has_stamp: false,
            });
        }
        let fixed = payload.first_chunk::<20>()?;
        let header_bytes = usize::from(fixed[12] >> 4) * 4;
        let options = payload.get(20..header_bytes)?;
        let flags = be16(fixed, 12) & 0x1ff;
        let checksum = u64::from(be32(fixed, 16));
        let mut mark = fold(be64(fixed, 0) ^ ends, be64(fixed, 8) ^ outside);
        if options.len() == 12 {
            let stamps = fold(
                checksum << 32 | u64::from(be32(options, 0)),
                be64(options, 4),
            );
            mark ^= stamps.rotate_left(1);
        } else {
            mark = fold(mark, checksum);
            for more in options.chunks_exact(4) {
                mark = fold(mark, u64::from(be32(more, 0)));
            }
        }
        let has_payload = ip.payload_bytes > header_bytes as u32;
        let kind = if flags & TcpFlags::SYN != 0 {
            IdentityKind::Opening
        } else if has_payload || flags & TcpFlags::FIN != 0 {
            IdentityKind::Data
        } else {
            IdentityKind::Acknowledgement
        };
        Some(Self {
            mark,
            ttl: ip.ttl,
            kind,
            has_id,
            has_stamp: options.len() >= 12 && kind != IdentityKind::Opening,
        })
    }
}

impl Default for CopyDetector {
    fn default() -> Self {
        Self {
            seen: vec![Sighting::default(); REMEMBERED].into_boxed_slice(),
            latest: vec![0; REMEMBERED].into_boxed_slice(),
            count: 0,
            doubled: 0,
        }
    }
}

impl CopyDetector {
    /// Forgets all packets, as the times of those that follow have nothing to do with theirs.
    pub(crate) fn forget(&mut self) {
        self.latest.fill(0);
    }

    /// Takes in a packet and returns whether it was captured before. `rtt_ns` gives the smallest round-trip time known of its flow.
    #[inline]
    pub(crate) fn push(
        &mut self,
        packet: &PacketIdentity,
        at: CapturedAt,
        at_ns: u64,
        rtt_ns: impl FnOnce() -> Option<u64>,
    ) -> Option<PacketCopy> {
        let bucket = packet.mark as usize % REMEMBERED;
        let before = self.latest[bucket];
        if before != 0
            && let Some(copy) = self.find(before, packet, at, at_ns, rtt_ns)
        {
            return Some(copy);
        }
        if packet.kind == IdentityKind::Data {
            self.doubled = self.doubled.saturating_sub(1);
        }
        self.count = self.count.wrapping_add(1).max(1);
        self.latest[bucket] = self.count;
        self.seen[self.count as usize % REMEMBERED] = Sighting {
            mark: packet.mark,
            first_ns: at_ns,
            points: at.0,
            before,
            ttl: packet.ttl,
        };
        None
    }

    /// Looks for the packet among those from `number` on, the latest first.
    fn find(
        &mut self,
        number: u32,
        packet: &PacketIdentity,
        at: CapturedAt,
        at_ns: u64,
        rtt_ns: impl FnOnce() -> Option<u64>,
    ) -> Option<PacketCopy> {
        let mut number = number;
        let mut latest: Option<Sighting> = None;
        for _ in 0..MAX_STEPS {
            if number == 0 || self.count.wrapping_sub(number) as usize >= REMEMBERED {
                break;
            }
            let seen = &mut self.seen[number as usize % REMEMBERED];
            if seen.mark == packet.mark {
                if is_elsewhere(seen, packet, at, at_ns) {
                    seen.points |= at.0;
                    seen.ttl = seen.ttl.min(packet.ttl);
                    return Some(PacketCopy::Elsewhere);
                }
                latest = latest.or(Some(*seen));
            }
            number = seen.before;
        }
        let is_again = self.is_again(&latest?, packet, at_ns, rtt_ns);
        is_again.then_some(PacketCopy::Again)
    }

    /// Whether a packet that was seen at this point is the same, rather than one that was sent again.
    fn is_again(
        &mut self,
        seen: &Sighting,
        packet: &PacketIdentity,
        at_ns: u64,
        rtt_ns: impl FnOnce() -> Option<u64>,
    ) -> bool {
        if packet.ttl > seen.ttl {
            return false;
        }
        let limit = match packet.kind {
            _ if packet.has_id => MIN_TIMEOUT_NS,
            IdentityKind::Opening => MIN_TIMEOUT_NS,
            IdentityKind::Other => return false,
            IdentityKind::Acknowledgement if self.doubled < 4 => return false,
            IdentityKind::Data | IdentityKind::Acknowledgement => {
                rtt_ns().map_or(SHORT_NS, |rtt| (rtt / 2).min(MAX_ANONYMOUS_NS))
            }
        };
        let is_again = at_ns.abs_diff(seen.first_ns) <= limit;
        if is_again && matches!(packet.kind, IdentityKind::Data | IdentityKind::Opening) {
            self.doubled = (self.doubled + 2).min(16);
        }
        is_again
    }
}

/// Whether a packet that was seen is the same at another point: an interface or a direction that did not have it yet, or behind a router.
#[inline]
fn is_elsewhere(seen: &Sighting, packet: &PacketIdentity, at: CapturedAt, at_ns: u64) -> bool {
    let is_further = packet.ttl < seen.ttl;
    let is_other = seen.points & at.0 == 0 && packet.ttl == seen.ttl;
    // Without either, one that was sent again looks the same.
    let limit = match packet.has_id || packet.has_stamp {
        true => MAX_QUEUED_NS,
        false => MIN_TIMEOUT_NS,
    };
    (is_further || is_other) && at_ns.abs_diff(seen.first_ns) <= limit
}
