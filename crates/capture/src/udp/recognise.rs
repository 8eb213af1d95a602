//! Datagrams that carry numbers, recognised by bytes of their own.

use crate::bytes::{be16, be32, be64};
use crate::model::RecognisedProtocol;

/// How the numbers of a flow are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberFormat {
    /// iperf3 with 32 bits: s, µs, number from 1.
    Iperf3,
    /// iperf3 with 64 bits.
    Iperf3Wide,
    /// iperf 2: number, s, µs; 2.0.10 and later have the upper 32 bits behind them.
    Iperf2,
    /// caudal: 0xCA0DA1, kind, flow, number, ns.
    Caudal,
    /// RBT: CRC, kind 1, session, low bits of the packet number.
    Rbt,
    /// RTP: version 2, payload type, 16 bits, timestamp, SSRC.
    Rtp,
}

/// A number with the sender's time, where both are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NumberedDatagram {
    pub(crate) number: u64,
    pub(crate) sent_ns: Option<u64>,
}

/// `"9876"`, `"6789"` and the numbers of iperf3 up to 3.11 in both byte orders: its datagrams before the test.
const IPERF3_HELLO: [u32; 6] = [
    0x3938_3736,
    0x3637_3839,
    0x15CD_5B07,
    0x075B_CD15,
    0xB168_DE3A,
    0x3ADE_68B1,
];

/// `true` for one of iperf3's datagrams before the test.
pub(crate) fn is_iperf3_hello(payload: &[u8], bytes: u32) -> bool {
    bytes == 4 && payload.len() == 4 && IPERF3_HELLO.contains(&be32(payload, 0))
}

/// `true` for the long header of QUIC, version 1 or 2 or a negotiation of versions (RFC 9000 section 17.2, RFC 9369).
pub(crate) fn is_quic(payload: &[u8]) -> bool {
    payload.len() >= 7
        && payload[0] & 0x80 != 0
        && payload[5] <= 20
        && (matches!(be32(payload, 1), 1 | 0x6B33_43CF) && payload[0] & 0x40 != 0
            || be32(payload, 1) & 0x0f0f_0f0f == 0x0a0a_0a0a)
}

fn seconds(payload: &[u8], at: usize) -> Option<u64> {
    let micros = be32(payload, at + 4);
    (micros < 1_000_000)
        .then(|| u64::from(be32(payload, at)) * 1_000_000_000 + u64::from(micros) * 1_000)
}

impl NumberFormat {
    /// Formats to try, the most certain first.
    pub(crate) const ALL: [Self; 6] = [
        Self::Caudal,
        Self::Iperf3,
        Self::Iperf3Wide,
        Self::Iperf2,
        Self::Rbt,
        Self::Rtp,
    ];

    /// The protocol.
    pub(crate) const fn protocol(self) -> RecognisedProtocol {
        match self {
            Self::Iperf3 | Self::Iperf3Wide => RecognisedProtocol::Iperf3Udp,
            Self::Iperf2 => RecognisedProtocol::Iperf2Udp,
            Self::Caudal => RecognisedProtocol::CaudalUdp,
            Self::Rbt => RecognisedProtocol::Rbt,
            Self::Rtp => RecognisedProtocol::Rtp,
        }
    }

    /// The number in a datagram; `None` where it is not of this format.
    #[inline]
    pub(crate) fn read(self, payload: &[u8]) -> Option<NumberedDatagram> {
        let with = |number, sent_ns| Some(NumberedDatagram { number, sent_ns });
        match self {
            Self::Caudal if payload.len() >= 32 && be32(payload, 0) == 0xCA0D_A105 => {
                with(be64(payload, 8), Some(be64(payload, 16)))
            }
            Self::Iperf3 if payload.len() >= 12 => {
                with(u64::from(be32(payload, 8)), Some(seconds(payload, 0)?))
            }
            Self::Iperf3Wide if payload.len() >= 16 => {
                with(be64(payload, 8), Some(seconds(payload, 0)?))
            }
            Self::Iperf2 if payload.len() >= 16 => {
                let number = be32(payload, 0);
                // The last datagrams have negative numbers.
                let sent_ns = Some(seconds(payload, 4)?);
                (number.cast_signed() >= 0).then_some(NumberedDatagram {
                    number: u64::from(number),
                    sent_ns,
                })
            }
            Self::Rbt if payload.len() > 20 && payload[4..8] == [1, 0, 0, 0] => {
                with(u64::from(be32(payload, 12).swap_bytes()), None)
            }
            Self::Rtp if payload.len() >= 12 && payload[0] >> 6 == 2 => {
                // Payload types 72 to 76 would be RTCP's (RFC 5761 section 4).
                let kind = payload[1] & 0x7f;
                (!(72..=76).contains(&kind)).then_some(NumberedDatagram {
                    number: u64::from(be16(payload, 2)),
                    sent_ns: None,
                })
            }
            _ => None,
        }
    }

    /// `true` when the second datagram can follow the first in one sequence, which is the first of so many in its frame.
    pub(crate) fn follows(self, first: &[u8], datagrams: u64, second: &[u8]) -> bool {
        let (Some(one), Some(two)) = (self.read(first), self.read(second)) else {
            return false;
        };
        let step = match self {
            Self::Rtp => u64::from((two.number as u16).wrapping_sub(one.number as u16)),
            _ => two.number.wrapping_sub(one.number),
        };
        let near = (1..=16).contains(&step.wrapping_sub(datagrams - 1));
        let in_time = match (one.sent_ns, two.sent_ns) {
            (Some(one), Some(two)) => two >= one && two - one < 60_000_000_000,
            _ => true,
        };
        let same = match self {
            // Payload type and SSRC.
            Self::Rtp => first[1] & 0x7f == second[1] & 0x7f && be32(first, 8) == be32(second, 8),
            Self::Rbt => first[8..12] == second[8..12] && be32(first, 8) != 0,
            _ => true,
        };
        near && in_time && same
    }

    /// Datagrams in a row that must follow the one before them before the format is believed: a magic number needs one, times and numbers three.
    pub(crate) const fn needed(self) -> u8 {
        match self {
            Self::Caudal => 1,
            Self::Iperf3 | Self::Iperf3Wide | Self::Iperf2 | Self::Rbt => 3,
            Self::Rtp => 4,
        }
    }

    /// Bits of the number: narrow ones are completed to 64.
    pub(crate) const fn bits(self) -> u32 {
        match self {
            Self::Rtp => 16,
            Self::Iperf3 | Self::Iperf2 | Self::Rbt => 32,
            Self::Iperf3Wide | Self::Caudal => 64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iperf3(number: u32) -> Vec<u8> {
        let words = [7_u32, 500, number, 0];
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn formats_are_told_apart_by_what_follows() {
        let (one, two) = (iperf3(1), iperf3(2));
        let fits: Vec<_> = NumberFormat::ALL
            .into_iter()
            .filter(|format| format.follows(&one, 1, &two))
            .collect();
        assert_eq!(fits, [NumberFormat::Iperf3]);
    }

    #[test]
    fn the_first_datagrams_of_iperf3_and_quic_say_what_they_are() {
        assert!(is_iperf3_hello(b"9876", 4));
        assert!(!is_iperf3_hello(b"9877", 4));
        assert!(is_quic(&[0xc3, 0, 0, 0, 1, 8, 1, 2, 3]));
        assert!(!is_quic(&[0x43, 0, 0, 0, 1, 8, 1, 2, 3]));
    }
}
