//! Duplication.

use crate::counters::FrameCounters;
use crate::frame::Frame;
use crate::probability::Probability;
use crate::random::Rng;
use crate::stage::{Stage, TimedFrame};
use crate::time::SimTime;

/// A stage that delivers a copy of some frames, right behind the original.
#[derive(Debug)]
pub struct Duplication {
    probability: Probability,
    rng: Rng,
    counters: FrameCounters,
}

impl Duplication {
    /// A stage that duplicates each frame with `probability`.
    #[must_use]
    pub fn new(probability: Probability, rng: Rng) -> Self {
        Self {
            probability,
            rng,
            counters: FrameCounters::default(),
        }
    }
}

impl Stage for Duplication {
    fn kind(&self) -> &'static str {
        "duplication"
    }

    fn offer(&mut self, now: SimTime, frame: Frame, out: &mut Vec<TimedFrame>) {
        self.counters.offered.add(&frame);
        if self.rng.bernoulli(self.probability) {
            self.counters.added.add(&frame);
            self.counters.delivered.add(&frame);
            out.push(TimedFrame {
                at: now,
                frame: frame.clone(),
            });
        }
        self.counters.delivered.add(&frame);
        out.push(TimedFrame { at: now, frame });
    }

    fn counters(&self) -> FrameCounters {
        self.counters.clone()
    }
}
