//! The kernel's own account of a super-packet, kept as a comment of its frame.
//!
//! A pcapng frame carries it in an `opt_comment` of the form `caudal: gso_type=1 gso_size=1448`, which other programs show as
//! text. `gso_type` is the field of the same name of `struct virtio_net_hdr` (Linux `include/uapi/linux/virtio_net.h`) and
//! `gso_size` the payload of a segment in bytes.

use std::fmt;

/// What a kernel said about the segments of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GsoRecord {
    /// The transport that is segmented.
    pub kind: GsoKind,
    /// The payload of a full segment in bytes.
    pub size: u16,
}

/// What is segmented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GsoKind {
    /// TCP over IPv4: `VIRTIO_NET_HDR_GSO_TCPV4`, 1.
    TcpV4,
    /// One UDP datagram in fragments: `VIRTIO_NET_HDR_GSO_UDP`, 3.
    UdpFragments,
    /// TCP over IPv6: `VIRTIO_NET_HDR_GSO_TCPV6`, 4.
    TcpV6,
    /// UDP datagrams: `VIRTIO_NET_HDR_GSO_UDP_L4`, 5.
    UdpDatagrams,
}

/// The beginning of the comment.
const PREFIX: &[u8] = b"caudal: gso_type=";
/// `VIRTIO_NET_HDR_GSO_ECN`: a flag beside the type.
const ECN: u8 = 0x80;

impl GsoKind {
    /// The kind of a `gso_type`; `None` for frames without segmentation and unknown types.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number & !ECN {
            1 => Self::TcpV4,
            3 => Self::UdpFragments,
            4 => Self::TcpV6,
            5 => Self::UdpDatagrams,
            _ => return None,
        })
    }

    /// The number in `gso_type`.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::TcpV4 => 1,
            Self::UdpFragments => 3,
            Self::TcpV6 => 4,
            Self::UdpDatagrams => 5,
        }
    }
}

impl GsoRecord {
    /// Reads the comment of a frame; `None` for other comments.
    #[must_use]
    pub fn from_comment(comment: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(comment.strip_prefix(PREFIX)?).ok()?;
        let (kind, size) = text.split_once(" gso_size=")?;
        let size = size.split(' ').next()?.parse().ok()?;
        (size > 0).then_some(Self {
            kind: GsoKind::from_number(kind.parse().ok()?)?,
            size,
        })
    }
}

impl fmt::Display for GsoRecord {
    /// The comment: `caudal: gso_type=1 gso_size=1448`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, size) = (self.kind.number(), self.size);
        write!(f, "caudal: gso_type={kind} gso_size={size}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_reads_back_as_it_was_written_and_others_are_left_alone() {
        let record = GsoRecord {
            kind: GsoKind::TcpV4,
            size: 1448,
        };
        let text = record.to_string();
        assert_eq!(text, "caudal: gso_type=1 gso_size=1448");
        assert_eq!(GsoRecord::from_comment(text.as_bytes()), Some(record));
        for other in [
            "",
            "a note",
            "caudal: gso_type=1",
            "caudal: gso_type=9 gso_size=1",
            "caudal: gso_type=1 gso_size=0",
        ] {
            assert_eq!(GsoRecord::from_comment(other.as_bytes()), None, "{other}");
        }
    }
}
