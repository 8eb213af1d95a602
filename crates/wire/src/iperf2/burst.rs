//! The header of a burst: every write of a TCP test with trip times begins with one (2.1).

use super::put;

/// Bytes in the header of a burst.
pub const BURST_BYTES: usize = 92;
const TYPE: u32 = 3;

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

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
