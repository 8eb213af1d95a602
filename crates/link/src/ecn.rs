//! The ECN field of the packet in a frame, and marking it CE. RFC 3168, RFC 9331.

use crate::checksum;
use caudal_core::marks::Ecn;

const ETHERNET: usize = 14;
const VLAN: [u8; 2] = [0x81, 0x00];
const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;

/// Where the packet of a frame begins, and whether it is one of IPv6; `None` for other protocols.
fn packet(bytes: &[u8]) -> Option<(usize, bool)> {
    let mut at = ETHERNET;
    while bytes.get(at - 2..at) == Some(&VLAN) {
        at += 4;
    }
    let rest = bytes.len().saturating_sub(at);
    match bytes.get(at - 2..at) {
        Some([0x08, 0x00]) if rest >= IPV4_HEADER && bytes.get(at)? >> 4 == 4 => Some((at, false)),
        Some([0x86, 0xdd]) if rest >= IPV6_HEADER && bytes.get(at)? >> 4 == 6 => Some((at, true)),
        _ => None,
    }
}

/// The ECN field of the packet in a frame; that of a transport that is not capable where there is none.
pub(crate) fn field(bytes: &[u8]) -> Ecn {
    let tos = packet(bytes).and_then(|(at, is_v6)| {
        let [first, second] = *bytes.get(at..)?.first_chunk()?;
        Some(if is_v6 {
            (first << 4) | (second >> 4)
        } else {
            second
        })
    });
    tos.map_or(Ecn::NotEct, Ecn::from_tos)
}

/// Sets the ECN field of the packet in a frame to CE, and the checksum of an IPv4 header to that.
pub(crate) fn set_ce(bytes: &mut [u8]) {
    let Some((at, is_v6)) = packet(bytes) else {
        return;
    };
    if is_v6 {
        if let Some(second) = bytes.get_mut(at + 1) {
            *second |= 0b11 << 4;
        }
        return;
    }
    let length = bytes
        .get(at)
        .map_or(0, |first| usize::from(first & 0xf) * 4);
    let Some(header) = bytes.get_mut(at..at + length.max(IPV4_HEADER)) else {
        return;
    };
    header[1] |= 0b11;
    header[10..12].fill(0);
    let sum = checksum::finish(checksum::sum(header));
    header[10..12].copy_from_slice(&sum);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4(tos: u8) -> Vec<u8> {
        let mut bytes = vec![0; 60];
        bytes[12..14].copy_from_slice(&[0x08, 0x00]);
        bytes[14] = 0x45;
        bytes[15] = tos;
        let sum = checksum::finish(checksum::sum(&bytes[14..34]));
        bytes[24..26].copy_from_slice(&sum);
        bytes
    }

    #[test]
    fn a_marked_packet_has_ce_its_dscp_and_a_right_checksum() {
        let mut bytes = ipv4(0xba);
        assert_eq!(field(&bytes), Ecn::Ect0);
        set_ce(&mut bytes);
        assert_eq!((bytes[15], field(&bytes)), (0xbb, Ecn::Ce));
        // The sum over a header with its checksum is zero.
        assert_eq!(checksum::finish(checksum::sum(&bytes[14..34])), [0, 0]);

        let mut v6 = vec![0; 80];
        v6[12..14].copy_from_slice(&[0x86, 0xdd]);
        v6[14..16].copy_from_slice(&[0x6b, 0x91]);
        assert_eq!(field(&v6), Ecn::Ect1);
        set_ce(&mut v6);
        assert_eq!((&v6[14..16], field(&v6)), (&[0x6b, 0xb1][..], Ecn::Ce));
    }

    #[test]
    fn a_tagged_frame_is_read_and_others_are_not_capable() {
        let mut tagged = ipv4(0x01);
        tagged.splice(12..12, [0x81, 0x00, 0x00, 0x07]);
        assert_eq!(field(&tagged), Ecn::Ect1);
        for length in 0..60 {
            let mut short = vec![0x81; length];
            assert_eq!(field(&short), Ecn::NotEct);
            set_ce(&mut short);
            assert_eq!(short, vec![0x81; length]);
        }
    }
}
