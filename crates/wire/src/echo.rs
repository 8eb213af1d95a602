//! The bytes of an echo test: the announcement before a series of messages over TCP, and the content of a
//! message over UDP.
//!
//! A TCP message is payload and nothing else: an [`Announcement`] gives the size of the messages that follow;
//! it is echoed itself, and then they are, in order. A UDP message begins with its number, counted over the flow from 0, as
//! a big-endian integer of its lowest 8 bytes, or of as many as the message has. On a schedule a message
//! of [`STAMPED_BYTES`] bytes or more also carries times, and the server writes its own into the copy it sends
//! back:
//!
//! ```text
//!  0  number                     8  client's monotonic clock when it was sent, ns
//! 16  server's clock when it came in, ns; 0 on the way there
//! 24  server's clock when it went out again, ns; 0 on the way there
//! ```

/// Bytes in an announcement.
pub const ANNOUNCEMENT_BYTES: usize = 16;
const MAGIC: [u8; 4] = *b"ECHO";

/// Announces messages of one size on a TCP connection; the server echoes each whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Announcement {
    /// Bytes in each message.
    pub size: u32,
    /// Messages that follow.
    pub count: u64,
}

impl Announcement {
    /// The announcement's bytes.
    #[must_use]
    pub fn encode(self) -> [u8; ANNOUNCEMENT_BYTES] {
        let mut bytes = [0; ANNOUNCEMENT_BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&self.size.to_be_bytes());
        bytes[8..].copy_from_slice(&self.count.to_be_bytes());
        bytes
    }

    /// Reads an announcement; `None` when it is not one, or the size is 0 or beyond `max_size`.
    #[must_use]
    pub fn decode(bytes: &[u8; ANNOUNCEMENT_BYTES], max_size: u32) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk::<4>()?;
        let (size, rest) = rest.split_first_chunk::<4>()?;
        let (count, _) = rest.split_first_chunk::<8>()?;
        let size = u32::from_be_bytes(*size);
        (*magic == MAGIC && (1..=max_size).contains(&size)).then_some(Self {
            size,
            count: u64::from_be_bytes(*count),
        })
    }
}

/// The shortest UDP message that carries times, in bytes.
pub const STAMPED_BYTES: usize = 32;

/// The number and the times at the start of a UDP message on a schedule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stamps {
    /// The message's number.
    pub number: u64,
    /// The client's clock when it was sent, ns.
    pub sent_ns: u64,
    /// The server's clock when it came in, ns; 0 on the way there.
    pub received_ns: u64,
    /// The server's clock when it went out again, ns; 0 on the way there.
    pub replied_ns: u64,
}

impl Stamps {
    /// Writes over the first bytes of a message; `false` when it is too short and left as it is.
    pub fn write(&self, message: &mut [u8]) -> bool {
        let Some(front) = message.first_chunk_mut::<STAMPED_BYTES>() else {
            return false;
        };
        let words = [self.number, self.sent_ns, self.received_ns, self.replied_ns];
        for (part, word) in front.chunks_exact_mut(8).zip(words) {
            part.copy_from_slice(&word.to_be_bytes());
        }
        true
    }

    /// Reads them from a message; `None` when it is too short.
    #[must_use]
    pub fn read(message: &[u8]) -> Option<Self> {
        let front = message.first_chunk::<STAMPED_BYTES>()?;
        let (words, _) = front.as_chunks::<8>();
        let [number, sent_ns, received_ns, replied_ns] = <[[u8; 8]; 4]>::try_from(words).ok()?;
        Some(Self {
            number: u64::from_be_bytes(number),
            sent_ns: u64::from_be_bytes(sent_ns),
            received_ns: u64::from_be_bytes(received_ns),
            replied_ns: u64::from_be_bytes(replied_ns),
        })
    }
}

/// Writes the server's times into a reply; one too short for them is left as it is.
pub fn stamp_reply(message: &mut [u8], received_ns: u64, replied_ns: u64) {
    if let Some(front) = message.first_chunk_mut::<STAMPED_BYTES>() {
        let times = front.chunks_exact_mut(8).skip(2);
        for (part, time) in times.zip([received_ns, replied_ns]) {
            part.copy_from_slice(&time.to_be_bytes());
        }
    }
}

