//! The fixed part of test packets: RFC 8762 sections 4.2 and 4.3, with the session's identifier of RFC 8972 section 3.

use super::error_estimate::ErrorEstimate;
use super::key::{HMAC_BYTES, StampKey};
use super::time::TimestampFormat;
use thiserror::Error;

/// The port of reflectors (RFC 8762 section 4.1).
pub const PORT: u16 = 862;
/// The TTL, or hop limit, with which packets are sent: what is missing of it at their arrival is the number of hops (RFC 5357
/// section 4.1.2).
pub const SENT_TTL: u8 = 255;
/// Bytes of the fixed part without authentication.
pub const OPEN_BYTES: usize = 44;
/// Bytes of the fixed part with authentication.
pub const AUTHENTICATED_BYTES: usize = 112;
/// Bytes of the shortest packet, of a sender of TWAMP-Light (RFC 5357 section 4.1.2).
pub const MIN_BYTES: usize = 14;
/// Bytes of the fixed part that its HMAC covers, and after which it stands.
const COVERED_BYTES: usize = 96;

/// The two modes of a session.
#[derive(Debug, Clone, Copy)]
pub enum StampMode<'k> {
    /// Without authentication.
    Open,
    /// With it.
    Authenticated(&'k StampKey),
}

impl StampMode<'_> {
    /// Bytes of the fixed part, after which extensions begin.
    #[must_use]
    pub const fn fixed_bytes(self) -> usize {
        match self {
            Self::Open => OPEN_BYTES,
            Self::Authenticated(_) => AUTHENTICATED_BYTES,
        }
    }

    const fn places(self) -> &'static FieldPlaces {
        match self {
            Self::Open => &OPEN,
            Self::Authenticated(_) => &AUTHENTICATED,
        }
    }
}

/// The offsets of the fields in a packet, bytes. The sequence number is at 0 in all of them.
struct FieldPlaces {
    timestamp: usize,
    error: usize,
    ssid: usize,
    received: usize,
    sender_sequence: usize,
    sender_timestamp: usize,
    sender_error: usize,
    sender_ttl: usize,
}

const OPEN: FieldPlaces = FieldPlaces {
    timestamp: 4,
    error: 12,
    ssid: 14,
    received: 16,
    sender_sequence: 24,
    sender_timestamp: 28,
    sender_error: 36,
    sender_ttl: 40,
};

const AUTHENTICATED: FieldPlaces = FieldPlaces {
    timestamp: 16,
    error: 24,
    ssid: 26,
    received: 32,
    sender_sequence: 48,
    sender_timestamp: 64,
    sender_error: 72,
    sender_ttl: 80,
};

/// The reason why a packet is not one of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum StampError {
    /// It ends before the fields that every packet has.
    #[error("the packet is too short")]
    TooShort,
    /// Its HMAC is not that of the key.
    #[error("the packet is not authentic")]
    NotAuthentic,
}

/// The fields of a sender's packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderStamp {
    /// The number of the packet, from 0.
    pub sequence: u32,
    /// The time at which it was sent, in the format of `error`.
    pub timestamp: [u8; 8],
    /// The error estimate of that time.
    pub error: [u8; 2],
    /// The session's identifier; 0 in packets that have none, such as those of TWAMP-Light.
    pub ssid: u16,
}

/// The fields of a reflected packet; those after the error estimate are `None` in a packet that is too short for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReflectedStamp {
    /// The number of the packet: that of the sender from a stateless reflector, one of its own from one that keeps state.
    pub sequence: u32,
    /// The time at which it was sent, in the format of the error estimate.
    pub timestamp: [u8; 8],
    /// The format of the times.
    pub format: TimestampFormat,
    /// The error estimate; `None` where it is an invalid one.
    pub error: Option<ErrorEstimate>,
    /// The time at which the reflector received the sender's packet.
    pub received: Option<[u8; 8]>,
    /// The number of the sender's packet.
    pub sender_sequence: Option<u32>,
    /// The time in the sender's packet.
    pub sender_timestamp: Option<[u8; 8]>,
    /// The TTL, or hop limit, with which the sender's packet arrived.
    pub sender_ttl: Option<u8>,
}

/// Writes the fixed part of a sender's packet into `packet`, as far as it is long enough. What follows it stays.
pub fn encode_request(sender: &SenderStamp, mode: StampMode<'_>, packet: &mut [u8]) {
    let places = mode.places();
    let fixed = packet.len().min(mode.fixed_bytes());
    if let Some(fixed) = packet.get_mut(..fixed) {
        fixed.fill(0);
    }
    put(packet, 0, &sender.sequence.to_be_bytes());
    put(packet, places.timestamp, &sender.timestamp);
    put(packet, places.error, &sender.error);
    put(packet, places.ssid, &sender.ssid.to_be_bytes());
    authenticate(packet, mode);
}

