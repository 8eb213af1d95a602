//! Frames that wait, and which of them are dropped.

use std::collections::VecDeque;

use crate::codel::Codel;
use crate::counters::{Counters, DropReason, QueueReport, Traffic};
use crate::frame::Frame;
use crate::moment::Moment;
use crate::occupancy::Occupancy;
use crate::red::Red;
use crate::waiting::Waiting;

/// How much may wait; the frame being sent does not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// This many frames.
    Frames(u64),
    /// This many bytes, from destination address to check sequence.
    Bytes(u64),
    /// As much as comes.
    None,
}

/// Who is dropped before the limit is reached.
#[derive(Debug, Clone)]
pub enum Discipline {
    /// Nobody.
    DropTail,
    /// Random early detection.
    Red(Red),
    /// Controlled delay.
    Codel(Codel),
}

/// A queue in front of something that sends.
#[derive(Debug, Clone)]
pub struct Queue {
    limit: Limit,
    discipline: Discipline,
    waiting: VecDeque<(Moment, Frame)>,
    bytes: u64,
    frames_over_time: Occupancy,
    bytes_over_time: Occupancy,
    waits: Waiting,
}

impl Queue {
    /// An empty queue.
    #[must_use]
    pub fn new(limit: Limit, discipline: Discipline) -> Self {
        Self {
            limit,
            discipline,
            waiting: VecDeque::new(),
            bytes: 0,
            frames_over_time: Occupancy::default(),
            bytes_over_time: Occupancy::default(),
            waits: Waiting::default(),
        }
    }

    /// A queue that drops what finds no room.
    #[must_use]
    pub fn drop_tail(limit: Limit) -> Self {
        Self::new(limit, Discipline::DropTail)
    }

    /// Whether nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Bytes waiting.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Frames and bytes waiting.
    #[must_use]
    pub fn held(&self) -> Traffic {
        Traffic {
            frames: self.waiting.len() as u64,
            bytes: self.bytes,
        }
    }

    /// What this queue went through until `now`.
    #[must_use]
    pub fn report(&self, now: Moment) -> QueueReport {
        let mut report = QueueReport {
            frames: self.frames_over_time.clone(),
            bytes: self.bytes_over_time.clone(),
            waiting: self.waits.clone(),
        };
        report.frames.pass(now);
        report.bytes.pass(now);
        report
    }

    /// The first in line, without taking it out.
    pub(crate) fn first(&self) -> Option<&Frame> {
        self.waiting.front().map(|(_, frame)| frame)
    }

    /// Lets `frame` wait from `now` on, or drops it.
    pub(crate) fn push(&mut self, now: Moment, frame: Frame, counters: &mut Counters) {
        let bytes = u64::from(frame.length());
        let room = match self.limit {
            Limit::Frames(most) => (self.waiting.len() as u64) < most,
            Limit::Bytes(most) => self.bytes.saturating_add(bytes) <= most,
            Limit::None => true,
        };
        if !room {
            return counters.drop(&frame, DropReason::QueueFull);
        }
        if let Discipline::Red(red) = &mut self.discipline
            && !red.admits(now, self.bytes, &frame)
        {
            return counters.drop(&frame, DropReason::Red);
        }
        self.bytes += bytes;
        self.waiting.push_back((now, frame));
        self.note(now);
    }

    /// The frame whose turn it is at `now`, and since when it waited.
    pub(crate) fn pop(&mut self, now: Moment, counters: &mut Counters) -> Option<(Moment, Frame)> {
        loop {
            let Some((since, frame)) = self.waiting.pop_front() else {
                if let Discipline::Codel(codel) = &mut self.discipline {
                    codel.emptied();
                }
                return None;
            };
            self.bytes -= u64::from(frame.length());
            self.note(now);
            if let Discipline::Red(red) = &mut self.discipline
                && self.waiting.is_empty()
            {
                red.emptied(now);
            }
            let wait = now.ns_since(since);
            if let Discipline::Codel(codel) = &mut self.discipline
                && codel.drops(now, wait, self.bytes)
            {
                counters.drop(&frame, DropReason::Codel);
                continue;
            }
            self.waits.record(wait);
            return Some((since, frame));
        }
    }

    fn note(&mut self, now: Moment) {
        self.frames_over_time.change(now, self.waiting.len() as u64);
        self.bytes_over_time.change(now, self.bytes);
    }
}
