//! The header that every control datagram has, and the beginning that all datagrams have: CRC, kind, session.

/// The kind of a data datagram.
pub(crate) const DATA_KIND: u8 = 1;
/// Bytes in front of the body of a control datagram: CRC, kind, three reserved, session.
pub(crate) const CONTROL_HEADER_BYTES: usize = 12;
/// Bytes of the CRC, with which a datagram begins: what it covers lies in one piece.
const CRC_BYTES: usize = 4;

/// The kind of a control datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ControlKind {
    /// What arrived, and how much more may come.
    Ack,
    /// The end of the content, with its digest.
    Fin,
    /// The receiver's answer to it.
    FinAck,
    /// A request for an acknowledgement.
    Ping,
    /// The session ends early.
    Abort,
    /// The sender has the receiver's last answer: nothing needs to be repeated.
    Close,
    /// A proposal.
    Hello,
    /// The proposal is to be repeated with a cookie.
    Retry,
    /// The proposal is accepted.
    Accept,
    /// The proposal is refused.
    Refuse,
}

impl ControlKind {
    const ALL: [(Self, u8); 10] = [
        (Self::Ack, 2),
        (Self::Fin, 3),
        (Self::FinAck, 4),
        (Self::Ping, 5),
        (Self::Abort, 6),
        (Self::Close, 7),
        (Self::Hello, 16),
        (Self::Retry, 17),
        (Self::Accept, 18),
        (Self::Refuse, 19),
    ];

    fn number(self) -> u8 {
        Self::ALL
            .iter()
            .find(|(kind, _)| *kind == self)
            .map_or(0, |(_, number)| *number)
    }

    fn from_number(number: u8) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(_, known)| *known == number)
            .map(|(kind, _)| *kind)
    }
}

/// The session of a datagram; `None` when it is too short to have one. Nothing else was looked at.
pub(crate) fn session_of(datagram: &[u8]) -> Option<u32> {
    datagram.get(8..12)?.try_into().ok().map(u32::from_le_bytes)
}

/// The kind and the body of a control datagram; `None` when its kind is unknown, its CRC is wrong, or it is too short.
pub(crate) fn parse_control(datagram: &[u8]) -> Option<(ControlKind, &[u8])> {
    let (header, body) = datagram.split_at_checked(CONTROL_HEADER_BYTES)?;
    let kind = ControlKind::from_number(header[4])?;
    is_intact(datagram).then_some((kind, body))
}

/// Writes a control datagram whose body `write_body` appends: its bytes replace those of `out`.
pub(crate) fn write_control(
    out: &mut Vec<u8>,
    kind: ControlKind,
    session: u32,
    write_body: impl FnOnce(&mut Vec<u8>),
) {
    out.clear();
    out.extend_from_slice(&[0, 0, 0, 0, kind.number(), 0, 0, 0]);
    out.extend_from_slice(&session.to_le_bytes());
    write_body(out);
    write_checksum(out);
}

/// The kind of a datagram; `None` when it is too short to have one. Nothing else was looked at.
#[inline]
pub(crate) fn kind_of(datagram: &[u8]) -> Option<u8> {
    datagram.get(CRC_BYTES).copied()
}

/// Minimum bytes for carry-less multiplication to be faster than the processor's CRC instruction, as measured.
const FOLDED_BYTES: usize = 300;

/// The CRC-32C.
#[inline]
fn checksum(bytes: &[u8]) -> u32 {
    if bytes.len() < FOLDED_BYTES {
        return crc32c::crc32c(bytes);
    }
    // A CRC of 32 bits in an integer of 64.
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// Writes the CRC-32C of what follows it in front.
#[inline]
pub(super) fn write_checksum(datagram: &mut [u8]) {
    let (crc, rest) = datagram.split_at_mut(CRC_BYTES);
    crc.copy_from_slice(&checksum(rest).to_le_bytes());
}

/// Whether the CRC-32C is that of what follows it.
#[inline]
pub(super) fn is_intact(datagram: &[u8]) -> bool {
    datagram
        .split_at_checked(CRC_BYTES)
        .is_some_and(|(crc, rest)| checksum(rest).to_le_bytes() == crc)
}

/// What is left of a body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    /// The next `len` bytes; `None` when there are fewer.
    pub(super) fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(front)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_ways_to_the_checksum_agree(bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
            prop_assert_eq!(checksum(&bytes), crc32c::crc32c(&bytes));
        }
    }

    #[test]
    fn every_kind_has_its_own_number_and_none_is_that_of_data() {
        for (kind, number) in ControlKind::ALL {
            assert_eq!(ControlKind::from_number(number), Some(kind));
            assert_eq!(kind.number(), number);
            assert_ne!(number, DATA_KIND);
        }
    }

    #[test]
    fn a_flipped_bit_anywhere_is_noticed() {
        let mut datagram = Vec::new();
        write_control(&mut datagram, ControlKind::Ping, 7, |out| {
            out.extend_from_slice(b"body");
        });
        assert_eq!(
            parse_control(&datagram),
            Some((ControlKind::Ping, &b"body"[..]))
        );
        for bit in 0..datagram.len() * 8 {
            let mut damaged = datagram.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(parse_control(&damaged), None, "bit {bit}");
        }
    }
}
