//! The datagrams of iperf3: four bytes each way to open a stream, then payload with numbers and timestamps.
//!
//! ```text
//!  0  seconds   4  microseconds   8  number, 32 or 64 bits, counted from 1
//! ```
//!
//! All big-endian. The timestamp is the sender's monotonic clock since version 3.7 and its wall clock before:
//! only differences are meaningful.

/// Bytes in a hello and in its answer.
pub const HELLO_BYTES: usize = 4;

/// The hellos of clients, each with its answer: numbers in the byte order of
/// little-endian and big-endian hosts up to 3.11, text on little-endian hosts from 3.12 and on all from
/// 3.17, and text with its bytes swapped on big-endian hosts in between.
const HELLOS: [([u8; HELLO_BYTES], [u8; HELLO_BYTES]); 4] = [
    (*b"9876", *b"6789"),
    (*b"6789", *b"9876"),
    (0x075b_cd15_u32.to_le_bytes(), 0x3ade_68b1_u32.to_le_bytes()),
    (0x075b_cd15_u32.to_be_bytes(), 0x3ade_68b1_u32.to_be_bytes()),
];

/// The hello that current clients send.
pub const CLIENT_HELLO: [u8; HELLO_BYTES] = HELLOS[0].0;

/// The answer to a client's hello; `None` for any other datagram.
#[must_use]
pub fn answer_to(datagram: &[u8]) -> Option<[u8; HELLO_BYTES]> {
    HELLOS
        .iter()
        .find(|(hello, _)| hello == datagram)
        .map(|(_, answer)| *answer)
}

/// `true` when a datagram is a server's answer, of any version.
#[must_use]
pub fn is_answer(datagram: &[u8]) -> bool {
    HELLOS.iter().any(|(_, answer)| answer == datagram)
}

/// `true` when a datagram belongs to the opening of a stream, and is not payload.
#[must_use]
pub fn is_opening(datagram: &[u8]) -> bool {
    is_answer(datagram) || answer_to(datagram).is_some()
}

/// The width of a datagram's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterWidth {
    /// 32 bits.
    Narrow,
    /// 64 bits (`--udp-counters-64bit`).
    Wide,
}

/// The header of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Iperf3Header {
    /// Its number in the stream, counted from 0 (on the wire from 1).
    pub sequence: u64,
    /// The sender's clock, ns, in whole microseconds.
    pub sent_ns: u64,
}

impl CounterWidth {
    /// Bytes in a header.
    #[must_use]
    pub const fn header(self) -> usize {
        match self {
            Self::Narrow => 12,
            Self::Wide => 16,
        }
    }

    /// Writes a header over the first bytes of a datagram that has room for it.
    #[inline]
    pub fn write(self, datagram: &mut [u8], header: &Iperf3Header) {
        let seconds = (header.sent_ns / 1_000_000_000) as u32;
        let micros = (header.sent_ns % 1_000_000_000 / 1000) as u32;
        let number = header.sequence.wrapping_add(1);
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&seconds.to_be_bytes());
        bytes[4..8].copy_from_slice(&micros.to_be_bytes());
        match self {
            Self::Narrow => bytes[8..12].copy_from_slice(&(number as u32).to_be_bytes()),
            Self::Wide => bytes[8..16].copy_from_slice(&number.to_be_bytes()),
        }
        if let Some(room) = datagram.get_mut(..self.header()) {
            for (room, byte) in room.iter_mut().zip(bytes) {
                *room = byte;
            }
        }
    }

    /// Reads a header; `near` is the expected number, by which a narrow number that has wrapped is extended.
    ///
    /// `None` for a datagram that is too short, or has the number 0, which no sender uses.
    #[inline]
    #[must_use]
    pub fn read(self, datagram: &[u8], near: u64) -> Option<Iperf3Header> {
        let word = |at: usize| {
            let four = datagram.get(at..)?.first_chunk()?;
            Some(u32::from_be_bytes(*four))
        };
        let (seconds, micros) = (u64::from(word(0)?), u64::from(word(4)?));
        let sequence = match self {
            Self::Wide => (u64::from(word(8)?) << 32 | u64::from(word(12)?)).checked_sub(1)?,
            Self::Narrow => {
                let number = word(8)?;
                if number == 0 && near < 1 << 31 {
                    return None;
                }
                // The step from the expected number, forwards or backwards, whichever is shorter.
                let step = number
                    .wrapping_sub((near as u32).wrapping_add(1))
                    .cast_signed();
                near.checked_add_signed(i64::from(step))?
            }
        };
        Some(Iperf3Header {
            sequence,
            sent_ns: seconds
                .wrapping_mul(1_000_000_000)
                .wrapping_add(micros.wrapping_mul(1000)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_hello_of_any_version_has_its_answer() {
        assert_eq!(answer_to(b"9876"), Some(*b"6789"));
        assert_eq!(
            answer_to(&[0x15, 0xcd, 0x5b, 0x07]),
            Some([0xb1, 0x68, 0xde, 0x3a])
        );
        assert_eq!(
            answer_to(&[0x07, 0x5b, 0xcd, 0x15]),
            Some([0x3a, 0xde, 0x68, 0xb1])
        );
        assert_eq!(answer_to(b"98765"), None);
        assert!(is_answer(b"6789") && is_opening(b"9876") && !is_opening(b"abcd"));
    }

    #[test]
    fn a_first_datagram_is_number_one_on_the_wire() {
        let mut bytes = [0xff; 16];
        let header = Iperf3Header {
            sequence: 0,
            sent_ns: 5_000_007_000,
        };
        CounterWidth::Narrow.write(&mut bytes, &header);
        assert_eq!(bytes[..12], [0, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0, 1]);
        CounterWidth::Wide.write(&mut bytes, &header);
        assert_eq!(bytes[8..], [0, 0, 0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn a_narrow_number_that_has_wrapped_goes_on() {
        let mut bytes = [0; 12];
        for sequence in [
            u64::from(u32::MAX) - 1,
            u64::from(u32::MAX),
            1 << 32,
            (1 << 32) + 7,
        ] {
            let header = Iperf3Header {
                sequence,
                sent_ns: 0,
            };
            CounterWidth::Narrow.write(&mut bytes, &header);
            assert_eq!(
                CounterWidth::Narrow.read(&bytes, sequence + 3),
                Some(header)
            );
            assert_eq!(
                CounterWidth::Narrow.read(&bytes, sequence - 3),
                Some(header)
            );
        }
        assert_eq!(CounterWidth::Narrow.read(&[0; 12], 0), None);
    }

    proptest! {
        #[test]
        fn a_header_survives_the_trip(sequence in 0..u64::MAX / 2, micros in 0..u64::from(u32::MAX)) {
            let header = Iperf3Header { sequence, sent_ns: micros * 1000 };
            let mut bytes = [0; 16];
            for numbering in [CounterWidth::Narrow, CounterWidth::Wide] {
                numbering.write(&mut bytes, &header);
                prop_assert_eq!(numbering.read(&bytes, sequence), Some(header));
            }
        }

        #[test]
        fn no_datagram_makes_the_readers_panic(bytes: Vec<u8>, near: u64) {
            let _ = (answer_to(&bytes), is_answer(&bytes));
            let _ = CounterWidth::Narrow.read(&bytes, near);
            let _ = CounterWidth::Wide.read(&bytes, near);
        }
    }
}