/// Reads a sender's packet.
///
/// # Errors
/// One that is too short, or not authentic where it has to be.
pub fn decode_request(packet: &[u8], mode: StampMode<'_>) -> Result<SenderStamp, StampError> {
    verify(packet, mode)?;
    let places = mode.places();
    let read = || {
        Some(SenderStamp {
            sequence: u32::from_be_bytes(field(packet, 0)?),
            timestamp: field(packet, places.timestamp)?,
            error: field(packet, places.error)?,
            ssid: session_id(packet, mode).unwrap_or(0),
        })
    };
    read().ok_or(StampError::TooShort)
}

/// The identifier of the session. Packets of TWAMP-Light have padding in its place, which may be random, and after it, where those of
/// STAMP have zeros.
fn session_id(packet: &[u8], mode: StampMode<'_>) -> Option<u16> {
    let place = mode.places().ssid;
    let end = match mode {
        StampMode::Open => OPEN_BYTES,
        StampMode::Authenticated(_) => COVERED_BYTES,
    };
    let unused = packet.get(place..end)?.get(2..)?;
    let is_stamp = unused.iter().all(|octet| *octet == 0);
    field(packet, place)
        .map(u16::from_be_bytes)
        .filter(|_| is_stamp)
}

/// Writes the reply to `request` over `reply`, which holds the packet that was received: it keeps its length, and what follows the fixed
/// part. The time of its departure is missing until [`seal_reply`].
pub fn write_reply(
    request: &SenderStamp,
    reflected: &ReflectedStamp,
    mode: StampMode<'_>,
    reply: &mut [u8],
) {
    let places = mode.places();
    let fixed = reply.len().min(mode.fixed_bytes());
    if let Some(fixed) = reply.get_mut(..fixed) {
        fixed.fill(0);
    }
    put(reply, 0, &reflected.sequence.to_be_bytes());
    let error = reflected.error.unwrap_or_default().encode();
    put(reply, places.error, &error);
    put(reply, places.ssid, &request.ssid.to_be_bytes());
    put(
        reply,
        places.received,
        &reflected.received.unwrap_or_default(),
    );
    put(
        reply,
        places.sender_sequence,
        &request.sequence.to_be_bytes(),
    );
    put(reply, places.sender_timestamp, &request.timestamp);
    put(reply, places.sender_error, &request.error);
    put(
        reply,
        places.sender_ttl,
        &[reflected.sender_ttl.unwrap_or_default()],
    );
}

/// Writes the time of its departure into a reply, and the HMAC.
pub fn seal_reply(timestamp: [u8; 8], mode: StampMode<'_>, reply: &mut [u8]) {
    put(reply, mode.places().timestamp, &timestamp);
    authenticate(reply, mode);
}

/// Reads a reflected packet.
///
/// # Errors
/// One that is too short, or not authentic where it has to be.
pub fn decode_reply(packet: &[u8], mode: StampMode<'_>) -> Result<ReflectedStamp, StampError> {
    verify(packet, mode)?;
    let places = mode.places();
    let read = || {
        let (format, error) = ErrorEstimate::decode(field(packet, places.error)?);
        Some(ReflectedStamp {
            sequence: u32::from_be_bytes(field(packet, 0)?),
            timestamp: field(packet, places.timestamp)?,
            format,
            error,
            received: field(packet, places.received),
            sender_sequence: field(packet, places.sender_sequence).map(u32::from_be_bytes),
            sender_timestamp: field(packet, places.sender_timestamp),
            sender_ttl: packet.get(places.sender_ttl).copied(),
        })
    };
    read().ok_or(StampError::TooShort)
}

/// Writes the HMAC of the fixed part, where the session is authenticated.
fn authenticate(packet: &mut [u8], mode: StampMode<'_>) {
    if let StampMode::Authenticated(key) = mode
        && let Some(covered) = packet.get(..COVERED_BYTES)
    {
        let hmac = key.hmac(&[covered]);
        put(packet, COVERED_BYTES, &hmac);
    }
}

fn verify(packet: &[u8], mode: StampMode<'_>) -> Result<(), StampError> {
    let StampMode::Authenticated(key) = mode else {
        return Ok(());
    };
    let parts = || {
        Some((
            packet.get(..COVERED_BYTES)?,
            field::<HMAC_BYTES>(packet, COVERED_BYTES)?,
        ))
    };
    let (covered, hmac) = parts().ok_or(StampError::TooShort)?;
    match key.verifies(&[covered], &hmac) {
        true => Ok(()),
        false => Err(StampError::NotAuthentic),
    }
}

/// The bytes at an offset.
pub(super) fn field<const N: usize>(packet: &[u8], at: usize) -> Option<[u8; N]> {
    packet.get(at..)?.first_chunk().copied()
}

