//! Random delays of packets in hosts.

use std::collections::VecDeque;
use std::time::Duration;

use caudal_link::frame::Frame;
use caudal_link::random::Rng;
use caudal_link::time::{SimTime, duration_to_ns};

/// A frame that waits in its host, and the node it is for.
#[derive(Debug)]
pub(crate) struct WaitingFrame {
    at: SimTime,
    pub(crate) to: usize,
    pub(crate) frame: Frame,
}

/// Delays each packet by a random time and keeps the packets of a host in order.
#[derive(Debug)]
pub(crate) struct HostJitter {
    max_ns: u64,
    rng: Rng,
    /// The frames that wait in each node.
    waiting: Vec<VecDeque<WaitingFrame>>,
}

impl HostJitter {
    /// Delays of up to `max` in each of `nodes` nodes.
    pub(crate) fn new(max: Duration, rng: Rng, nodes: usize) -> Self {
        Self {
            max_ns: duration_to_ns(max),
            rng,
            waiting: (0..nodes).map(|_| VecDeque::new()).collect(),
        }
    }

    /// `true` when packets are not delayed.
    pub(crate) const fn is_zero(&self) -> bool {
        self.max_ns == 0
    }

    /// Delays `frame`, which `from` sends to `to` at `now`; gives the time of its release if no other frame waits there.
    pub(crate) fn delay(
        &mut self,
        now: SimTime,
        from: usize,
        to: usize,
        frame: Frame,
    ) -> Option<SimTime> {
        let delay_ns = self.rng.below(self.max_ns + 1);
        let waiting = &mut self.waiting[from];
        let previous = waiting.back().map_or(SimTime::START, |last| last.at);
        let at = now.plus_ns(delay_ns).max(previous);
        let is_first = waiting.is_empty();
        waiting.push_back(WaitingFrame { at, to, frame });
        is_first.then_some(at)
    }

    /// Removes the next frame of `node`; gives it with the time of the release after it.
    pub(crate) fn release(&mut self, node: usize) -> Option<(WaitingFrame, Option<SimTime>)> {
        let waiting = &mut self.waiting[node];
        let frame = waiting.pop_front()?;
        Some((frame, waiting.front().map(|next| next.at)))
    }

    /// The number of frames that wait.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.waiting.iter().map(VecDeque::len).sum()
    }
}
