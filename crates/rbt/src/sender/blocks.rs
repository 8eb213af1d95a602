//! Which blocks are left to be sent.

use crate::bit_ring::BitRing;
use std::collections::VecDeque;

/// Which blocks are left to be sent, for the first time or again. Blocks below `first_missing` have arrived; of those above, at most the
/// receiver's window has been sent.
#[derive(Debug)]
pub(super) struct BlockLedger {
    first_missing: u64,
    next_new: u64,
    sent_end: u64,
    arrived: BitRing,
    queued: BitRing,
    lost: VecDeque<u64>,
}

impl BlockLedger {
    /// Nothing sent yet, for a window of `window` blocks.
    pub(super) fn new(window: u64) -> Self {
        Self {
            first_missing: 0,
            next_new: 0,
            sent_end: 0,
            arrived: BitRing::new(window),
            queued: BitRing::new(window),
            lost: VecDeque::new(),
        }
    }

    /// The bytes of memory that it holds.
    pub(super) fn memory_bytes(&self) -> usize {
        self.arrived.memory_bytes()
            + self.queued.memory_bytes()
            + self.lost.capacity() * size_of::<u64>()
    }

    /// The first block that the receiver lacks, as far as it has said.
    pub(super) const fn first_missing(&self) -> u64 {
        self.first_missing
    }

    /// The next block that is sent in order.
    pub(super) const fn next_new(&self) -> u64 {
        self.next_new
    }

    /// The end of the blocks that were ever sent.
    pub(super) const fn sent_end(&self) -> u64 {
        self.sent_end
    }

    /// Whether the receiver lacks the block.
    #[inline]
    pub(super) fn is_missing(&self, block: u64) -> bool {
        block >= self.first_missing && !self.arrived.get(block)
    }

    /// Whether a block, which is not below the first missing one, is known to have arrived.
    pub(super) fn has_arrived(&self, block: u64) -> bool {
        (self.first_missing..self.sent_end).contains(&block) && self.arrived.get(block)
    }

    /// Notes that a block, which was sent, has arrived: whether that is news.
    #[inline]
    pub(super) fn on_arrived(&mut self, block: u64) -> bool {
        block >= self.first_missing && self.arrived.set(block)
    }

    /// Notes that every block below `first_missing`, which is not above [`Self::sent_end`], has arrived: whether that is news.
    pub(super) fn advance(&mut self, first_missing: u64) -> bool {
        let is_news = first_missing > self.first_missing;
        if is_news {
            self.arrived.clear_range(self.first_missing, first_missing);
            self.queued.clear_range(self.first_missing, first_missing);
            self.first_missing = first_missing;
            self.next_new = self.next_new.max(first_missing);
        }
        is_news
    }

    /// Notes that the only copy of a block was lost.
    pub(super) fn on_lost(&mut self, block: u64) {
        if self.is_missing(block) && self.queued.set(block) {
            self.lost.push_back(block);
        }
    }

    /// Begins again at `block` (go-back-n).
    pub(super) fn rewind(&mut self, block: u64) {
        self.next_new = self.next_new.min(block.max(self.first_missing));
    }

    /// Whether a lost block waits to be repeated.
    pub(super) fn has_lost(&mut self) -> bool {
        while let Some(&block) = self.lost.front() {
            // A block below the first missing one has left the window, with its bits.
            if block >= self.first_missing && self.queued.get(block) && self.is_missing(block) {
                return true;
            }
            if block >= self.first_missing {
                self.queued.clear(block);
            }
            self.lost.pop_front();
        }
        false
    }

    /// Takes the next lost block.
    pub(super) fn take_lost(&mut self) -> Option<u64> {
        if !self.has_lost() {
            return None;
        }
        let block = self.lost.pop_front()?;
        self.queued.clear(block);
        Some(block)
    }

    /// Takes the next block in order.
    pub(super) fn take_new(&mut self) -> u64 {
        let block = self.next_new;
        self.next_new += 1;
        self.sent_end = self.sent_end.max(self.next_new);
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_block_is_repeated_once_and_not_when_it_has_arrived_after_all() {
        let mut blocks = BlockLedger::new(64);
        for block in 0..10 {
            assert_eq!(blocks.take_new(), block);
        }
        for block in [3, 5, 3] {
            blocks.on_lost(block);
        }
        assert_eq!(blocks.take_lost(), Some(3));
        blocks.on_arrived(5);
        assert_eq!(blocks.take_lost(), None);
        blocks.on_lost(3);
        blocks.advance(4);
        assert_eq!(blocks.take_lost(), None);
        assert_eq!(blocks.next_new(), 10);
    }

    #[test]
    fn a_block_that_left_the_window_while_queued_does_not_stop_another_of_the_same_bit() {
        let mut blocks = BlockLedger::new(64);
        for _ in 0..64 {
            blocks.take_new();
        }
        blocks.on_lost(1);
        blocks.advance(64);
        for _ in 0..64 {
            blocks.take_new();
        }
        blocks.on_lost(65);
        assert_eq!(blocks.take_lost(), Some(65));
        assert_eq!(blocks.take_lost(), None);
    }
}
