//! The reassembly window.

use crate::bit_ring::BitRing;
use std::collections::VecDeque;

/// What became of a block that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockFate {
    /// It is kept.
    Stored,
    /// It had arrived before.
    Duplicate,
    /// It is beyond the window.
    Beyond,
}

/// Maximum size of a segment, bytes.
const MAX_SEGMENT_BYTES: u64 = 1 << 20;

/// The blocks from the first that was not taken, up to the window's size, in segments of memory that are handed over whole.
#[derive(Debug)]
pub(super) struct ReassemblyWindow {
    /// The segments from that of `base` on; those that no block has arrived for have no memory.
    segments: VecDeque<Option<Vec<u8>>>,
    /// Memory for further segments.
    spare: Vec<Vec<u8>>,
    segment_blocks: u64,
    segment_bytes: usize,
    block_bytes: u64,
    capacity: u64,
    /// The first block of the first segment.
    front: u64,
    /// The first block that was not wholly taken.
    base: u64,
    /// Bytes of it that were taken.
    taken: u64,
    /// The first block that has not arrived.
    first_missing: u64,
    /// The number of its segment, and its place there.
    first_segment: usize,
    first_at: usize,
    /// The end of the highest block that has arrived.
    end: u64,
    arrived: BitRing,
    /// The last block, when it is shorter than the others, and its bytes.
    short: Option<(u64, u64)>,
}

impl ReassemblyWindow {
    /// An empty window of `capacity` blocks of `block_bytes`. Memory is taken when blocks arrive.
    pub(super) fn new(capacity: u64, block_bytes: u64) -> Self {
        let capacity = capacity.max(1);
        // At least four segments, so that the window moves on while one is filled.
        let segment_blocks = (MAX_SEGMENT_BYTES / block_bytes)
            .min(capacity.div_ceil(4))
            .max(1);
        Self {
            segments: VecDeque::with_capacity((capacity / segment_blocks) as usize + 2),
            spare: Vec::new(),
            segment_blocks,
            segment_bytes: (segment_blocks * block_bytes) as usize,
            block_bytes,
            capacity,
            front: 0,
            base: 0,
            taken: 0,
            first_missing: 0,
            first_segment: 0,
            first_at: 0,
            end: 0,
            arrived: BitRing::new(capacity),
            short: None,
        }
    }

    /// The bytes of memory that it holds.
    pub(super) fn memory_bytes(&self) -> usize {
        let held = self.segments.iter().flatten().count() + self.spare.len();
        held * self.segment_bytes + self.arrived.memory_bytes()
    }

    /// The first block that has not arrived.
    pub(super) const fn first_missing(&self) -> u64 {
        self.first_missing
    }

    /// The end of the highest block that has arrived.
    pub(super) const fn end(&self) -> u64 {
        self.end
    }

    /// The first block that there is no room for.
    pub(super) const fn limit(&self) -> u64 {
        self.base.saturating_add(self.capacity)
    }

    /// Whether a block from the first missing one on has arrived.
    pub(super) fn has(&self, block: u64) -> bool {
        block < self.end && self.arrived.get(block)
    }

    /// Whether a block can be of so many bytes in a content of unknown size: only the last one is short, and nothing follows it.
    pub(super) fn can_be_of(&self, block: u64, bytes: u64) -> bool {
        match self.short {
            Some((last, len)) if block == last => bytes == len,
            Some((last, _)) => block < last && bytes == self.block_bytes,
            None if bytes < self.block_bytes => self.end <= block,
            None => bytes == self.block_bytes,
        }
    }

    /// Takes a block.
    #[inline]
    pub(super) fn store(&mut self, block: u64, payload: &[u8]) -> BlockFate {
        if block < self.first_missing {
            return BlockFate::Duplicate;
        }
        if block >= self.limit() {
            return BlockFate::Beyond;
        }
        if block < self.end && self.arrived.get(block) {
            return BlockFate::Duplicate;
        }
        let (segment, at) = if block == self.first_missing {
            (self.first_segment, self.first_at)
        } else {
            let from_front = block - self.front;
            let at = from_front % self.segment_blocks * self.block_bytes;
            ((from_front / self.segment_blocks) as usize, at as usize)
        };
        self.segment(segment)[at..at + payload.len()].copy_from_slice(payload);
        if (payload.len() as u64) < self.block_bytes {
            self.short = Some((block, payload.len() as u64));
        }
        if block == self.first_missing && block >= self.end {
            // In order, with nothing behind it: no bit is needed.
            self.step();
            self.end = self.first_missing;
            return BlockFate::Stored;
        }
        self.arrived.set(block);
        self.end = self.end.max(block + 1);
        while self.first_missing < self.end && self.arrived.get(self.first_missing) {
            self.arrived.clear(self.first_missing);
            self.step();
        }
        BlockFate::Stored
    }

