//! What an echo client says before each series of messages on a TCP connection: how long they are.

/// Bytes in an announcement.
pub const ANNOUNCEMENT: usize = 16;
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
    pub fn encode(self) -> [u8; ANNOUNCEMENT] {
        let mut bytes = [0; ANNOUNCEMENT];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&self.size.to_be_bytes());
        bytes[8..].copy_from_slice(&self.count.to_be_bytes());
        bytes
    }

    /// Reads an announcement; `None` when it is not one, or the size is 0 or beyond `largest`.
    #[must_use]
    pub fn decode(bytes: &[u8; ANNOUNCEMENT], largest: u32) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk::<4>()?;
        let (size, rest) = rest.split_first_chunk::<4>()?;
        let (count, _) = rest.split_first_chunk::<8>()?;
        let size = u32::from_be_bytes(*size);
        (*magic == MAGIC && (1..=largest).contains(&size))
            .then_some(Self { size, count: u64::from_be_bytes(*count) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_announcement_survives_the_trip_within_its_bounds(size: u32, count: u64) {
            let said = Announcement { size, count };
            let heard = Announcement::decode(&said.encode(), 65_536);
            prop_assert_eq!(heard, (1..=65_536).contains(&size).then_some(said));
        }
    }
}
