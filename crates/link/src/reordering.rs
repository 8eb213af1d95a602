//! Reordering.

use std::time::Duration;

use crate::counters::{FrameCounters, FrameTotals};
use crate::frame::Frame;
use crate::probability::Probability;
use crate::random::Rng;
use crate::stage::{Stage, TimedFrame};
use crate::time::{SimTime, duration_to_ns};

/// A stage that holds some frames back until a number of others has passed: their reordering extent (RFC 4737).
#[derive(Debug)]
pub struct Reordering {
    probability: Probability,
    extent: u64,
    max_hold_ns: u64,
    rng: Rng,
    /// The frames held back, in order of entry, with the end of their hold time and the number of frames yet to pass.
    held_back: Vec<(SimTime, u64, Frame)>,
    counters: FrameCounters,
}

impl Reordering {
    /// A stage that holds each frame back with `probability`, until `extent` others have passed or `max_hold` is over.
    #[must_use]
    pub fn new(probability: Probability, extent: u64, max_hold: Duration, rng: Rng) -> Self {
        Self {
            probability,
            extent,
            max_hold_ns: duration_to_ns(max_hold),
            rng,
            held_back: Vec::new(),
            counters: FrameCounters::default(),
        }
    }

    fn deliver(&mut self, at: SimTime, frame: Frame, out: &mut Vec<TimedFrame>) {
        self.counters.delivered.add(&frame);
        out.push(TimedFrame { at, frame });
    }

    /// Counts a frame that passed those held back, and releases those that enough frames have passed.
    fn count_passed(&mut self, now: SimTime, out: &mut Vec<TimedFrame>) {
        let mut index = 0;
        while index < self.held_back.len() {
            let to_pass = &mut self.held_back[index].1;
            *to_pass = to_pass.saturating_sub(1);
            if *to_pass == 0 {
                let (_, _, frame) = self.held_back.remove(index);
                self.deliver(now, frame, out);
            } else {
                index += 1;
            }
        }
    }
}

impl Stage for Reordering {
    fn kind(&self) -> &'static str {
        "reordering"
    }

    fn offer(&mut self, now: SimTime, frame: Frame, out: &mut Vec<TimedFrame>) {
        self.advance(now, out);
        self.counters.offered.add(&frame);
        if self.extent > 0 && self.rng.bernoulli(self.probability) {
            let until = now.plus_ns(self.max_hold_ns);
            self.held_back.push((until, self.extent, frame));
        } else {
            self.deliver(now, frame, out);
            self.count_passed(now, out);
        }
    }

    fn counters(&self) -> FrameCounters {
        self.counters.clone()
    }

    fn next_event(&self) -> Option<SimTime> {
        // All hold times are equal, so the first frame is also the first to time out.
        self.held_back.first().map(|(until, ..)| *until)
    }

    fn advance(&mut self, now: SimTime, out: &mut Vec<TimedFrame>) {
        while self.next_event().is_some_and(|until| until <= now) {
            let (until, _, frame) = self.held_back.remove(0);
            self.deliver(until, frame, out);
        }
    }

    fn held(&self) -> FrameTotals {
        self.held_back.iter().map(|(.., frame)| frame).collect()
    }
}
