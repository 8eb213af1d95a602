//! The random number streams of a link's stages.

use caudal_topology::LinkEnd;

use crate::random::Rng;

/// The number of a stage's random number stream within its direction. The numbers must never change: they decide which
/// frames a seed loses.
pub(super) mod stream {
    pub(in crate::model) const MAC: u64 = 0;
    pub(in crate::model) const RED: u64 = 1;
    pub(in crate::model) const JITTER: u64 = 2;
    pub(in crate::model) const LOSS: u64 = 3;
    pub(in crate::model) const BURST_LOSS: u64 = 4;
    pub(in crate::model) const CORRUPTION: u64 = 5;
    pub(in crate::model) const SILENT_CORRUPTION: u64 = 6;
    pub(in crate::model) const DUPLICATION: u64 = 7;
    pub(in crate::model) const REORDERING: u64 = 8;
    pub(in crate::model) const BALANCING: u64 = 9;
    /// The first stream of the stages of parallel paths, 16 for each path.
    pub(in crate::model) const PATHS: u64 = 16;
}

/// The source of the random number generators of one direction of a link.
#[derive(Clone, Copy)]
pub(super) struct RngStreams {
    pub(super) seed: u64,
    /// The end at which the direction starts.
    pub(super) from: LinkEnd,
}

impl RngStreams {
    /// The generator of `stream`, independent of those of other streams, directions and links.
    pub(super) fn rng(self, stream: u64) -> Rng {
        let direction = ((self.from.link as u64) << 16) | ((self.from.end as u64) << 15);
        Rng::new(self.seed, direction | stream)
    }
}
