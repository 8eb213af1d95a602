//! The bytes a payload takes on an Ethernet wire, and the share of the line rate left for it.

use serde::{Deserialize, Serialize};

use caudal_core::units::BitRate;

/// Destination, source and type of an Ethernet frame (IEEE 802.3 clause 3).
const ETHERNET_HEADER: u64 = 14;
/// The frame check sequence.
const CHECK_SEQUENCE: u64 = 4;
/// The IEEE 802.1Q tag.
const VLAN_TAG: u64 = 4;
/// Preamble and start delimiter.
const PREAMBLE: u64 = 8;
/// Minimum gap between two frames, 96 bit times.
const INTERFRAME_GAP: u64 = 12;
/// Smallest frame from destination address to check sequence.
const MIN_FRAME: u64 = 64;
const TCP_HEADER: u64 = 20;
/// The timestamps option with its two bytes of padding (RFC 7323 section 3 and appendix A).
const TCP_TIMESTAMPS: u64 = 12;
/// The selective acknowledgement option without its blocks, padded as Linux does (RFC 2018 section 3).
const SACK_OPTION: u64 = 4;
/// One block of it: two sequence numbers.
const SACK_BLOCK: u64 = 8;
/// Maximum length of the options in a TCP header: a data offset of 15 words less the 5 of the header (RFC 9293 section 3.1).
const MAX_TCP_OPTIONS: u64 = 40;
const UDP_HEADER: u64 = 8;
/// The extension header in every fragment of an IPv6 packet (RFC 8200 section 4.5).
const IPV6_FRAGMENT_HEADER: u64 = 8;

/// The version of the Internet Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IpVersion {
    /// IPv4, with a header of 20 bytes.
    V4,
    /// IPv6, with a header of 40 bytes.
    V6,
}

impl IpVersion {
    /// Bytes of the header without options or extensions.
    #[must_use]
    pub const fn header_bytes(self) -> u64 {
        match self {
            Self::V4 => 20,
            Self::V6 => 40,
        }
    }
}

/// The headers and gaps around a payload on an Ethernet link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Framing {
    /// The largest IP packet in bytes.
    pub mtu: u32,
    /// The version of IP.
    pub ip: IpVersion,
    /// `true` when frames carry an IEEE 802.1Q tag.
    pub vlan: bool,
    /// `true` when TCP segments carry the timestamps option, as they do between Linux hosts.
    pub timestamps: bool,
    /// Selective acknowledgement blocks in every segment, as many as fit beside the timestamps (RFC 2018: 3 or 4).
    #[serde(default)]
    pub sack_blocks: u8,
}

impl Default for Framing {
    /// Untagged Ethernet with an MTU of 1500, IPv4 and TCP timestamps.
    fn default() -> Self {
        Self {
            mtu: 1500,
            ip: IpVersion::V4,
            vlan: false,
            timestamps: true,
            sack_blocks: 0,
        }
    }
}

impl Framing {
    /// Bytes of TCP options in every segment: timestamps, and the selective acknowledgements that fit beside them.
    ///
    /// Source: RFC 7323 section 3, RFC 2018 section 3, padded to words as Linux does (include/net/tcp.h).
    #[must_use]
    pub fn tcp_option_bytes(&self) -> u64 {
        let timestamps = if self.timestamps { TCP_TIMESTAMPS } else { 0 };
        if self.sack_blocks == 0 {
            return timestamps;
        }
        let fit = (MAX_TCP_OPTIONS - timestamps - SACK_OPTION) / SACK_BLOCK;
        timestamps + SACK_OPTION + SACK_BLOCK * u64::from(self.sack_blocks).min(fit)
    }

    /// Bytes of IP and TCP header with the options in use.
    #[must_use]
    pub fn tcp_header_bytes(&self) -> u64 {
        self.ip.header_bytes() + TCP_HEADER + self.tcp_option_bytes()
    }

    /// Bytes of wire time of an acknowledgement without payload.
    #[must_use]
    pub fn ack_wire_bytes(&self) -> u64 {
        self.wire_bytes(self.tcp_header_bytes())
    }

    /// Bytes of wire time of `payload` as TCP segments of its own, all but the last full; one empty segment
    /// for none. `None` when the headers fill the MTU.
    #[must_use]
    pub fn tcp_wire_bytes(&self, payload: u64) -> Option<u64> {
        let full = u64::from(self.tcp_payload_per_frame());
        if full == 0 {
            return None;
        }
        let before_last = payload.saturating_sub(1) / full;
        let last = payload - before_last * full;
        before_last
            .checked_mul(self.wire_bytes(u64::from(self.mtu)))?
            .checked_add(self.wire_bytes(self.tcp_header_bytes() + last))
    }

    /// Payload bytes in the largest datagram that is not fragmented; zero when the headers fill the MTU.
    #[must_use]
    pub fn udp_payload_per_frame(&self) -> u32 {
        let headers = self.ip.header_bytes() + UDP_HEADER;
        // The headers are well below 2^32; no datagram has more than 65535 bytes.
        self.mtu.min(65_535).saturating_sub(headers as u32)
    }

