//! Probes of the path MTU: padded datagrams and their answers, which are as long (RFC 8899).
//!
//! ```text
//!  0  header, whose sequence number is the length of the datagram
//! 32  token of the session
//! 48  answer: the path MTU that the server's kernel knows towards the client; 0 without one
//! 52  padding
//! ```

use crate::datagram::{DatagramHeader, DatagramKind, HEADER_BYTES, tag};
use crate::preamble::TestToken;

/// Bytes in the shortest probe.
pub const MIN_PROBE_BYTES: usize = 64;
/// The place of the token.
const TOKEN: usize = HEADER_BYTES;
/// The place of the path MTU that the server knows.
const KNOWN_MTU: usize = TOKEN + 16;

/// A probe of the path MTU, or the answer to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MtuProbe {
    /// `true` for an answer.
    pub is_answer: bool,
    /// The session it belongs to.
    pub token: TestToken,
    /// The number of the try.
    pub number: u32,
    /// The client's clock when it sent the probe, ns.
    pub sent_ns: u64,
    /// The path MTU that the server's kernel knows towards the client, bytes; 0 without one, and in a probe.
    pub known_mtu: u32,
}

impl MtuProbe {
    /// Writes the probe over a datagram of at least [`MIN_PROBE_BYTES`]; what follows is padding. A shorter one stays as it is.
    pub fn write(&self, datagram: &mut [u8]) {
        let length = datagram.len() as u64;
        if datagram.len() < MIN_PROBE_BYTES {
            return;
        }
        let kind = match self.is_answer {
            true => DatagramKind::MtuAnswer,
            false => DatagramKind::MtuProbe,
        };
        if let Some(room) = datagram.first_chunk_mut::<HEADER_BYTES>() {
            let header = DatagramHeader {
                kind,
                flow: self.number,
                sequence: length,
                sent_ns: self.sent_ns,
                tag: tag(self.token),
            };
            header.write(room);
        }
        let (token, known_mtu) = (self.token.0, self.known_mtu.to_be_bytes());
        let rest = datagram.iter_mut().skip(TOKEN);
        for (room, byte) in rest.zip(token.into_iter().chain(known_mtu)) {
            *room = byte;
        }
    }

    /// Reads a probe or an answer; `None` for anything else, and for one that is not as long as it says.
    #[must_use]
    pub fn read(datagram: &[u8]) -> Option<Self> {
        let header = DatagramHeader::read(datagram)?;
        let is_answer = match header.kind {
            DatagramKind::MtuProbe => false,
            DatagramKind::MtuAnswer => true,
            _ => return None,
        };
        let token = TestToken(*datagram.get(TOKEN..)?.first_chunk()?);
        let known_mtu = u32::from_be_bytes(*datagram.get(KNOWN_MTU..)?.first_chunk()?);
        let is_whole =
            header.sequence == datagram.len() as u64 && datagram.len() >= MIN_PROBE_BYTES;
        (is_whole && tag(token) == header.tag).then_some(Self {
            is_answer,
            token,
            number: header.flow,
            sent_ns: header.sent_ns,
            known_mtu,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datagram::OpeningDatagram;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_probe_survives_the_trip_at_its_own_length_only(
            is_answer: bool, token: [u8; 16], number: u32, sent_ns: u64, known_mtu: u32, length in MIN_PROBE_BYTES..9000
        ) {
            let probe = MtuProbe { is_answer, token: TestToken(token), number, sent_ns, known_mtu };
            let mut datagram = vec![0; length];
            probe.write(&mut datagram);
            prop_assert_eq!(MtuProbe::read(&datagram), Some(probe));
            prop_assert_eq!(OpeningDatagram::decode(&datagram), None);
            prop_assert_eq!(MtuProbe::read(&datagram[..length - 1]), None);
            datagram.push(0);
            prop_assert_eq!(MtuProbe::read(&datagram), None);
        }

        #[test]
        fn nothing_makes_the_reader_panic(bytes: Vec<u8>) {
            let _ = MtuProbe::read(&bytes);
        }
    }

    #[test]
    fn no_probe_is_shorter_than_the_minimum() {
        let probe = MtuProbe {
            is_answer: false,
            token: TestToken([7; 16]),
            number: 0,
            sent_ns: 0,
            known_mtu: 0,
        };
        let mut datagram = [0; MIN_PROBE_BYTES - 1];
        probe.write(&mut datagram);
        assert_eq!(datagram, [0; MIN_PROBE_BYTES - 1]);
        assert_eq!(MtuProbe::read(&datagram), None);
    }
}
