//! Queues: capacity, discipline, statistics.

use std::collections::VecDeque;

use caudal_topology::QueueLimit;

use crate::codel::Codel;
use crate::counters::{DropReason, FrameCounters, FrameTotals};
use crate::frame::Frame;
use crate::histogram::DurationHistogram;
use crate::occupancy::Occupancy;
use crate::red::Red;
use crate::report::QueueReport;
use crate::time::SimTime;

/// The discipline of a queue, with its state.
#[derive(Debug, Clone)]
pub enum QueueDiscipline {
    /// Drops arriving frames while the queue is full.
    DropTail,
    /// Random early detection, in addition to drop-tail.
    Red(Red),
    /// Controlled delay, in addition to drop-tail.
    Codel(Codel),
}

/// A queue of frames.
#[derive(Debug, Clone)]
pub struct Queue {
    limit: QueueLimit,
    discipline: QueueDiscipline,
    /// The frames and the times at which they entered.
    frames: VecDeque<(SimTime, Frame)>,
    bytes: u64,
    frames_over_time: Occupancy,
    bytes_over_time: Occupancy,
    delays: DurationHistogram,
}

impl Queue {
    /// An empty queue.
    #[must_use]
    pub fn new(limit: QueueLimit, discipline: QueueDiscipline) -> Self {
        Self {
            limit,
            discipline,
            frames: VecDeque::new(),
            bytes: 0,
            frames_over_time: Occupancy::default(),
            bytes_over_time: Occupancy::default(),
            delays: DurationHistogram::default(),
        }
    }

    /// An empty drop-tail queue.
    #[must_use]
    pub fn drop_tail(limit: QueueLimit) -> Self {
        Self::new(limit, QueueDiscipline::DropTail)
    }

    /// `true` when no frame waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Its length in bytes.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Its length in frames and bytes.
    #[must_use]
    pub fn held(&self) -> FrameTotals {
        FrameTotals {
            frames: self.frames.len() as u64,
            bytes: self.bytes,
        }
    }

    /// Its statistics until `now`.
    #[must_use]
    pub fn report(&self, now: SimTime) -> QueueReport {
        QueueReport {
            frames: self.frames_over_time.summary(now),
            bytes: self.bytes_over_time.summary(now),
            waiting: self.delays.summary(),
        }
    }

    /// The frame at its head.
    pub(crate) fn front(&self) -> Option<&Frame> {
        self.frames.front().map(|(_, frame)| frame)
    }

    /// Adds `frame` at `now`, or drops it.
    pub(crate) fn enqueue(&mut self, now: SimTime, frame: Frame, counters: &mut FrameCounters) {
        let bytes = u64::from(frame.length());
        let has_room = match self.limit {
            QueueLimit::Frames(max) => (self.frames.len() as u64) < max,
            QueueLimit::Bytes(max) => self.bytes.saturating_add(bytes) <= max.get(),
            QueueLimit::None => true,
        };
        if !has_room {
            return counters.drop(&frame, DropReason::QueueFull);
        }
        if let QueueDiscipline::Red(red) = &mut self.discipline
            && !red.admit(now, self.bytes, &frame)
        {
            return counters.drop(&frame, DropReason::Red);
        }
        self.bytes += bytes;
        self.frames.push_back((now, frame));
        self.update_occupancy(now);
    }

    /// Removes the next frame at `now`; gives it and the time at which it entered.
    pub(crate) fn dequeue(
        &mut self,
        now: SimTime,
        counters: &mut FrameCounters,
    ) -> Option<(SimTime, Frame)> {
        loop {
            let Some((since, frame)) = self.frames.pop_front() else {
                if let QueueDiscipline::Codel(codel) = &mut self.discipline {
                    codel.on_empty();
                }
                return None;
            };
            self.bytes -= u64::from(frame.length());
            self.update_occupancy(now);
            if let QueueDiscipline::Red(red) = &mut self.discipline
                && self.frames.is_empty()
            {
                red.on_empty(now);
            }
            let delay_ns = now.ns_since(since);
            if let QueueDiscipline::Codel(codel) = &mut self.discipline
                && codel.should_drop(now, delay_ns, self.bytes)
            {
                counters.drop(&frame, DropReason::Codel);
                continue;
            }
            self.delays.record(delay_ns);
            return Some((since, frame));
        }
    }

    fn update_occupancy(&mut self, now: SimTime) {
        self.frames_over_time.set(now, self.frames.len() as u64);
        self.bytes_over_time.set(now, self.bytes);
    }
}
