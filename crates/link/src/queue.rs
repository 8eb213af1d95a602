//! Queues: capacity, discipline, statistics.

use std::collections::VecDeque;

use caudal_core::marks::Ecn;
use caudal_topology::QueueLimit;

use crate::codel::Codel;
use crate::counters::{DropReason, FrameCounters, FrameTotals};
use crate::dual_queue::{DualQueue, Verdict};
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
    /// A dual queue with coupled marking (RFC 9332).
    Dual(DualQueue),
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
    /// `true` to mark packets of ECN-capable transports instead of dropping them early.
    marks: bool,
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
            marks: false,
        }
    }

    /// This queue, which marks packets of ECN-capable transports CE where its discipline would drop them early.
    #[must_use]
    pub const fn with_marks(mut self, marks: bool) -> Self {
        self.marks = marks;
        self
    }

    /// An empty drop-tail queue.
    #[must_use]
    pub fn drop_tail(limit: QueueLimit) -> Self {
        Self::new(limit, QueueDiscipline::DropTail)
    }

    /// `true` when no frame waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.scalable_frames() == 0
    }

    /// The frames of the scalable queue of a dual one.
    fn scalable_frames(&self) -> usize {
        match &self.discipline {
            QueueDiscipline::Dual(dual) => dual.scalable().len(),
            _ => 0,
        }
    }

    /// All frames.
    fn length(&self) -> u64 {
        (self.frames.len() + self.scalable_frames()) as u64
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
            frames: self.length(),
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
        let first = match &self.discipline {
            QueueDiscipline::Dual(dual) if dual.is_scalable_next(self.frames.front()) => {
                dual.scalable().front()
            }
            _ => self.frames.front(),
        };
        first.map(|(_, frame)| frame)
    }

    /// Adds `frame` at `now`, or drops it.
    pub(crate) fn enqueue(&mut self, now: SimTime, frame: Frame, counters: &mut FrameCounters) {
        let bytes = u64::from(frame.length());
        let has_room = match self.limit {
            QueueLimit::Frames(max) => self.length() < max,
            QueueLimit::Bytes(max) => self.bytes.saturating_add(bytes) <= max.get(),
            QueueLimit::None => true,
        };
        if !has_room {
            return counters.drop(&frame, DropReason::QueueFull);
        }
        let mut frame = frame;
        if let QueueDiscipline::Red(red) = &mut self.discipline
            && !red.admit(now, self.bytes, &frame)
        {
            // Above the upper threshold the queue is beyond what marks can hold back.
            if !(self.marks && red.is_below_max() && mark(&mut frame, counters)) {
                return counters.drop(&frame, DropReason::Red);
            }
        }
        self.bytes += bytes;
        match &mut self.discipline {
            QueueDiscipline::Dual(dual) if DualQueue::is_scalable(&frame) => {
                dual.enqueue(now, frame);
            }
            _ => self.frames.push_back((now, frame)),
        }
        self.update_occupancy(now);
    }

    /// Removes the next frame at `now`; gives it and the time at which it entered.
    pub(crate) fn dequeue(
        &mut self,
        now: SimTime,
        counters: &mut FrameCounters,
    ) -> Option<(SimTime, Frame)> {
        loop {
            let Some((since, mut frame, is_scalable)) = self.take(now) else {
                if let QueueDiscipline::Codel(codel) = &mut self.discipline {
                    codel.on_empty();
                }
                return None;
            };
            self.bytes -= u64::from(frame.length());
            self.update_occupancy(now);
            let delay_ns = now.ns_since(since);
            let bytes = self.bytes;
            let (verdict, reason) = match &mut self.discipline {
                QueueDiscipline::DropTail => (Verdict::Forward, DropReason::QueueFull),
                QueueDiscipline::Red(red) => {
                    if self.frames.is_empty() {
                        red.on_empty(now);
                    }
                    (Verdict::Forward, DropReason::Red)
                }
                QueueDiscipline::Codel(codel) => {
                    let verdict = match codel.should_drop(now, delay_ns, bytes) {
                        false => Verdict::Forward,
                        true if self.marks && !frame.ecn.is_not_ect() => Verdict::Mark,
                        true => Verdict::Drop,
                    };
                    (verdict, DropReason::Codel)
                }
                QueueDiscipline::Dual(dual) => {
                    let verdict = match is_scalable {
                        true => dual.of_scalable(delay_ns),
                        false => dual.of_classic(&frame),
                    };
                    (verdict, DropReason::Dual)
                }
            };
            match verdict {
                Verdict::Drop => {
                    counters.drop(&frame, reason);
                    continue;
                }
                Verdict::Mark => {
                    mark(&mut frame, counters);
                }
                Verdict::Forward => {}
            }
            self.delays.record(delay_ns);
            return Some((since, frame));
        }
    }

    /// The next frame, with whether it is of the scalable queue of a dual one.
    fn take(&mut self, now: SimTime) -> Option<(SimTime, Frame, bool)> {
        let QueueDiscipline::Dual(dual) = &mut self.discipline else {
            let (since, frame) = self.frames.pop_front()?;
            return Some((since, frame, false));
        };
        let classic = self.frames.front();
        dual.update(now, classic.map_or(0, |(since, _)| now.ns_since(*since)));
        let is_scalable = dual.is_scalable_next(classic);
        let (since, frame) = match is_scalable {
            true => dual.dequeue(),
            false => self.frames.pop_front(),
        }?;
        let is_other_waiting = match is_scalable {
            true => !self.frames.is_empty(),
            false => !dual.scalable().is_empty(),
        };
        dual.departed(frame.length(), is_scalable, is_other_waiting);
        Some((since, frame, is_scalable))
    }

    fn update_occupancy(&mut self, now: SimTime) {
        self.frames_over_time.set(now, self.length());
        self.bytes_over_time.set(now, self.bytes);
    }
}

/// Marks the packet of a frame CE, and counts it where it was not marked before; `false` where it is not ECN-capable.
fn mark(frame: &mut Frame, counters: &mut FrameCounters) -> bool {
    let was_marked = frame.ecn == Ecn::Ce;
    let is_marked = frame.mark_ce();
    if is_marked && !was_marked {
        counters.marked.add(frame);
    }
    is_marked
}
