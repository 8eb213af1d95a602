//! Drops what exceeds a rate and a burst.

use crate::bucket::TokenBucket;
use crate::cell::{Cell, Delivery, Setting};
use crate::counters::{Counters, DropReason};
use crate::error::LinkError;
use crate::frame::Frame;
use crate::moment::Moment;

/// A token bucket that waits for nothing: what it cannot pay for is dropped.
#[derive(Debug)]
pub struct Policer {
    bucket: TokenBucket,
    counters: Counters,
}

impl Policer {
    /// Lets pass what `bucket` pays for.
    #[must_use]
    pub fn new(bucket: TokenBucket) -> Self {
        Self {
            bucket,
            counters: Counters::default(),
        }
    }
}

impl Cell for Policer {
    fn kind(&self) -> &'static str {
        "policer"
    }

    fn offer(&mut self, now: Moment, frame: Frame, out: &mut Vec<Delivery>) {
        self.counters.offered.count(&frame);
        if self.bucket.takes(now, &frame) {
            self.counters.delivered.count(&frame);
            out.push(Delivery { at: now, frame });
        } else {
            self.counters.drop(&frame, DropReason::Policed);
        }
    }

    fn counters(&self) -> Counters {
        self.counters.clone()
    }

    fn set(&mut self, now: Moment, setting: Setting) -> Result<bool, LinkError> {
        let Setting::Rate(rate) = setting else {
            return Ok(false);
        };
        self.bucket.set_rate(now, rate)?;
        Ok(true)
    }
}
