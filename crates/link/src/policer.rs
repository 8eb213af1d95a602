//! Policing: frames that exceed a rate and a burst are dropped.

use crate::bucket::TokenBucket;
use crate::counters::{DropReason, FrameCounters};
use crate::error::LinkError;
use crate::frame::Frame;
use crate::stage::{Setting, Stage, TimedFrame};
use crate::time::SimTime;

/// A token bucket without a queue: frames for which there are not enough tokens are dropped.
#[derive(Debug)]
pub struct Policer {
    bucket: TokenBucket,
    counters: FrameCounters,
}

impl Policer {
    /// A policer with `bucket`.
    #[must_use]
    pub fn new(bucket: TokenBucket) -> Self {
        Self {
            bucket,
            counters: FrameCounters::default(),
        }
    }
}

impl Stage for Policer {
    fn kind(&self) -> &'static str {
        "policer"
    }

    fn offer(&mut self, now: SimTime, frame: Frame, out: &mut Vec<TimedFrame>) {
        self.counters.offered.add(&frame);
        if self.bucket.try_take(now, &frame) {
            self.counters.delivered.add(&frame);
            out.push(TimedFrame { at: now, frame });
        } else {
            self.counters.drop(&frame, DropReason::Policed);
        }
    }

    fn counters(&self) -> FrameCounters {
        self.counters.clone()
    }

    fn set(&mut self, now: SimTime, setting: Setting) -> Result<bool, LinkError> {
        let Setting::Rate(rate) = setting else {
            return Ok(false);
        };
        self.bucket.set_rate(now, rate)?;
        Ok(true)
    }
}
