//! What a TCP connection carries, by its first bytes.

use crate::bytes::be32;
use crate::model::{FrameDirection, RecognisedProtocol};

/// Bytes of a cookie of iperf3: 36 characters of `a` to `z` and `2` to `7`, and a NUL.
const COOKIE_BYTES: usize = 37;

fn is_cookie(payload: &[u8]) -> bool {
    payload.get(..COOKIE_BYTES).is_some_and(|cookie| {
        cookie[..36]
            .iter()
            .all(|c| c.is_ascii_lowercase() || (b'2'..=b'7').contains(c))
            && cookie[36] == 0
    })
}

/// iperf 2's first words: its flags with a length, `0x4001…` or such, or the digits of its payload.
fn is_iperf2(payload: &[u8]) -> bool {
    if payload.len() < 24 {
        return false;
    }
    let flags = be32(payload, 0);
    let digits = payload[..24].starts_with(b"012345678901234567890123");
    // EXTEND or VERSION1 with the length of the header behind the lowest bit (LEN_BIT), or a bare VERSION1 header of iperf 2.0
    // whose second word is the number of threads and third the port.
    let with_length = flags & 0x0001_0000 != 0
        && flags & 0x4000_0000 != 0
        && flags & 0x3000_0000 == 0
        && (0x18..=0x100).contains(&(flags & 0xfffe));
    let bare = matches!(flags, 0x8000_0000 | 0x8000_0001)
        && (1..=1024).contains(&be32(payload, 4))
        && be32(payload, 8) <= 0xffff;
    digits || with_length || bare
}

/// What the first payload of an end says.
pub(crate) fn recognise_first(
    direction: FrameDirection,
    payload: &[u8],
) -> Option<RecognisedProtocol> {
    let starts = |prefix: &[u8]| payload.starts_with(prefix);
    if starts(b"SSH-") {
        return Some(RecognisedProtocol::Ssh);
    }
    if payload.len() >= 5 && payload[0] == 22 && payload[1] == 3 && payload[2] <= 4 {
        return Some(RecognisedProtocol::Tls);
    }
    if direction == FrameDirection::ToClient {
        return starts(b"HTTP/1.").then_some(RecognisedProtocol::Http);
    }
    if starts(b"CAUDAL") {
        // The byte behind the version tells the purpose (spec/protocol.md section 1.1).
        return Some(match payload.get(7) {
            Some(b'D') => RecognisedProtocol::CaudalData,
            _ => RecognisedProtocol::CaudalControl,
        });
    }
    if is_cookie(payload) {
        return Some(RecognisedProtocol::Iperf3Data);
    }
    let methods: [&[u8]; 6] = [
        b"GET ",
        b"POST ",
        b"PUT ",
        b"HEAD ",
        b"DELETE ",
        b"OPTIONS ",
    ];
    if methods.iter().any(|method| starts(method)) {
        return Some(RecognisedProtocol::Http);
    }
    is_iperf2(payload).then_some(RecognisedProtocol::Iperf2Tcp)
}

/// The server's first bytes distinguish a control connection of iperf3 from those with data: it asks for the parameters (9) or refuses (255).
pub(crate) fn is_iperf3_control(payload: &[u8], bytes: u32) -> bool {
    bytes == 1 && matches!(payload.first(), Some(9 | 255))
}

#[cfg(test)]
mod tests {
    use super::*;
    use FrameDirection::{ToClient, ToServer};

    #[test]
    fn protocols_are_known_by_their_first_bytes() {
        let cookie = [&b"abcdefghijklmnopqrstuvwxyz234567abcd"[..], &[0]].concat();
        let mut iperf2 = [0; 64];
        iperf2[..4].copy_from_slice(&0x4001_0078_u32.to_be_bytes());
        let cases: [(FrameDirection, &[u8], Option<RecognisedProtocol>); 7] = [
            (ToServer, &cookie, Some(RecognisedProtocol::Iperf3Data)),
            (ToServer, &iperf2, Some(RecognisedProtocol::Iperf2Tcp)),
            (
                ToServer,
                b"CAUDAL\x01C",
                Some(RecognisedProtocol::CaudalControl),
            ),
            (
                ToServer,
                b"GET / HTTP/1.1\r\n",
                Some(RecognisedProtocol::Http),
            ),
            (ToClient, b"SSH-2.0-x", Some(RecognisedProtocol::Ssh)),
            (ToServer, &[22, 3, 1, 2, 0], Some(RecognisedProtocol::Tls)),
            (ToServer, &[0; 64], None),
        ];
        for (direction, payload, expected) in cases {
            assert_eq!(recognise_first(direction, payload), expected, "{payload:?}");
        }
    }
}
