//! Data datagrams.

use super::frame::{DATA_KIND, is_intact, write_checksum};
use crate::config::DATA_HEADER_BYTES;

/// The header of a data datagram without its CRC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DataHeader {
    /// The session.
    pub(crate) session: u32,
    /// The low 32 bits of the packet number.
    pub(crate) pn: u32,
    /// The block, counted from the resume offset.
    pub(crate) block: u32,
}

/// Writes the header in front of the payload that `datagram` holds from [`DATA_HEADER_BYTES`] on.
#[inline]
pub(crate) fn write_data_header(datagram: &mut [u8], header: DataHeader) {
    let (front, _) = datagram.split_at_mut(DATA_HEADER_BYTES);
    front[4..8].copy_from_slice(&[DATA_KIND, 0, 0, 0]);
    front[8..12].copy_from_slice(&header.session.to_le_bytes());
    front[12..16].copy_from_slice(&header.pn.to_le_bytes());
    front[16..].copy_from_slice(&header.block.to_le_bytes());
    write_checksum(datagram);
}

/// The header and the payload of a data datagram; `None` when it is none, or damaged.
#[inline]
pub(crate) fn parse_data(datagram: &[u8]) -> Option<(DataHeader, &[u8])> {
    let (front, payload) = datagram.split_at_checked(DATA_HEADER_BYTES)?;
    let field =
        |at: usize| u32::from_le_bytes([front[at], front[at + 1], front[at + 2], front[at + 3]]);
    if front[4] != DATA_KIND || payload.is_empty() || !is_intact(datagram) {
        return None;
    }
    let header = DataHeader {
        session: field(8),
        pn: field(12),
        block: field(16),
    };
    Some((header, payload))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_written_is_read_again_and_no_flipped_bit_passes(
            session: u32, pn: u32, block: u32,
            payload in proptest::collection::vec(any::<u8>(), 1..200),
            bit: usize,
        ) {
            let header = DataHeader { session, pn, block };
            let mut datagram = vec![0; DATA_HEADER_BYTES];
            datagram.extend_from_slice(&payload);
            write_data_header(&mut datagram, header);
            prop_assert_eq!(parse_data(&datagram), Some((header, &payload[..])));
            let bit = bit % (datagram.len() * 8);
            datagram[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(parse_data(&datagram), None);
        }
    }

    #[test]
    fn the_layout_is_the_documented_one() {
        let mut datagram = vec![0; DATA_HEADER_BYTES];
        datagram.push(0xaa);
        let header = DataHeader {
            session: 0x0403_0201,
            pn: 0x0807_0605,
            block: 0x0c0b_0a09,
        };
        write_data_header(&mut datagram, header);
        assert_eq!(
            datagram[4..20],
            [1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
        );
        assert_eq!(datagram[20], 0xaa);
    }
}
