//! Shaping: frames that exceed a rate and a burst are delayed.

use crate::bucket::TokenBucket;
use crate::counters::{DropReason, FrameCounters, FrameTotals};
use crate::error::LinkError;
use crate::frame::Frame;
use crate::queue::Queue;
use crate::report::ComponentReport;
use crate::stage::{Setting, Stage, TimedFrame};
use crate::time::SimTime;

/// A token bucket with a queue: frames wait until there are enough tokens, then pass at once.
///
/// Unlike a [`Serialiser`](crate::serialiser::Serialiser) it takes no time to send, so a burst passes back to back. A frame
/// that needs more tokens than the bucket holds is dropped as [`DropReason::Policed`].
#[derive(Debug)]
pub struct Shaper {
    bucket: TokenBucket,
    queue: Queue,
    /// A frame that reached the head when the queue dropped a smaller one, and waits for tokens.
    head: Option<Frame>,
    /// The time of the latest arrival: nothing leaves before it.
    arrived_at: SimTime,
    counters: FrameCounters,
}

impl Shaper {
    /// A shaper in which frames wait in `queue` for tokens of `bucket`.
    #[must_use]
    pub fn new(bucket: TokenBucket, queue: Queue) -> Self {
        Self {
            bucket,
            queue,
            head: None,
            arrived_at: SimTime::START,
            counters: FrameCounters::default(),
        }
    }
}

impl Stage for Shaper {
    fn kind(&self) -> &'static str {
        "shaper"
    }

    fn offer(&mut self, now: SimTime, frame: Frame, out: &mut Vec<TimedFrame>) {
        self.advance(now, out);
        self.arrived_at = self.arrived_at.max(now);
        self.counters.offered.add(&frame);
        if self.bucket.exceeds_capacity(&frame) {
            return self.counters.drop(&frame, DropReason::Policed);
        }
        if self.head.is_none() && self.queue.is_empty() && self.bucket.try_take(now, &frame) {
            self.counters.delivered.add(&frame);
            return out.push(TimedFrame { at: now, frame });
        }
        self.queue.enqueue(now, frame, &mut self.counters);
        // In a dual queue it may be the next one, before a longer frame that waits for tokens.
        self.advance(now, out);
    }

    fn counters(&self) -> FrameCounters {
        self.counters.clone()
    }

    fn next_event(&self) -> Option<SimTime> {
        let first = self.head.as_ref().or_else(|| self.queue.front());
        first.map(|frame| self.bucket.available_at(frame).max(self.arrived_at))
    }

    fn advance(&mut self, now: SimTime, out: &mut Vec<TimedFrame>) {
        while let Some(at) = self.next_event().filter(|at| *at <= now) {
            let Some(frame) = self.head.take().or_else(|| {
                let dequeued = self.queue.dequeue(at, &mut self.counters);
                dequeued.map(|(_, frame)| frame)
            }) else {
                return;
            };
            if self.bucket.try_take(at, &frame) {
                self.counters.delivered.add(&frame);
                out.push(TimedFrame { at, frame });
            } else {
                self.head = Some(frame);
            }
        }
    }

    fn held(&self) -> FrameTotals {
        let mut held = self.queue.held();
        held += self.head.iter().collect();
        held
    }

    fn report(&self, now: SimTime) -> ComponentReport {
        ComponentReport {
            queue: Some(self.queue.report(now)),
            ..ComponentReport::new(self.kind(), self.counters(), self.held())
        }
    }

    fn set(&mut self, now: SimTime, setting: Setting) -> Result<bool, LinkError> {
        let Setting::Rate(rate) = setting else {
            return Ok(false);
        };
        self.bucket.set_rate(now, rate)?;
        Ok(true)
    }
}
