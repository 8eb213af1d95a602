//! Acknowledgements.

use super::frame::Reader;
use std::ops::Range;

/// Maximum size of an acknowledgement: it fits the smallest datagram that every IPv4 host takes (576 bytes).
#[cfg(test)]
const MAX_ACK_BYTES: usize = 540;
/// Maximum number of ranges of an acknowledgement.
pub(crate) const MAX_ACK_RANGES: usize = 48;
/// Maximum size of a bitmap of blocks.
pub(crate) const MAX_BITMAP_BYTES: usize = 400;

/// What a receiver has and how much more it takes. All counters are of the whole session, so that a lost acknowledgement loses nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ack {
    /// The highest packet number that arrived.
    pub(crate) largest: u64,
    /// The time between its arrival and this acknowledgement, µs.
    pub(crate) delay_us: u32,
    /// The first block that has not arrived.
    pub(crate) first_missing: u64,
    /// The first block that may not be sent yet.
    pub(crate) credit: u64,
    /// The bytes of datagrams, headers of RBT included, that the socket's buffer holds.
    pub(crate) budget: u64,
    /// Data datagrams that arrived, duplicates included.
    pub(crate) received: u64,
    /// Of these, duplicates.
    pub(crate) duplicates: u64,
    /// Blocks dropped: beyond the credit, or out of order.
    pub(crate) dropped: u64,
    /// Damaged datagrams.
    pub(crate) damaged: u64,
    /// Data datagrams with Congestion Experienced.
    pub(crate) marked: u64,
    /// Packet numbers that arrived, the highest range first; empty where blocks are acknowledged instead.
    pub(crate) ranges: Vec<Range<u64>>,
    /// A bit for each block from `first_missing` on, the lowest bit of a byte first: set when it has arrived.
    pub(crate) bitmap: Vec<u8>,
}

impl Ack {
    /// Appends the body.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for word in [
            self.largest,
            self.first_missing,
            self.credit,
            self.budget,
            self.received,
            self.duplicates,
            self.dropped,
            self.damaged,
            self.marked,
        ] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.delay_us.to_le_bytes());
        let ranges = &self.ranges[..self.ranges.len().min(MAX_ACK_RANGES)];
        out.push(ranges.len() as u8);
        let mut below = self.largest.saturating_add(1);
        for range in ranges {
            let (gap, len) = (
                below.saturating_sub(range.end),
                range.end.saturating_sub(range.start),
            );
            let (Ok(gap), Ok(len)) = (u32::try_from(gap), u32::try_from(len)) else {
                // Cannot be said in 32 bits: a range of no packets says nothing.
                out.extend_from_slice(&[0; 8]);
                continue;
            };
            out.extend_from_slice(&gap.to_le_bytes());
            out.extend_from_slice(&len.to_le_bytes());
            below = range.start;
        }
        let bitmap = &self.bitmap[..self.bitmap.len().min(MAX_BITMAP_BYTES)];
        out.extend_from_slice(&(bitmap.len() as u16).to_le_bytes());
        out.extend_from_slice(bitmap);
    }

    /// Reads a body into this value, whose buffers are used again; `None` when it is malformed.
    pub(crate) fn read(&mut self, body: &[u8]) -> Option<()> {
        let mut reader = Reader(body);
        self.largest = reader.u64()?;
        self.first_missing = reader.u64()?;
        self.credit = reader.u64()?;
        self.budget = reader.u64()?;
        self.received = reader.u64()?;
        self.duplicates = reader.u64()?;
        self.dropped = reader.u64()?;
        self.damaged = reader.u64()?;
        self.marked = reader.u64()?;
        self.delay_us = reader.u32()?;
        let count = usize::from(reader.u8()?);
        if count > MAX_ACK_RANGES {
            return None;
        }
        self.ranges.clear();
        let mut below = self.largest.checked_add(1)?;
        for _ in 0..count {
            let (gap, len) = (u64::from(reader.u32()?), u64::from(reader.u32()?));
            let end = below.checked_sub(gap)?;
            let start = end.checked_sub(len)?;
            if len > 0 {
                self.ranges.push(start..end);
            }
            below = start;
        }
        let bitmap = usize::from(reader.u16()?);
        if bitmap > MAX_BITMAP_BYTES {
            return None;
        }
        self.bitmap.clear();
        self.bitmap.extend_from_slice(reader.bytes(bitmap)?);
        Some(())
    }

    /// Whether the bitmap says that `block` has arrived; `None` beyond its end.
    pub(crate) fn has_block(&self, block: u64) -> Option<bool> {
        let Some(bit) = block.checked_sub(self.first_missing) else {
            return Some(true);
        };
        let byte = self.bitmap.get(usize::try_from(bit / 8).ok()?)?;
        Some(byte & (1 << (bit % 8)) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::frame::CONTROL_HEADER_BYTES;
    use proptest::prelude::*;

    fn written(ack: &Ack) -> Vec<u8> {
        let mut out = Vec::new();
        ack.write(&mut out);
        out
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_again(
            largest in 1_u64 << 20..1 << 40,
            steps in proptest::collection::vec((1_u64..100, 1_u64..100), 0..MAX_ACK_RANGES),
            bitmap in proptest::collection::vec(any::<u8>(), 0..MAX_BITMAP_BYTES),
            words: [u32; 9],
        ) {
            let mut below = largest + 1;
            let ranges = steps.iter().map(|(gap, len)| {
                let end = below - gap;
                below = end - len;
                below..end
            }).collect();
            let [delay_us, first_missing, credit, budget, received, duplicates, dropped, damaged, marked] = words;
            let ack = Ack {
                largest, delay_us, ranges, bitmap,
                first_missing: first_missing.into(), credit: credit.into(), budget: budget.into(),
                received: received.into(), duplicates: duplicates.into(), dropped: dropped.into(),
                damaged: damaged.into(), marked: marked.into(),
            };
            let mut read = Ack::default();
            prop_assert_eq!(read.read(&written(&ack)), Some(()));
            prop_assert_eq!(read, ack);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(body in proptest::collection::vec(any::<u8>(), 0..700)) {
            let mut ack = Ack::default();
            if ack.read(&body).is_some() {
                prop_assert!(ack.ranges.iter().all(|range| range.start < range.end && range.end <= ack.largest + 1));
                prop_assert!(ack.ranges.windows(2).all(|pair| pair[1].end <= pair[0].start));
            }
        }
    }

    #[test]
    fn the_largest_acknowledgements_fit_their_limit() {
        let fixed = written(&Ack::default()).len() + CONTROL_HEADER_BYTES;
        assert!(fixed + MAX_ACK_RANGES * 8 <= MAX_ACK_BYTES);
        assert!(fixed + MAX_BITMAP_BYTES <= MAX_ACK_BYTES);
    }

    #[test]
    fn a_bitmap_tells_received_missing_and_unknown_apart() {
        let ack = Ack {
            first_missing: 10,
            bitmap: vec![0b10],
            ..Ack::default()
        };
        let told = [9, 10, 11, 17, 18].map(|block| ack.has_block(block));
        assert_eq!(
            told,
            [Some(true), Some(false), Some(true), Some(false), None]
        );
    }
}
