//! Frames that let others pass.

use std::time::Duration;

use crate::cell::{Cell, Delivery};
use crate::counters::{Counters, Traffic};
use crate::dice::{Dice, Probability};
use crate::frame::Frame;
use crate::moment::{Moment, whole_ns};

/// Holds some frames back until others have passed, so that they are late by a known number of places (RFC 4737).
#[derive(Debug)]
pub struct Reordering {
    probability: Probability,
    places: u64,
    patience_ns: u64,
    dice: Dice,
    /// In the order they came: until when, after how many more frames.
    aside: Vec<(Moment, u64, Frame)>,
    counters: Counters,
}

impl Reordering {
    /// Holds each frame back with `probability`, until `places` more have passed, and never longer than `patience`.
    #[must_use]
    pub fn new(probability: Probability, places: u64, patience: Duration, dice: Dice) -> Self {
        Self {
            probability,
            places,
            patience_ns: whole_ns(patience),
            dice,
            aside: Vec::new(),
            counters: Counters::default(),
        }
    }

    fn deliver(&mut self, at: Moment, frame: Frame, out: &mut Vec<Delivery>) {
        self.counters.delivered.count(&frame);
        out.push(Delivery { at, frame });
    }

    /// Lets one more frame pass those aside, and out come those that have been passed by enough.
    fn passed(&mut self, now: Moment, out: &mut Vec<Delivery>) {
        let mut index = 0;
        while index < self.aside.len() {
            let left = &mut self.aside[index].1;
            *left = left.saturating_sub(1);
            if *left == 0 {
                let (_, _, frame) = self.aside.remove(index);
                self.deliver(now, frame, out);
            } else {
                index += 1;
            }
        }
    }
}

impl Cell for Reordering {
    fn kind(&self) -> &'static str {
        "reordering"
    }

    fn offer(&mut self, now: Moment, frame: Frame, out: &mut Vec<Delivery>) {
        self.advance(now, out);
        self.counters.offered.count(&frame);
        if self.places > 0 && self.dice.happens(self.probability) {
            let until = now.plus_ns(self.patience_ns);
            self.aside.push((until, self.places, frame));
        } else {
            self.deliver(now, frame, out);
            self.passed(now, out);
        }
    }

    fn counters(&self) -> Counters {
        self.counters.clone()
    }

    fn next_event(&self) -> Option<Moment> {
        // All wait equally long, so the first that came is the first that leaves.
        self.aside.first().map(|(until, ..)| *until)
    }

    fn advance(&mut self, now: Moment, out: &mut Vec<Delivery>) {
        while self.next_event().is_some_and(|until| until <= now) {
            let (until, _, frame) = self.aside.remove(0);
            self.deliver(until, frame, out);
        }
    }

    fn held(&self) -> Traffic {
        Traffic::of(self.aside.iter().map(|(.., frame)| frame))
    }
}
