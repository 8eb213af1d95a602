//! The header of every datagram of caudal: 32 bytes, big-endian, with a checksum of its own.
//!
//! ```text
//!  0  magic  0xCA 0x0D 0xA1      3  kind
//!  4  flow                       8  sequence
//! 16  sender's monotonic clock, ns
//! 24  tag of the test           28  check over bytes 0…27
//! ```

use crate::preamble::TestToken;
use crate::server_instance::ServerInstance;

/// Bytes in a datagram's header.
pub const HEADER_BYTES: usize = 32;
/// Bytes in a datagram of the opening dialogue: the header, the token and the challenge.
pub const OPENING_BYTES: usize = 64;
const MAGIC: u32 = 0xCA0D_A100;

/// The kind of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatagramKind {
    /// A client opens a flow: carries the token.
    Hello,
    /// The server's answer: carries the token and a challenge, and is as long as the hello.
    Challenge,
    /// The client proves that it receives at its address: the challenge sent back.
    Proof,
    /// The server's answer: the flow is open.
    Ready,
    /// Payload.
    Data,
    /// The receiver's progress: the sequence number counts the datagrams read.
    Credit,
    /// The server's answer to a hello whose token is not that of a test being set up: its instance in place of the challenge.
    NoTest,
    /// A client checks whether a datagram of this length arrives.
    MtuProbe,
    /// The server's answer to that, as long as it.
    MtuAnswer,
}

/// A header's fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramHeader {
    /// The kind of the datagram.
    pub kind: DatagramKind,
    /// The flow it belongs to.
    pub flow: u32,
    /// Its number in the flow, counted from 0.
    pub sequence: u64,
    /// The sender's clock when the datagram was written, ns.
    pub sent_ns: u64,
    /// The test it belongs to: [`tag`] of the token.
    pub tag: u32,
}

/// The short name of a test that each of its datagrams carries.
#[must_use]
pub fn tag(token: TestToken) -> u32 {
    u32::from_be_bytes([token.0[0], token.0[1], token.0[2], token.0[3]])
}

impl DatagramKind {
    const fn code(self) -> u8 {
        match self {
            Self::Hello => 1,
            Self::Challenge => 2,
            Self::Proof => 3,
            Self::Ready => 4,
            Self::Data => 5,
            Self::Credit => 6,
            Self::NoTest => 9,
            Self::MtuProbe => 7,
            Self::MtuAnswer => 8,
        }
    }

    const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            1 => Self::Hello,
            2 => Self::Challenge,
            3 => Self::Proof,
            4 => Self::Ready,
            5 => Self::Data,
            6 => Self::Credit,
            9 => Self::NoTest,
            7 => Self::MtuProbe,
            8 => Self::MtuAnswer,
            _ => return None,
        })
    }
}

/// Mixes the first 28 bytes into 32 bits.
///
/// Two multiplications of 64 × 64 → 128 bits, halves folded together: every input bit reaches every
/// output bit, at a cost of a few nanoseconds where a sender writes millions of headers a second.
#[inline]
fn check(first: u64, sequence: u64, sent: u64, tag: u32) -> u32 {
    let fold = |a: u64, b: u64| {
        let product = u128::from(a).wrapping_mul(u128::from(b));
        (product as u64) ^ ((product >> 64) as u64)
    };
    let one = fold(
        first ^ 0x9E37_79B9_7F4A_7C15,
        sequence ^ 0xD1B5_4A32_D192_ED03,
    );
    let two = fold(
        sent ^ 0xA076_1D64_78BD_642F,
        u64::from(tag) ^ one ^ 0xE703_7ED1_A0B4_28DB,
    );
    (two ^ (two >> 32)) as u32
}

impl DatagramHeader {
    /// Writes the header over the first bytes of a datagram.
    #[inline]
    pub fn write(&self, to: &mut [u8; HEADER_BYTES]) {
        let first = u64::from(MAGIC | u32::from(self.kind.code())) << 32 | u64::from(self.flow);
        to[0..8].copy_from_slice(&first.to_be_bytes());
        to[8..16].copy_from_slice(&self.sequence.to_be_bytes());
        to[16..24].copy_from_slice(&self.sent_ns.to_be_bytes());
        to[24..28].copy_from_slice(&self.tag.to_be_bytes());
        to[28..32]
            .copy_from_slice(&check(first, self.sequence, self.sent_ns, self.tag).to_be_bytes());
    }

    /// Reads a datagram's header; `None` when it is short, damaged, or not one of caudal's.
    #[inline]
    #[must_use]
    pub fn read(datagram: &[u8]) -> Option<Self> {
        let header: &[u8; HEADER_BYTES] = datagram.first_chunk()?;
        let word = |at: usize| {
            let rest = header.get(at..).unwrap_or_default();
            u64::from_be_bytes(rest.first_chunk().copied().unwrap_or_default())
        };
        let (first, sequence, sent_ns, last) = (word(0), word(8), word(16), word(24));
        let tag = (last >> 32) as u32;
        if check(first, sequence, sent_ns, tag) != last as u32 {
            return None;
        }
        let magic = (first >> 32) as u32;
        if magic & 0xFFFF_FF00 != MAGIC {
            return None;
        }
        Some(Self {
            kind: DatagramKind::from_code(magic as u8)?,
            flow: first as u32,
            sequence,
            sent_ns,
            tag,
        })
    }
}