    /// The IP fragments of a datagram of `payload` bytes; 1 when it fits. `None` when the MTU carries none.
    #[must_use]
    pub fn udp_fragments(&self, payload: u32) -> Option<u64> {
        self.fragment(payload)
            .map(|fragments| fragments.before_last + 1)
    }

    /// Bytes of wire time of a frame around `packet_bytes` of IP: header, tag, padding, check sequence, preamble and gap.
    ///
    /// Source: IEEE 802.3 clauses 3 and 4, RFC 2544 section 20 for the convention.
    #[must_use]
    pub fn wire_bytes(&self, packet_bytes: u64) -> u64 {
        let tag = if self.vlan { VLAN_TAG } else { 0 };
        let frame = (ETHERNET_HEADER + CHECK_SEQUENCE + tag).saturating_add(packet_bytes);
        frame
            .max(MIN_FRAME)
            .saturating_add(PREAMBLE + INTERFRAME_GAP)
    }

    /// Payload bytes in a full TCP segment; zero when the headers fill the MTU.
    #[must_use]
    pub fn tcp_payload_per_frame(&self) -> u32 {
        // The headers are well below 2^32.
        self.mtu.saturating_sub(self.tcp_header_bytes() as u32)
    }

    /// Full frames a second on a link of line rate `rate`, the fraction kept.
    #[must_use]
    pub fn frames_per_second(&self, rate: BitRate) -> f64 {
        rate.as_f64() / (8.0 * self.wire_bytes(u64::from(self.mtu)) as f64)
    }

    /// The TCP goodput of a link of line rate `rate` filled with full segments.
    ///
    /// `rate · payload / wire bytes`, to the nearest bit per second. Source: RFC 6349 section 3.3.1, without its
    /// rounding to whole frames.
    #[must_use]
    pub fn tcp_ceiling(&self, rate: BitRate) -> BitRate {
        let payload = u64::from(self.tcp_payload_per_frame());
        share(rate, payload, self.wire_bytes(u64::from(self.mtu)))
    }

    /// The UDP goodput of a link of line rate `rate` filled with datagrams of `payload` bytes.
    ///
    /// Datagrams larger than the MTU are sent as IP fragments. Zero when the MTU is too small for any.
    #[must_use]
    pub fn udp_ceiling(&self, rate: BitRate, payload: u32) -> BitRate {
        match self.udp_wire_bytes(payload) {
            Some(wire) => share(rate, u64::from(payload), wire),
            None => BitRate::ZERO,
        }
    }

    /// Bytes of wire time of a datagram of `payload` bytes, over all its fragments.
    ///
    /// `None` when the MTU is too small to carry even a fragment. Source: RFC 791 section 3.2, RFC 8200 section 4.5.
    #[must_use]
    pub fn udp_wire_bytes(&self, payload: u32) -> Option<u64> {
        let fragments = self.fragment(payload)?;
        Some(
            fragments.before_last * self.wire_bytes(fragments.header + fragments.full)
                + self.wire_bytes(fragments.header + fragments.last),
        )
    }

    /// Divides a datagram into IP fragments.
    fn fragment(&self, payload: u32) -> Option<IpFragments> {
        let mtu = u64::from(self.mtu);
        let header = self.ip.header_bytes();
        let body = u64::from(payload) + UDP_HEADER;
        if header + body <= mtu {
            return Some(IpFragments {
                header,
                before_last: 0,
                full: 0,
                last: body,
            });
        }
        let header = match self.ip {
            IpVersion::V4 => header,
            IpVersion::V6 => header + IPV6_FRAGMENT_HEADER,
        };
        let room = mtu.checked_sub(header)?;
        // All but the last carry a multiple of 8 bytes.
        let full = room / 8 * 8;
        if full == 0 {
            return None;
        }
        let before_last = body.saturating_sub(room).div_ceil(full);
        Some(IpFragments {
            header,
            before_last,
            full,
            last: body - before_last * full,
        })
    }
}

/// The IP fragments of a datagram, in bytes of IP payload.
struct IpFragments {
    /// The IP header of each.
    header: u64,
    /// Fragments before the last.
    before_last: u64,
    /// The payload of each of those.
    full: u64,
    /// The payload of the last.
    last: u64,
}

