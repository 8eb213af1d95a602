//! What is kept of one flow at one point of capture.

use super::clock::TimeSpan;
use crate::bytes::{be16, be64};
use crate::copies::{CapturedAt, CopyDetector, PacketCopy, PacketIdentity};
use crate::dissect::{
    IpPacket, LinkPayload, TcpFlags, TcpHeader, innermost, may_carry_another, read_ip, read_link,
    read_tcp,
};
use crate::error::CaptureError;
use crate::filter::CaptureFilter;
use crate::flow::{FlowTuple, TupleEnd};
use crate::read::{CapturedFrame, FrameOrigin, FrameReader};

/// Maximum number of packets kept of each direction, 24 MB; what follows them is left out of the comparison.
const MAX_PACKETS: usize = 1 << 20;
/// Latest time, ns: in the year 2116, later than pcap can express. Differences of differences of such times fit into 64 bits.
const MAX_TIME_NS: u64 = i64::MAX as u64 / 2;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// What two captures of one packet have in common, and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PacketMark {
    /// The sequence number; for UDP the first bytes of the payload, mixed.
    pub(crate) sequence: u32,
    /// TCP: the timestamp. UDP: the rest of what was mixed.
    pub(crate) stamp: u32,
    /// Segments without payload: acknowledgement, flags and window, mixed. Others: zero.
    pub(crate) other: u32,
    pub(crate) bytes: u32,
    pub(crate) at_ns: u64,
}

/// What is kept of one direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct DirectionMarks {
    pub(crate) packets: Vec<PacketMark>,
    pub(crate) left_out: u64,
    /// The sequence number of the SYN.
    pub(crate) isn: Option<u32>,
    pub(crate) mss: Option<u16>,
    /// The other options of the SYN: window scale, SACK permitted, timestamps.
    pub(crate) options: Option<(Option<u8>, bool, bool)>,
    pub(crate) ttl: Option<(u8, u8)>,
    /// One bit for each code point that was seen.
    pub(crate) dscp: u64,
    /// The same for the ECN field.
    pub(crate) ecn: u64,
    pub(crate) max_frame: u32,
    /// Frames whose packet was captured before at the same point.
    pub(crate) repeats: u64,
}

/// The packets of one flow at one point of capture, compact enough to be compared with those of another.
///
/// It follows the first flow that its filter takes. Super-packets are split by the MSS of the handshake; fragments are left out.
#[derive(Debug)]
pub struct EndsRecorder {
    filter: CaptureFilter,
    reader: FrameReader,
    followed: Followed,
}

/// The flow that is followed, and what was seen of it.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    pub(crate) tuple: Option<FlowTuple>,
    pub(crate) client_is_low: bool,
    pub(crate) client: DirectionMarks,
    pub(crate) server: DirectionMarks,
    /// All frames of the capture within the time of the filter, of whatever flow.
    pub(crate) captured: Option<TimeSpan>,
    start_ns: Option<u64>,
    copies: CopyDetector,
}

impl EndsRecorder {
    /// A recorder of the first flow that a filter takes.
    #[must_use]
    pub fn new(filter: CaptureFilter) -> Self {
        Self {
            filter,
            reader: FrameReader::new(),
            followed: Followed::default(),
        }
    }

    /// Takes in the next bytes of the file.
    ///
    /// # Errors
    /// When the file is no capture, or damaged.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), CaptureError> {
        let (filter, followed) = (&self.filter, &mut self.followed);
        self.reader
            .push(bytes, &mut |frame| followed.frame(filter, frame))
    }

    /// `true` when the capture has a flow that the filter takes.
    #[must_use]
    pub const fn has_flow(&self) -> bool {
        self.followed.tuple.is_some()
    }

    /// What was seen.
    pub(crate) const fn followed(&self) -> &Followed {
        &self.followed
    }
}

impl Followed {
    fn frame(&mut self, filter: &CaptureFilter, frame: &CapturedFrame<'_>) {
        let Some(at_ns) = frame.at_ns.map(|at_ns| at_ns.min(MAX_TIME_NS)) else {
            return;
        };
        let start = *self.start_ns.get_or_insert(at_ns);
        if !filter.takes_time(at_ns.saturating_sub(start)) {
            return;
        }
        TimeSpan::include(&mut self.captured, at_ns.cast_signed());
        let link = read_link(frame.link_type, frame.data);
        let LinkPayload::Ip(found) = link.payload else {
            return;
        };
        let original = frame.original_bytes.saturating_sub(found.header_bytes);
        let Ok(outer) = read_ip(found.packet, original) else {
            return;
        };
        let inner = match may_carry_another(&outer) {
            true => innermost(&outer),
            false => None,
        };
        let (ip, depth) = inner.map_or((outer, 0), |inner| (inner.ip, inner.depth));
        if ip.fragment.is_some() || !matches!(ip.protocol, TCP | UDP) || ip.payload.len() < 8 {
            return;
        }
        let end = |address, port| TupleEnd { address, port };
        let source = end(ip.source, be16(ip.payload, 0));
        let destination = end(ip.destination, be16(ip.payload, 2));
        let (tuple, from_low) = FlowTuple::of(source, destination, ip.protocol);
        let tcp = match ip.protocol {
            TCP => match read_tcp(ip.payload, ip.payload_bytes) {
                Ok(header) => Some(header),
                Err(_) => return,
            },
            _ => None,
        };
        if self.tuple.is_none() && filter.takes_ends(source, destination, tuple.transport(), true) {
            let answers = tcp.is_some_and(|tcp| {
                tcp.flags.0 & (TcpFlags::SYN | TcpFlags::ACK) == TcpFlags::SYN | TcpFlags::ACK
            });
            self.tuple = Some(tuple);
            self.client_is_low = from_low != answers;
        }
        if self.tuple != Some(tuple) {
            return;
        }
        let segment = self.segment_bytes(tcp.as_ref());
        let origin = match frame.origin {
            FrameOrigin::Unknown => link.origin,
            known => known,
        };
        let at = CapturedAt::new(frame.interface.wrapping_add(link.interface), origin, depth);
        let copy = PacketIdentity::of(&ip)
            .and_then(|identity| self.copies.push(&identity, at, at_ns, || None));
        let side = if from_low == self.client_is_low {
            &mut self.client
        } else {
            &mut self.server
        };
        if let Some(copy) = copy {
            side.repeats += u64::from(copy == PacketCopy::Again);
            return;
        }
        side.count(&ip, frame.original_bytes);
        match tcp {
            Some(header) => side.segment(&ip, &header, at_ns, segment),
            None => side.datagram(&ip, at_ns),
        }
    }

