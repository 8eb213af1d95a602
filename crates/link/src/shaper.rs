//! Delays what exceeds a rate and a burst.

use crate::bucket::TokenBucket;
use crate::cell::{Cell, Delivery, Setting};
use crate::counters::{Counters, DropReason, Report, Traffic};
use crate::error::LinkError;
use crate::frame::Frame;
use crate::moment::Moment;
use crate::queue::Queue;

/// A token bucket with a queue: frames wait until they can be paid for, then pass at once.
///
/// Unlike a [`Serialiser`](crate::serialiser::Serialiser) it takes no time to send, so a burst passes unspaced. A frame
/// that costs more than the bucket holds is dropped as [`DropReason::Policed`].
#[derive(Debug)]
pub struct Shaper {
    bucket: TokenBucket,
    queue: Queue,
    /// A frame that came to the head when the queue dropped a smaller one, and cannot be paid for yet.
    head: Option<Frame>,
    counters: Counters,
}

impl Shaper {
    /// Lets frames wait in `queue` until `bucket` pays for them.
    #[must_use]
    pub fn new(bucket: TokenBucket, queue: Queue) -> Self {
        Self {
            bucket,
            queue,
            head: None,
            counters: Counters::default(),
        }
    }
}

impl Cell for Shaper {
    fn kind(&self) -> &'static str {
        "shaper"
    }

    fn offer(&mut self, now: Moment, frame: Frame, out: &mut Vec<Delivery>) {
        self.advance(now, out);
        self.counters.offered.count(&frame);
        if self.bucket.never(&frame) {
            return self.counters.drop(&frame, DropReason::Policed);
        }
        if self.head.is_none() && self.queue.is_empty() && self.bucket.takes(now, &frame) {
            self.counters.delivered.count(&frame);
            return out.push(Delivery { at: now, frame });
        }
        self.queue.push(now, frame, &mut self.counters);
    }

    fn counters(&self) -> Counters {
        self.counters.clone()
    }

    fn next_event(&self) -> Option<Moment> {
        let first = self.head.as_ref().or_else(|| self.queue.first());
        first.map(|frame| self.bucket.when(frame))
    }

    fn advance(&mut self, now: Moment, out: &mut Vec<Delivery>) {
        while let Some(at) = self.next_event().filter(|at| *at <= now) {
            let Some(frame) = self.head.take().or_else(|| {
                let popped = self.queue.pop(at, &mut self.counters);
                popped.map(|(_, frame)| frame)
            }) else {
                return;
            };
            if self.bucket.takes(at, &frame) {
                self.counters.delivered.count(&frame);
                out.push(Delivery { at, frame });
            } else {
                self.head = Some(frame);
            }
        }
    }

    fn held(&self) -> Traffic {
        let mut held = self.queue.held();
        held += Traffic::of(&self.head);
        held
    }

    fn report(&self, now: Moment) -> Report {
        Report {
            queue: Some(self.queue.report(now)),
            ..Report::of(self.kind(), self.counters(), self.held())
        }
    }

    fn set(&mut self, now: Moment, setting: Setting) -> Result<bool, LinkError> {
        let Setting::Rate(rate) = setting else {
            return Ok(false);
        };
        self.bucket.set_rate(now, rate)?;
        Ok(true)
    }
}