/// `rate · part / whole` to the nearest bit per second, for a part no larger than the whole.
fn share(rate: BitRate, part: u64, whole: u64) -> BitRate {
    let (part, whole) = (u128::from(part), u128::from(whole));
    let bps = (u128::from(rate.bps()) * part + whole / 2) / whole.max(1);
    BitRate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FAST_ETHERNET: BitRate = BitRate::from_bps(100_000_000);

    /// In Mbit/s, to the three decimals of the vectors.
    fn megabits(rate: BitRate) -> String {
        format!("{:.3}", rate.as_f64() / 1e6)
    }

    #[test]
    fn full_frames_a_second_on_fast_ethernet() {
        let frames = Framing::default().frames_per_second(FAST_ETHERNET);
        assert_eq!(format!("{frames:.2}"), "8127.44");
    }

    #[test]
    fn the_tcp_ceiling_depends_on_options_version_tag_and_mtu() {
        let usual = Framing::default();
        assert_eq!(usual.tcp_payload_per_frame(), 1448);
        for (framing, ceiling) in [
            (
                Framing {
                    timestamps: false,
                    ..usual
                },
                "94.928",
            ),
            (usual, "94.148"),
            (
                Framing {
                    ip: IpVersion::V6,
                    ..usual
                },
                "92.848",
            ),
            (
                Framing {
                    vlan: true,
                    ..usual
                },
                "93.904",
            ),
            (Framing { mtu: 9000, ..usual }, "99.004"),
        ] {
            assert_eq!(megabits(framing.tcp_ceiling(FAST_ETHERNET)), ceiling);
        }
    }

    #[test]
    fn the_udp_ceiling_of_full_datagrams() {
        let framing = Framing::default();
        assert_eq!(megabits(framing.udp_ceiling(FAST_ETHERNET, 1472)), "95.709");
    }

    #[test]
    fn small_datagrams_are_padded_to_the_minimum_frame() {
        let framing = Framing::default();
        assert_eq!(framing.udp_wire_bytes(0), Some(84));
        assert_eq!(framing.udp_wire_bytes(18), Some(84));
        assert_eq!(framing.udp_wire_bytes(19), Some(85));
    }

    #[test]
    fn a_datagram_larger_than_the_mtu_is_fragmented() {
        let framing = Framing::default();
        // 1473 + 8 bytes: 1480 in a full fragment, one in a padded frame.
        assert_eq!(framing.udp_wire_bytes(1473), Some(1538 + 84));
        // 8192 + 8 = 5 · 1480 + 800.
        assert_eq!(framing.udp_wire_bytes(8192), Some(5 * 1538 + 800 + 20 + 38));
        // An IPv6 fragment has 8 bytes less: 1448 of 1452 are a multiple of 8.
        let six = Framing {
            ip: IpVersion::V6,
            ..framing
        };
        assert_eq!(six.udp_wire_bytes(1452), Some(1538));
        assert_eq!(
            six.udp_wire_bytes(1453),
            Some(1448 + 48 + 38 + 13 + 48 + 38)
        );
    }

    #[test]
    fn selective_acknowledgements_take_the_space_left_for_options() {
        let with = |timestamps, sack_blocks| Framing {
            timestamps,
            sack_blocks,
            ..Framing::default()
        };
        for (timestamps, blocks, options) in [
            (false, 0, 0),
            (true, 0, 12),
            (false, 1, 12),
            (true, 1, 24),
            (true, 3, 40),
            (true, 200, 40),
            (false, 4, 36),
            (false, 9, 36),
        ] {
            assert_eq!(with(timestamps, blocks).tcp_option_bytes(), options);
        }
        assert_eq!(with(true, 3).tcp_payload_per_frame(), 1420);
        assert_eq!(with(true, 0).ack_wire_bytes(), 90);
        assert_eq!(with(false, 0).ack_wire_bytes(), 84);
    }

    #[test]
    fn a_message_takes_full_segments_and_a_last_one() {
        let framing = Framing::default();
        assert_eq!(framing.tcp_wire_bytes(0), Some(90));
        assert_eq!(framing.tcp_wire_bytes(1), Some(91));
        assert_eq!(framing.tcp_wire_bytes(1448), Some(1538));
        assert_eq!(framing.tcp_wire_bytes(1449), Some(1538 + 91));
        assert_eq!(framing.tcp_wire_bytes(65_536), Some(45 * 1538 + 376 + 90));
        assert_eq!(framing.udp_fragments(1472), Some(1));
        assert_eq!(framing.udp_fragments(65_507), Some(45));
        assert_eq!(framing.tcp_wire_bytes(u64::MAX), None);
    }

    #[test]
    fn an_mtu_smaller_than_the_headers_carries_nothing() {
        let framing = Framing {
            mtu: 27,
            ..Framing::default()
        };
        assert_eq!(framing.tcp_ceiling(FAST_ETHERNET), BitRate::ZERO);
        assert_eq!(framing.udp_ceiling(FAST_ETHERNET, 100), BitRate::ZERO);
        assert_eq!(Framing { mtu: 0, ..framing }.udp_wire_bytes(0), None);
    }

    proptest! {
        #[test]
        fn goodput_never_exceeds_the_line_rate(mtu: u32, bps: u64, payload: u32, six: bool, vlan: bool, timestamps: bool, sack_blocks: u8) {
            let ip = if six { IpVersion::V6 } else { IpVersion::V4 };
            let framing = Framing { mtu, ip, vlan, timestamps, sack_blocks };
            let rate = BitRate::from_bps(bps);
            prop_assert!(framing.tcp_ceiling(rate) <= rate);
            prop_assert!(framing.udp_ceiling(rate, payload) <= rate);
        }
    }
}
