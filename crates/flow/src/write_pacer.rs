//! The writes of a TCP sender that keeps a rate itself. Time is an argument.

use caudal_core::units::BitRate;

/// Time's worth of bytes that a paced sender writes at once, ns.
const SLICE_NS: u64 = 2_000_000;

/// The pieces in which a TCP sender that keeps a rate writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BlockPolicy {
    /// Pieces as small as the rate allows, spread evenly by the kernel too.
    #[default]
    Pieces,
    /// Whole blocks, for a peer that counts blocks: the first leaves at once, each of the others as soon as the mean rate
    /// has fallen to the rate to keep, as iperf3 and iperf 2 write them.
    Whole,
}

/// The rate of a TCP sender.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WritePace {
    /// Payload bits per second; `None` for no limit.
    pub rate: Option<BitRate>,
    /// Blocks written together; 0 and 1 for as little as the rate allows.
    pub burst: u32,
    /// The minimum time between the beginnings of two writes, ns.
    pub gap_ns: u64,
    /// The pieces in which it writes.
    pub blocks: BlockPolicy,
}

impl WritePace {
    /// A pace that keeps this rate.
    pub const fn from_rate(rate: BitRate) -> Self {
        Self {
            rate: Some(rate),
            burst: 1,
            gap_ns: 0,
            blocks: BlockPolicy::Pieces,
        }
    }

    /// A pace that keeps this rate in whole blocks.
    pub const fn in_whole_blocks(rate: BitRate) -> Self {
        Self {
            blocks: BlockPolicy::Whole,
            ..Self::from_rate(rate)
        }
    }

    /// The rate, where it is kept in slices smaller than a block.
    pub(crate) fn sliced_rate(self) -> Option<BitRate> {
        let is_sliced = self.blocks == BlockPolicy::Pieces && self.burst <= 1 && self.gap_ns == 0;
        self.rate.filter(|_| is_sliced)
    }

    /// The rate at which the kernel is to spread what is written, where it is to.
    pub fn kernel_rate(self) -> Option<BitRate> {
        self.rate.filter(|_| self.blocks == BlockPolicy::Pieces)
    }
}

/// The bytes a sender that keeps a rate hands over at once: 2 ms worth; at low rates a segment, or 20 ms worth, so that the
/// first of them does not wait for seconds.
pub fn paced_block(rate: BitRate, length: usize) -> usize {
    let worth = |ns: u64| {
        let bytes = u128::from(rate.bps()) * u128::from(ns) / 8_000_000_000;
        usize::try_from(bytes).unwrap_or(usize::MAX)
    };
    let min = worth(10 * SLICE_NS).clamp(64, 1448);
    worth(SLICE_NS).max(min).min(length)
}

/// The times at which the blocks of a TCP sender may be written.
#[derive(Debug, Clone, Copy)]
pub struct WritePacer {
    start_ns: u64,
    bytes_per_ns: Option<f64>,
    burst: u64,
    blocks: u64,
    gap_ns: u64,
    block_policy: BlockPolicy,
    last_ns: Option<u64>,
}

impl WritePacer {
    /// A pacer whose schedule begins at `start_ns`.
    pub fn new(start_ns: u64, pace: WritePace) -> Self {
        Self {
            start_ns,
            bytes_per_ns: pace.rate.map(|rate| rate.as_f64() / 8e9),
            burst: u64::from(pace.burst.max(1)),
            blocks: 0,
            gap_ns: pace.gap_ns,
            block_policy: pace.blocks,
            last_ns: None,
        }
    }

    /// The time to wait at `now_ns`, ns, having sent `sent` bytes, before a block of `next` bytes may be written. Only the
    /// first block of a burst waits for the rate.
    pub fn wait_ns(&self, now_ns: u64, sent: u64, next: u64) -> u64 {
        let by_gap = self.last_ns.map_or(0, |last| last + self.gap_ns);
        let ahead = match self.block_policy {
            BlockPolicy::Pieces => next,
            BlockPolicy::Whole => 0,
        };
        let by_rate = match self.bytes_per_ns {
            Some(bytes_per_ns) if self.blocks.is_multiple_of(self.burst) => {
                self.start_ns + ((sent + ahead) as f64 / bytes_per_ns) as u64
            }
            _ => 0,
        };
        by_gap.max(by_rate).saturating_sub(now_ns)
    }

    /// Takes note that a block is written at `now_ns`.
    pub const fn written(&mut self, now_ns: u64) {
        self.blocks += 1;
        self.last_ns = Some(now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_rate_is_kept_in_small_slices_and_a_fast_one_in_whole_blocks() {
        let block = |bps| paced_block(BitRate::from_bps(bps), 131_072);
        assert_eq!(
            [8_000, 100_000, 1_000_000, 100_000_000].map(block),
            [64, 250, 1448, 25_000]
        );
        assert_eq!(block(10_000_000_000), 131_072);
        assert_eq!(paced_block(BitRate::from_bps(1_000_000), 100), 100);
    }

    #[test]
    fn a_block_waits_until_it_fits_the_rate() {
        let pacer = WritePacer::new(0, WritePace::from_rate(BitRate::from_bps(8_000_000)));
        assert_eq!(pacer.wait_ns(0, 0, 1000), 1_000_000);
        assert_eq!(pacer.wait_ns(2_000_000, 1000, 1000), 0);
    }

    #[test]
    fn a_whole_block_leaves_as_soon_as_those_before_it_fit_the_rate() {
        let pace = WritePace::in_whole_blocks(BitRate::from_bps(8_000_000));
        assert_eq!((pace.sliced_rate(), pace.kernel_rate()), (None, None));
        let mut pacer = WritePacer::new(0, pace);
        assert_eq!(pacer.wait_ns(0, 0, 1000), 0);
        pacer.written(0);
        assert_eq!(pacer.wait_ns(0, 1000, 1000), 1_000_000);
    }

    #[test]
    fn only_the_first_block_of_a_burst_waits() {
        let pace = WritePace {
            burst: 2,
            ..WritePace::from_rate(BitRate::from_bps(8_000_000))
        };
        let mut pacer = WritePacer::new(0, pace);
        assert_eq!(pacer.wait_ns(0, 0, 1000), 1_000_000);
        pacer.written(1_000_000);
        assert_eq!(pacer.wait_ns(1_000_000, 1000, 1000), 0);
        pacer.written(1_000_000);
        assert_eq!(pacer.wait_ns(1_000_000, 2000, 1000), 2_000_000);
    }

    #[test]
    fn a_gap_counts_from_the_write_before() {
        let pace = WritePace {
            gap_ns: 500,
            ..WritePace::default()
        };
        let mut pacer = WritePacer::new(0, pace);
        assert_eq!(pacer.wait_ns(100, 0, 1), 0);
        pacer.written(100);
        assert_eq!(pacer.wait_ns(100, 1, 1), 500);
        assert_eq!(pacer.wait_ns(700, 1, 1), 0);
    }
}
