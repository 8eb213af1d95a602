//! What is to be done when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use caudal_link::moment::Moment;

/// Something to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Task {
    /// A host or router says at all its links that it is there, so that switches know where.
    Announce,
    /// A host sends what has waited longest in it.
    Release(usize),
    /// A flow begins.
    Start(usize),
    /// A flow's application stops.
    Stop(usize),
    /// A flow has something to do.
    Wake(usize),
}

/// Tasks by their time; those of one moment in the order in which they were put down.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    tasks: BinaryHeap<Reverse<(Moment, u64, Task)>>,
    count: u64,
}

impl Agenda {
    pub(crate) fn put(&mut self, at: Moment, task: Task) {
        self.tasks.push(Reverse((at, self.count, task)));
        self.count += 1;
    }

    pub(crate) fn next(&self) -> Option<Moment> {
        self.tasks.peek().map(|Reverse((at, _, _))| *at)
    }

    /// How many tasks there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.tasks.len()
    }

    pub(crate) fn take(&mut self) -> Option<(Moment, Task)> {
        self.tasks.pop().map(|Reverse((at, _, task))| (at, task))
    }
}