/// A datagram of the opening dialogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpeningDatagram {
    /// The step of the dialogue.
    pub kind: DatagramKind,
    /// The flow that is opened.
    pub flow: u32,
    /// The test it belongs to.
    pub token: TestToken,
    /// The bytes that the server expects back; zero in a hello.
    pub challenge: [u8; 16],
}

impl OpeningDatagram {
    /// The datagram's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; OPENING_BYTES] {
        let mut bytes = [0; OPENING_BYTES];
        let mut header = [0; HEADER_BYTES];
        DatagramHeader {
            kind: self.kind,
            flow: self.flow,
            sequence: 0,
            sent_ns: 0,
            tag: tag(self.token),
        }
        .write(&mut header);
        bytes[..HEADER_BYTES].copy_from_slice(&header);
        bytes[32..48].copy_from_slice(&self.token.0);
        bytes[48..64].copy_from_slice(&self.challenge);
        bytes
    }

    /// Reads a datagram of the opening dialogue; `None` for anything else.
    #[must_use]
    pub fn decode(datagram: &[u8]) -> Option<Self> {
        let whole: &[u8; OPENING_BYTES] = datagram.try_into().ok()?;
        let header = DatagramHeader::read(whole)?;
        let mut token = [0; 16];
        token.copy_from_slice(&whole[32..48]);
        let mut challenge = [0; 16];
        challenge.copy_from_slice(&whole[48..64]);
        let opening = Self {
            kind: header.kind,
            flow: header.flow,
            token: TestToken(token),
            challenge,
        };
        let opens = matches!(
            header.kind,
            DatagramKind::Hello
                | DatagramKind::Challenge
                | DatagramKind::Proof
                | DatagramKind::Ready
                | DatagramKind::NoTest
        );
        (opens && tag(opening.token) == header.tag).then_some(opening)
    }
}

impl OpeningDatagram {
    /// The answer of a server that has no test with the token of this hello; as long as the hello.
    #[must_use]
    pub fn without_test(&self, instance: ServerInstance) -> Self {
        let mut challenge = [0; 16];
        challenge[..8].copy_from_slice(&instance.0);
        Self {
            kind: DatagramKind::NoTest,
            challenge,
            ..*self
        }
    }

    /// The server that has no test with this token; `None` in any other datagram.
    #[must_use]
    pub fn instance_without_test(&self) -> Option<ServerInstance> {
        let instance = self.challenge.first_chunk()?;
        (self.kind == DatagramKind::NoTest).then_some(ServerInstance(*instance))
    }
}

/// Fills the payload behind the header with bytes that both ends can compute.
///
/// The same bytes in every datagram of a test (they depend on its tag only), so that a batch is
/// prepared once and a receiver that verifies compares against one copy.
pub fn fill_payload(payload: &mut [u8], tag: u32) {
    let mut state = u64::from(tag) | 1 << 40;
    for part in payload.chunks_mut(8) {
        // xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled", 2016).
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        let bytes = state.wrapping_mul(0x2545_F491_4F6C_DD1D).to_be_bytes();
        for (room, byte) in part.iter_mut().zip(bytes) {
            *room = byte;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header() -> DatagramHeader {
        DatagramHeader {
            kind: DatagramKind::Data,
            flow: 3,
            sequence: 77,
            sent_ns: 123_456_789,
            tag: 0xDEAD_BEEF,
        }
    }

    #[test]
    fn any_flipped_bit_of_a_header_is_noticed() {
        let mut bytes = [0; HEADER_BYTES];
        header().write(&mut bytes);
        assert_eq!(DatagramHeader::read(&bytes), Some(header()));
        for bit in 0..HEADER_BYTES * 8 {
            let mut damaged = bytes;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(DatagramHeader::read(&damaged), None, "bit {bit}");
        }
    }

    #[test]
    fn an_answer_of_the_server_is_never_longer_than_the_question() {
        let hello = OpeningDatagram {
            kind: DatagramKind::Hello,
            flow: 0,
            token: TestToken([7; 16]),
            challenge: [0; 16],
        };
        let challenge = OpeningDatagram {
            kind: DatagramKind::Challenge,
            challenge: [9; 16],
            ..hello
        };
        assert_eq!(hello.encode().len(), challenge.encode().len());
        assert_eq!(
            OpeningDatagram::decode(&challenge.encode()),
            Some(challenge)
        );
        let instance = ServerInstance([5; 8]);
        let no_test = hello.without_test(instance);
        assert_eq!(no_test.encode().len(), hello.encode().len());
        let read = OpeningDatagram::decode(&no_test.encode()).unwrap();
        assert_eq!(read.instance_without_test(), Some(instance));
        assert_eq!(hello.instance_without_test(), None);
    }

    proptest! {
        #[test]
        fn a_header_survives_the_trip(flow: u32, sequence: u64, sent_ns: u64, tag: u32) {
            let header = DatagramHeader { kind: DatagramKind::Data, flow, sequence, sent_ns, tag };
            let mut bytes = [0; HEADER_BYTES];
            header.write(&mut bytes);
            prop_assert_eq!(DatagramHeader::read(&bytes), Some(header));
        }

        #[test]
        fn no_datagram_makes_the_readers_panic(bytes: Vec<u8>) {
            let _ = DatagramHeader::read(&bytes);
            let _ = OpeningDatagram::decode(&bytes);
        }
    }
}
