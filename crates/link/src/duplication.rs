//! Frames that arrive twice.

use crate::cell::{Cell, Delivery};
use crate::counters::Counters;
use crate::dice::{Dice, Probability};
use crate::frame::Frame;
use crate::moment::Moment;

/// Makes a copy of some frames, right behind the original.
#[derive(Debug)]
pub struct Duplication {
    probability: Probability,
    dice: Dice,
    counters: Counters,
}

impl Duplication {
    /// Copies each frame with `probability`.
    #[must_use]
    pub fn new(probability: Probability, dice: Dice) -> Self {
        Self {
            probability,
            dice,
            counters: Counters::default(),
        }
    }
}

impl Cell for Duplication {
    fn kind(&self) -> &'static str {
        "duplication"
    }

    fn offer(&mut self, now: Moment, frame: Frame, out: &mut Vec<Delivery>) {
        self.counters.offered.count(&frame);
        if self.dice.happens(self.probability) {
            self.counters.added.count(&frame);
            self.counters.delivered.count(&frame);
            out.push(Delivery {
                at: now,
                frame: frame.clone(),
            });
        }
        self.counters.delivered.count(&frame);
        out.push(Delivery { at: now, frame });
    }

    fn counters(&self) -> Counters {
        self.counters.clone()
    }
}
