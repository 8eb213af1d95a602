//! The order of the runs within a block.

use caudal_stats::random::SplitMix64;

/// The orders of the runs within the blocks: random, and the same for the same seed.
#[derive(Debug, Clone)]
pub(super) struct BlockOrder {
    random: SplitMix64,
}

impl BlockOrder {
    /// The orders of this seed.
    pub(super) const fn new(seed: u64) -> Self {
        Self {
            random: SplitMix64::new(seed),
        }
    }

    /// The order of the next block, which has these cells (Fisher and Yates).
    pub(super) fn next_block(&mut self, mut cells: Vec<usize>) -> Vec<usize> {
        for last in (1..cells.len()).rev() {
            let other = self.random.below(last as u64 + 1) as usize;
            cells.swap(last, other);
        }
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_every_cell_once_in_an_order_that_the_seed_gives() {
        let blocks = |seed| {
            let mut order = BlockOrder::new(seed);
            [(); 3].map(|()| order.next_block((0..8).collect()))
        };
        assert_eq!(blocks(7), blocks(7));
        assert_ne!(blocks(7), blocks(8));
        for mut block in blocks(7) {
            assert_ne!(block, (0..8).collect::<Vec<_>>());
            block.sort_unstable();
            assert_eq!(block, (0..8).collect::<Vec<_>>());
        }
    }

    #[test]
    fn every_order_is_as_likely_as_any_other() {
        let mut order = BlockOrder::new(1);
        let mut firsts = [0_u32; 4];
        for _ in 0..4000 {
            firsts[order.next_block(vec![0, 1, 2, 3])[0]] += 1;
        }
        assert!(
            firsts.iter().all(|count| (900..1100).contains(count)),
            "{firsts:?}"
        );
    }
}
