//! Drops and collisions on the path of a flow.

use caudal_simulate::result::{DropReason, LinkResult, SimulationResult};
use caudal_topology::Hop;

/// The counters of the links on a path, in its direction.
pub(super) struct PathCounters<'a> {
    result: &'a SimulationResult,
    path: &'a [Hop],
}

/// Frames dropped on a path.
pub(super) struct PathDrops {
    /// By full queues, RED and CoDel.
    pub(super) queued: u64,
    /// By policers.
    pub(super) policed: u64,
    /// At random, or damaged.
    pub(super) random: u64,
}

impl<'a> PathCounters<'a> {
    /// The counters of the links on `path`.
    pub(super) const fn new(result: &'a SimulationResult, path: &'a [Hop]) -> Self {
        Self { result, path }
    }

    /// The frames dropped.
    pub(super) fn drops(&self) -> PathDrops {
        let count = |reasons: &[DropReason]| {
            self.sum(|link, from| {
                let dropped = &link.directions[from].counters.dropped;
                reasons
                    .iter()
                    .map(|reason| dropped.by(*reason).frames)
                    .sum()
            })
        };
        PathDrops {
            queued: count(&[
                DropReason::QueueFull,
                DropReason::Red,
                DropReason::Codel,
                DropReason::Dual,
            ]),
            policed: count(&[DropReason::Policed]),
            random: count(&[DropReason::Loss, DropReason::CheckSequence]),
        }
    }

    /// The collisions of frames sent in the direction of the path.
    pub(super) fn collisions(&self) -> u64 {
        self.sum(|link, from| {
            let collisions = link.directions[from].collisions;
            collisions.map_or(0, |collisions| collisions.all)
        })
    }

    /// The sum of a counter of every link on the path, given the end from which the path crosses it.
    fn sum(&self, counter: impl Fn(&LinkResult, usize) -> u64) -> u64 {
        let hops = self.path.iter();
        hops.map(|hop| counter(&self.result.links[hop.link], hop.from))
            .sum()
    }
}