    /// The memory of a segment, by its number from the first one on.
    #[inline]
    fn segment(&mut self, number: usize) -> &mut [u8] {
        if number >= self.segments.len() {
            self.segments.resize_with(number + 1, || None);
        }
        let (spare, bytes) = (&mut self.spare, self.segment_bytes);
        self.segments[number].get_or_insert_with(|| spare.pop().unwrap_or_else(|| vec![0; bytes]))
    }

    /// The first missing block has arrived.
    #[inline]
    const fn step(&mut self) {
        self.first_missing += 1;
        self.first_at += self.block_bytes as usize;
        if self.first_at == self.segment_bytes {
            self.first_at = 0;
            self.first_segment += 1;
        }
    }

    /// The end of the first segment, as a block.
    const fn front_end(&self) -> u64 {
        self.front + self.segment_blocks
    }

    /// The bytes that are next in order, up to the end of the segment.
    pub(super) fn readable(&self) -> &[u8] {
        let Some(Some(segment)) = self.segments.front() else {
            return &[];
        };
        let end_block = self.first_missing.min(self.front_end());
        let from = (self.base - self.front) * self.block_bytes + self.taken;
        let mut to = end_block.saturating_sub(self.front) * self.block_bytes;
        if let Some((block, bytes)) = self.short
            && block < end_block
            && block >= self.base
        {
            to -= self.block_bytes - bytes;
        }
        &segment[from as usize..to.max(from) as usize]
    }

    /// Whether nothing will be appended to what is readable: it ends where the segment does.
    pub(super) const fn ends_with_segment(&self) -> bool {
        self.first_missing >= self.front_end()
    }

    /// Gives up `bytes` of what was readable.
    pub(super) fn take(&mut self, bytes: usize) {
        let bytes = bytes.min(self.readable().len()) as u64;
        self.taken += bytes;
        self.base += self.taken / self.block_bytes;
        self.taken %= self.block_bytes;
        if let Some((block, len)) = self.short
            && self.base == block
            && self.taken == len
        {
            self.base += 1;
            self.taken = 0;
        }
        if self.base >= self.front_end()
            && let Some(segment) = self.remove_front()
        {
            self.spare.push(segment);
        }
    }

    /// Gives up the first segment with its memory when it is whole and nothing of it was taken.
    pub(super) fn take_segment(&mut self) -> Option<Vec<u8>> {
        let is_untouched = self.base == self.front && self.taken == 0;
        let is_short = self
            .short
            .is_some_and(|(block, _)| block < self.front_end());
        if !is_untouched || is_short || !self.ends_with_segment() {
            return None;
        }
        self.base = self.front_end();
        self.remove_front()
    }

    /// Takes the memory of a segment back.
    pub(super) fn give_back(&mut self, segment: Vec<u8>) {
        if segment.len() == self.segment_bytes {
            self.spare.push(segment);
        }
    }

    /// Removes the first segment, all of which was taken.
    fn remove_front(&mut self) -> Option<Vec<u8>> {
        self.front += self.segment_blocks;
        self.first_segment -= 1;
        self.segments.pop_front().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_in_any_order_come_out_in_order_each_once(
            block_bytes in 1_u64..9, capacity in 1_u64..20, short in 1_u64..9, count in 1_u64..60,
            picks in proptest::collection::vec((any::<u64>(), 0_usize..40), 0..400),
        ) {
            let short = short.min(block_bytes);
            let total = (count - 1) * block_bytes + short;
            let content: Vec<u8> = (0..total).map(|at| at as u8).collect();
            let mut window = ReassemblyWindow::new(capacity, block_bytes);
            let mut out = Vec::new();
            let picks = picks.into_iter().chain((0..count * 2).map(|block| (block, usize::MAX)));
            for (pick, take) in picks.chain((0..count).map(|block| (block, usize::MAX))) {
                let block = pick % count;
                let from = (block * block_bytes) as usize;
                let payload = &content[from..(from + block_bytes as usize).min(content.len())];
                let limit = window.limit();
                let fate = window.store(block, payload);
                prop_assert_eq!(fate == BlockFate::Beyond, block >= limit);
                if take == 0 && let Some(segment) = window.take_segment() {
                    out.extend_from_slice(&segment);
                    window.give_back(segment);
                }
                let readable = window.readable();
                let taken = take.min(readable.len());
                out.extend_from_slice(&readable[..taken]);
                window.take(taken);
                let rest = window.readable().len();
                if take == usize::MAX {
                    out.extend_from_slice(window.readable());
                    window.take(rest);
                }
            }
            prop_assert!(content.starts_with(&out));
            // In order and taken at once, everything comes out.
            for block in 0..count {
                let from = (block * block_bytes) as usize;
                window.store(block, &content[from..(from + block_bytes as usize).min(content.len())]);
                while !window.readable().is_empty() {
                    out.extend_from_slice(window.readable());
                    window.take(usize::MAX);
                }
            }
            prop_assert_eq!(out, content);
        }
    }
}