/// Writes bytes at an offset, as far as there is room.
pub(super) fn put(packet: &mut [u8], at: usize, value: &[u8]) {
    let room = packet.get_mut(at..).into_iter().flatten();
    for (to, from) in room.zip(value) {
        *to = *from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sender() -> SenderStamp {
        SenderStamp {
            sequence: 0x0102_0304,
            timestamp: [0x11; 8],
            error: [0x80, 0x21],
            ssid: 0xabcd,
        }
    }

    fn reflected(sequence: u32) -> ReflectedStamp {
        ReflectedStamp {
            sequence,
            timestamp: [0; 8],
            format: TimestampFormat::Ntp,
            error: Some(ErrorEstimate::default()),
            received: Some([0x22; 8]),
            sender_sequence: None,
            sender_timestamp: None,
            sender_ttl: Some(254),
        }
    }

    #[test]
    fn fields_stand_where_the_figures_of_rfc_8762_have_them() {
        let mut packet = vec![0xff; OPEN_BYTES];
        encode_request(&sender(), StampMode::Open, &mut packet);
        // Figure 2, with the identifier of RFC 8972 figure 1.
        let expected = "01020304 1111111111111111 8021 abcd".replace(' ', "") + &"00".repeat(28);
        assert_eq!(hex::encode(&packet), expected);
        let request = decode_request(&packet, StampMode::Open).unwrap();
        assert_eq!(request, sender());
        write_reply(&request, &reflected(7), StampMode::Open, &mut packet);
        seal_reply([0x33; 8], StampMode::Open, &mut packet);
        // Figure 5.
        let expected = "00000007 3333333333333333 0001 abcd 2222222222222222 01020304 1111111111111111 8021 0000 fe 000000";
        assert_eq!(hex::encode(&packet), expected.replace(' ', ""));
    }

    #[test]
    fn authenticated_fields_stand_where_the_figures_have_them() {
        let key = StampKey::new(b"0123456789abcdef0123456789abcdef").unwrap();
        let mode = StampMode::Authenticated(&key);
        let mut packet = vec![0xff; AUTHENTICATED_BYTES];
        encode_request(&sender(), mode, &mut packet);
        // Figure 3: 12 octets and 68 octets that are zero.
        let expected = "01020304".to_owned()
            + &"00".repeat(12)
            + &"11".repeat(8)
            + "8021abcd"
            + &"00".repeat(68);
        assert_eq!(hex::encode(&packet[..96]), expected);
        let request = decode_request(&packet, mode).unwrap();
        write_reply(&request, &reflected(7), mode, &mut packet);
        seal_reply([0x33; 8], mode, &mut packet);
        // Figure 6.
        let expected = "00000007".to_owned()
            + &"00".repeat(12)
            + &"33".repeat(8)
            + "0001abcd00000000"
            + &"22".repeat(8)
            + &"00".repeat(8)
            + "01020304"
            + &"00".repeat(12)
            + &"11".repeat(8)
            + "8021000000000000fe"
            + &"00".repeat(15);
        assert_eq!(hex::encode(&packet[..96]), expected);
        let reply = decode_reply(&packet, mode).unwrap();
        assert_eq!(
            (reply.sender_sequence, reply.sender_ttl),
            (Some(0x0102_0304), Some(254))
        );
        for nth in 0..AUTHENTICATED_BYTES {
            let mut altered = packet.clone();
            altered[nth] ^= 1;
            assert_eq!(
                decode_reply(&altered, mode),
                Err(StampError::NotAuthentic),
                "{nth}"
            );
        }
        assert_eq!(
            decode_reply(&packet[..111], mode),
            Err(StampError::TooShort)
        );
    }

    #[test]
    fn a_packet_of_twamp_light_has_the_fields_it_has_room_for() {
        let mut packet = vec![0; MIN_BYTES];
        encode_request(&sender(), StampMode::Open, &mut packet);
        let request = decode_request(&packet, StampMode::Open).unwrap();
        assert_eq!((request.sequence, request.ssid), (0x0102_0304, 0));
        write_reply(&request, &reflected(7), StampMode::Open, &mut packet);
        seal_reply([0x33; 8], StampMode::Open, &mut packet);
        let reply = decode_reply(&packet, StampMode::Open).unwrap();
        assert_eq!((reply.sequence, reply.timestamp), (7, [0x33; 8]));
        assert_eq!((reply.received, reply.sender_sequence), (None, None));
        assert_eq!(
            decode_request(&packet[..13], StampMode::Open),
            Err(StampError::TooShort)
        );
        // Its padding is no identifier.
        packet.resize(60, 0x5a);
        assert_eq!(decode_request(&packet, StampMode::Open).unwrap().ssid, 0);
    }

    proptest! {
        #[test]
        fn a_reply_is_as_long_as_its_request_and_keeps_what_follows(mut packet in proptest::collection::vec(any::<u8>(), MIN_BYTES..300)) {
            let before = packet.clone();
            let request = decode_request(&packet, StampMode::Open).unwrap();
            write_reply(&request, &reflected(9), StampMode::Open, &mut packet);
            seal_reply([0x33; 8], StampMode::Open, &mut packet);
            prop_assert_eq!(packet.len(), before.len());
            prop_assert_eq!(packet.get(OPEN_BYTES..), before.get(OPEN_BYTES..));
            prop_assert!(decode_reply(&packet, StampMode::Open).is_ok());
        }

        #[test]
        fn any_bytes_are_read_or_refused(packet in proptest::collection::vec(any::<u8>(), 0..200)) {
            let key = StampKey::new(&[7; 32]).unwrap();
            for mode in [StampMode::Open, StampMode::Authenticated(&key)] {
                let _ = decode_request(&packet, mode);
                let _ = decode_reply(&packet, mode);
            }
        }
    }
}
