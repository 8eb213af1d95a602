//! Readings of the queue in front of this end's own interface.

use caudal_core::quality::SenderQueue;
use caudal_sys::interface;
use std::net::SocketAddr;

/// The readings of the queueing discipline of the interface towards the other end.
#[derive(Debug)]
pub(super) struct QueueMeter {
    interface: Option<u32>,
    /// The times of readings, ns of the monotonic clock.
    first_ns: u64,
    due_ns: u64,
    interval_ns: u64,
    queue: SenderQueue,
}

impl QueueMeter {
    /// A meter that reads every `interval_ns`, and counts readings from `ramp_ns` after the start on.
    pub(super) fn start(
        peer: Option<SocketAddr>,
        start_ns: u64,
        ramp_ns: u64,
        interval_ns: u64,
    ) -> Self {
        let route = peer.and_then(interface::route_to_socket);
        Self {
            interface: route.map(|route| route.index),
            first_ns: start_ns + ramp_ns,
            due_ns: start_ns + interval_ns,
            interval_ns: interval_ns.max(1),
            queue: SenderQueue::default(),
        }
    }

    /// The time of the next reading, ns of the monotonic clock.
    pub(super) const fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Reads the queue, where that is due at `now_ns`.
    pub(super) fn advance(&mut self, now_ns: u64) {
        if now_ns < self.due_ns {
            return;
        }
        self.due_ns += ((now_ns - self.due_ns) / self.interval_ns + 1) * self.interval_ns;
        if let Some(backlog) = self.interface.and_then(interface::qdisc_backlog)
            && now_ns >= self.first_ns
        {
            self.queue.push(backlog);
        }
    }

    /// The readings; `None` without any.
    pub(super) fn finish(self) -> Option<SenderQueue> {
        (self.queue.n > 0).then_some(self.queue)
    }
}