    /// The payload of a full segment, as the handshake gives it.
    fn segment_bytes(&self, tcp: Option<&TcpHeader>) -> Option<u32> {
        let mss = self.client.mss?.min(self.server.mss?);
        let options = tcp?.header_bytes - 20;
        u32::from(mss)
            .checked_sub(options)
            .filter(|bytes| *bytes > 0)
    }
}

/// Mixes words into 32 bits (the finaliser of SplitMix64).
fn mix(one: u64, two: u64) -> u64 {
    let mut mixed = one ^ two.rotate_left(32) ^ 0x9E37_79B9_7F4A_7C15;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

impl DirectionMarks {
    fn count(&mut self, ip: &IpPacket<'_>, frame_bytes: u32) {
        let (min, max) = self.ttl.unwrap_or((ip.ttl, ip.ttl));
        self.ttl = Some((min.min(ip.ttl), max.max(ip.ttl)));
        self.dscp |= 1 << (ip.tos >> 2);
        self.ecn |= 1 << (ip.tos & 3);
        self.max_frame = self.max_frame.max(frame_bytes);
    }

    fn keep(&mut self, mark: PacketMark) {
        if self.packets.len() < MAX_PACKETS {
            self.packets.push(mark);
        } else {
            self.left_out += 1;
        }
    }

    fn segment(&mut self, ip: &IpPacket<'_>, header: &TcpHeader, at_ns: u64, full: Option<u32>) {
        let options = &header.options;
        if header.flags.any(TcpFlags::SYN) {
            self.isn = self.isn.or(Some(header.seq));
            self.mss = self.mss.or(options.mss);
            let others = (
                options.window_scale,
                options.sack_permitted,
                options.timestamps.is_some(),
            );
            self.options = self.options.or(Some(others));
        }
        let payload = ip.payload_bytes - header.header_bytes;
        let stamp = options.timestamps.map_or(0, |stamps| stamps.0);
        if payload == 0 {
            let sack = u64::from(options.sack[0].1);
            let flags = u64::from(header.flags.0) << 16 | u64::from(header.window);
            // The acknowledgement is mixed in as it is: translation of sequence numbers makes it unknown.
            let other = mix(u64::from(header.ack), flags ^ sack << 32) as u32 | 1;
            self.keep(PacketMark {
                sequence: header.seq,
                stamp,
                other,
                bytes: 0,
                at_ns,
            });
            return;
        }
        let full = full.unwrap_or(payload).max(1);
        let mut sent = 0;
        while sent < payload {
            if self.packets.len() >= MAX_PACKETS {
                self.left_out += u64::from((payload - sent).div_ceil(full));
                break;
            }
            let bytes = full.min(payload - sent);
            self.keep(PacketMark {
                sequence: header.seq.wrapping_add(sent),
                stamp,
                other: 0,
                bytes,
                at_ns,
            });
            sent += bytes;
        }
    }

    fn datagram(&mut self, ip: &IpPacket<'_>, at_ns: u64) {
        let payload = &ip.payload[8..];
        let bytes = ip.payload_bytes.saturating_sub(8);
        let start = mix(be64(payload, 0), be64(payload, 8));
        let mixed = mix(start, be64(payload, 16) ^ be64(payload, 24).rotate_left(17));
        self.keep(PacketMark {
            sequence: mixed as u32,
            stamp: (mixed >> 32) as u32,
            other: 0,
            bytes,
            at_ns,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_beyond_the_limit_are_counted() {
        let mark = PacketMark {
            sequence: 1,
            stamp: 0,
            other: 0,
            bytes: 1,
            at_ns: 0,
        };
        let mut marks = DirectionMarks {
            packets: vec![mark; MAX_PACKETS - 1],
            ..DirectionMarks::default()
        };
        for _ in 0..3 {
            marks.keep(mark);
        }
        assert_eq!((marks.packets.len(), marks.left_out), (MAX_PACKETS, 2));
    }
}
