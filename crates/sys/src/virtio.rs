//! What the kernel and the other side of a device tell each other about a frame: `struct virtio_net_hdr`.
//!
//! Source: include/uapi/linux/virtio_net.h; the byte order is that of this machine, as of legacy devices.

use crate::raw;

/// The checksum and the segmentation of a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VirtioNetHeader {
    /// `true` when the checksum of TCP or UDP holds the sum of the pseudo-header and is to be completed.
    pub needs_checksum: bool,
    /// `VIRTIO_NET_HDR_GSO_…` without the flag for ECN; 0 for a frame of a single segment.
    pub gso_type: u8,
    /// The length of all headers, bytes.
    pub header_bytes: u16,
    /// The payload of a segment, bytes.
    pub gso_size: u16,
    /// The offset of the first byte that the checksum covers.
    pub checksum_start: u16,
    /// The offset of the checksum from there.
    pub checksum_offset: u16,
}

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`.
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_ECN`.
const ECN: u8 = 0x80;

impl VirtioNetHeader {
    /// Its length.
    pub const BYTES: usize = 10;
    /// `VIRTIO_NET_HDR_GSO_TCPV4`.
    pub const TCP_IPV4: u8 = 1;
    /// `VIRTIO_NET_HDR_GSO_TCPV6`.
    pub const TCP_IPV6: u8 = 4;
    /// `VIRTIO_NET_HDR_GSO_UDP_L4`: datagrams of UDP over either protocol.
    pub const UDP: u8 = 5;

    /// The header at the beginning of `bytes`; `None` when these are too few.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let half = |at| raw::u16_at(bytes, at);
        Some(Self {
            needs_checksum: bytes.first()? & NEEDS_CHECKSUM != 0,
            gso_type: bytes.get(1)? & !ECN,
            header_bytes: half(2)?,
            gso_size: half(4)?,
            checksum_start: half(6)?,
            checksum_offset: half(8)?,
        })
    }

    /// The header as the kernel reads it.
    pub(crate) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = if self.needs_checksum {
            NEEDS_CHECKSUM
        } else {
            0
        };
        bytes[1] = self.gso_type;
        let fields = [
            self.header_bytes,
            self.gso_size,
            self.checksum_start,
            self.checksum_offset,
        ];
        for (place, field) in bytes[2..].chunks_exact_mut(2).zip(fields) {
            place.copy_from_slice(&field.to_ne_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let header = VirtioNetHeader {
            needs_checksum: true,
            gso_type: VirtioNetHeader::TCP_IPV6,
            header_bytes: 86,
            gso_size: 1428,
            checksum_start: 54,
            checksum_offset: 16,
        };
        assert_eq!(VirtioNetHeader::read(&header.to_bytes()), Some(header));
        assert_eq!(VirtioNetHeader::read(&[0; 9]), None);
        assert_eq!(
            VirtioNetHeader::read(&[0; 10]),
            Some(VirtioNetHeader::default())
        );
    }
}
