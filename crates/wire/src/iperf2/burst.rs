//! The header of a burst: every write of a TCP test with trip times begins with one (2.1).

use super::field::{put, word};

/// Bytes in the header of a burst.
pub const BURST_BYTES: usize = 92;
const TYPE: u32 = 3;
const MICROS: u32 = 1_000_000;
/// Maximum length of a burst, bytes.
const MAX_BURST_BYTES: u32 = 1 << 30;

/// Writes the header of burst number `id` into its block: the start of the test and the present, each in seconds and
/// microseconds. The block is the whole burst.
pub fn write_burst_header(block: &mut [u8], id: u32, start: (u32, u32), now: (u32, u32)) {
    let bytes = block.len() as u32;
    if let Some(header) = block.get_mut(..BURST_BYTES) {
        header.fill(0);
    }
    put(block, 4, TYPE);
    put(block, 8, BURST_BYTES as u32);
    put(block, 12, start.0);
    put(block, 16, start.1);
    put(block, 20, now.0);
    put(block, 24, now.1);
    put(block, 44, id);
    put(block, 48, bytes);
    put(block, 52, id);
}

/// The header of a burst, as far as its receiver needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BurstHeader {
    /// Its number, from 1.
    pub id: u32,
    /// Its length with the header, bytes.
    pub bytes: u32,
    /// The time of its departure, seconds and microseconds.
    pub sent: (u32, u32),
}

impl BurstHeader {
    /// Reads the header of a burst; `None` where there is none, as lengths and times show, because the first one of 2.1.8 has the
    /// type and the length of its test header.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let header = Self {
            id: word(bytes, 44)?,
            bytes: word(bytes, 48)?,
            sent: (word(bytes, 20)?, word(bytes, 24)?),
        };
        let start = (word(bytes, 12)?, word(bytes, 16)?);
        let has_room = (BURST_BYTES as u32..=MAX_BURST_BYTES).contains(&header.bytes);
        let has_times = start.0 > 0 && start <= header.sent;
        let are_micros = start.1 < MICROS && header.sent.1 < MICROS;
        (has_room && has_times && are_micros).then_some(header)
    }

    /// The time of its departure, ns since 1970.
    #[must_use]
    pub const fn sent_ns(&self) -> u64 {
        (self.sent.0 as u64)
            .wrapping_mul(1_000_000_000)
            .wrapping_add((self.sent.1 as u64).wrapping_mul(1000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Traced from iperf 2.1.8: the first burst of `-n 512K --trip-times`, up to its number of the sequence.
    #[test]
    fn the_first_burst_of_2_1_8_is_read() {
        let words: [u32; 14] = [
            0x4001_00a0,
            1,
            0xa047,
            0x6b03_86d3,
            0x0008_0c4d,
            0x6b03_86d3,
            0x0008_0c6c,
            0,
            0x0010_0000,
            0x0002_0001,
            0x0008_0003,
            1,
            0x0002_0000,
            0x0002_0002,
        ];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        bytes.resize(BURST_BYTES, 0);
        let header = BurstHeader::decode(&bytes).unwrap();
        assert_eq!((header.id, header.bytes), (1, 131_072));
        assert_eq!(
            header.sent_ns(),
            0x6b03_86d3 * 1_000_000_000 + 0x0008_0c6c * 1000
        );
    }

    #[test]
    fn a_burst_carries_its_number_its_length_and_both_times() {
        let mut block = [0x30; 128];
        write_burst_header(&mut block, 7, (1, 2), (3, 4));
        let word = |at: usize| u32::from_be_bytes(*block[at..].first_chunk().unwrap());
        assert_eq!(
            [8, 12, 16, 20, 24, 44, 48, 52].map(word),
            [92, 1, 2, 3, 4, 7, 128, 7]
        );
        assert_eq!((word(28), block[92]), (0, 0x30));
        let header = BurstHeader::decode(&block).unwrap();
        assert_eq!(
            (header.id, header.bytes, header.sent_ns()),
            (7, 128, 3_000_004_000)
        );
        assert_eq!(BurstHeader::decode(&[0x30; 128]), None);
    }
}
