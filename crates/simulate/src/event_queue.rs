//! Pending events in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use caudal_link::time::SimTime;

/// A pending event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SimEvent {
    /// Every host and router announces itself on all its links, so that switches learn its addresses.
    Announce,
    /// The node sends the packet that has waited longest in it.
    Release(usize),
    /// The flow starts.
    Start(usize),
    /// The application of the flow stops.
    Stop(usize),
    /// A timer of the flow is due.
    Wake(usize),
}

/// Pending events by time; simultaneous events are in the order in which they were scheduled.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    events: BinaryHeap<Reverse<(SimTime, u64, SimEvent)>>,
    /// The number of events ever scheduled.
    scheduled: u64,
}

impl EventQueue {
    pub(crate) fn schedule(&mut self, at: SimTime, event: SimEvent) {
        self.events.push(Reverse((at, self.scheduled, event)));
        self.scheduled += 1;
    }

    /// The time of the next event.
    pub(crate) fn next_time(&self) -> Option<SimTime> {
        self.events.peek().map(|Reverse((at, _, _))| *at)
    }

    /// Removes the next event.
    pub(crate) fn pop(&mut self) -> Option<SimEvent> {
        self.events.pop().map(|Reverse((_, _, event))| event)
    }

    /// The number of pending events.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }
}