/// Writes as many of the lowest bytes of a message's number as fit into its first 8 bytes.
#[inline]
pub fn write_number(message: &mut [u8], number: u64) {
    let bytes = number.to_be_bytes();
    // The first byte of a message of full length is the highest of the number, and the last one that fits is the lowest.
    let unwritten = bytes.len().saturating_sub(message.len());
    for (room, byte) in message.iter_mut().zip(bytes.iter().skip(unwritten)) {
        *room = *byte;
    }
}

/// `true` when a message carries `number`, of which a short message has room for the lowest bytes only.
#[inline]
#[must_use]
pub fn carries_number(message: &[u8], number: u64) -> bool {
    let bytes = number.to_be_bytes();
    let unwritten = bytes.len().saturating_sub(message.len());
    message
        .iter()
        .zip(bytes.iter().skip(unwritten))
        .all(|(room, byte)| room == byte)
}

/// The number of a message that is known to be `latest` or less: the greatest that fits what it carries.
///
/// `None` when there is none, and for an empty message.
#[must_use]
pub fn number_up_to(message: &[u8], latest: u64) -> Option<u64> {
    let room = message.len().min(8);
    let low = message
        .iter()
        .take(room)
        .fold(0, |low, byte| low << 8 | u64::from(*byte));
    match room {
        0 => None,
        8 => (low <= latest).then_some(low),
        _ => {
            let carried = !(u64::MAX << (room as u32).wrapping_mul(8));
            let behind = latest.wrapping_sub(low) & carried;
            latest.checked_sub(behind)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_short_message_carries_the_lowest_bytes_of_its_number() {
        let mut message = [0xEE; 2];
        write_number(&mut message, 0x01_02_03);
        assert_eq!(message, [2, 3]);
        assert!(carries_number(&message, 0x01_02_03) && !carries_number(&message, 0x01_02_04));
        assert_eq!(number_up_to(&message, 0x01_02_03), Some(0x01_02_03));
        assert_eq!(number_up_to(&message, 0x01_02_02), Some(0x02_03));
        assert_eq!(number_up_to(&message, 0x02_02), None);
        assert_eq!(number_up_to(&[], 5), None);
    }

    #[test]
    fn the_servers_times_leave_the_rest_of_a_message_alone() {
        let mut message: Vec<u8> = (0..40).collect();
        let sent = Stamps {
            number: 7,
            sent_ns: 8,
            ..Stamps::default()
        };
        assert!(sent.write(&mut message));
        stamp_reply(&mut message, 9, 10);
        let answered = Stamps {
            received_ns: 9,
            replied_ns: 10,
            ..sent
        };
        assert_eq!(Stamps::read(&message), Some(answered));
        assert_eq!(message[32..], [32, 33, 34, 35, 36, 37, 38, 39]);
        let mut short = [1; 31];
        stamp_reply(&mut short, 9, 10);
        assert_eq!(short, [1; 31]);
        assert!(!sent.write(&mut short) && Stamps::read(&short).is_none());
    }

    proptest! {
        #[test]
        fn stamps_and_numbers_survive_the_trip(number: u64, sent_ns: u64, received_ns: u64, replied_ns: u64, length in 1_usize..80, behind in 0_u64..200) {
            let stamps = Stamps { number, sent_ns, received_ns, replied_ns };
            let mut message = vec![0; length];
            prop_assert_eq!(stamps.write(&mut message), length >= STAMPED_BYTES);
            prop_assert_eq!(Stamps::read(&message), (length >= STAMPED_BYTES).then_some(stamps));
            write_number(&mut message, number);
            prop_assert!(carries_number(&message, number));
            prop_assert_eq!(number_up_to(&message, number.saturating_add(behind)), Some(number));
        }

        #[test]
        fn no_message_makes_the_readers_panic(bytes: Vec<u8>, number: u64) {
            let mut message = bytes;
            let _ = (Stamps::read(&message), carries_number(&message, number), number_up_to(&message, number));
            stamp_reply(&mut message, number, number);
            write_number(&mut message, number);
            if let Some(announced) = message.first_chunk::<ANNOUNCEMENT_BYTES>() {
                let _ = Announcement::decode(announced, number as u32);
            }
        }

        #[test]
        fn an_announcement_survives_the_trip_within_its_bounds(size: u32, count: u64) {
            let announcement = Announcement { size, count };
            let decoded = Announcement::decode(&announcement.encode(), 65_536);
            prop_assert_eq!(decoded, (1..=65_536).contains(&size).then_some(announcement));
        }
    }
}
