//! Frames whose bits change on the way.

use crate::cell::{Cell, Delivery};
use crate::counters::{Counters, DropReason};
use crate::dice::{Dice, Probability};
use crate::frame::Frame;
use crate::moment::Moment;

/// How often bits change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errors {
    /// In each frame with this probability, however long.
    PerFrame(Probability),
    /// In each bit from destination address to check sequence with this probability, whatever became of the others.
    PerBit(Probability),
}

/// What a changed bit leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// The check sequence tells, and the receiver drops the frame.
    Detected,
    /// One bit behind the Ethernet header is inverted and nothing tells, as when memory fails in a switch.
    Silent,
}

/// Damages some frames.
#[derive(Debug)]
pub struct Corruption {
    errors: Errors,
    damage: Damage,
    dice: Dice,
    /// The probability for the length last seen.
    known: Option<(u32, Probability)>,
    counters: Counters,
}

impl Corruption {
    /// Damages frames as often as `errors` says.
    #[must_use]
    pub fn new(errors: Errors, damage: Damage, dice: Dice) -> Self {
        Self {
            errors,
            damage,
            dice,
            known: None,
            counters: Counters::default(),
        }
    }

    fn probability(&mut self, length: u32) -> Probability {
        let per_bit = match self.errors {
            Errors::PerFrame(probability) => return probability,
            Errors::PerBit(per_bit) => per_bit,
        };
        match self.known {
            Some((known, probability)) if known == length => probability,
            _ => {
                let bits = f64::from(length) * 8.0;
                // 1 - (1 - p)^bits, exact for small p too.
                let any = -libm::expm1(bits * libm::log1p(-per_bit.fraction()));
                let any = Probability::new(any.clamp(0.0, 1.0)).unwrap_or(Probability::ALWAYS);
                self.known = Some((length, any));
                any
            }
        }
    }
}

impl Cell for Corruption {
    fn kind(&self) -> &'static str {
        "corruption"
    }

    fn offer(&mut self, now: Moment, mut frame: Frame, out: &mut Vec<Delivery>) {
        self.counters.offered.count(&frame);
        let probability = self.probability(frame.length());
        if self.dice.happens(probability) {
            match self.damage {
                Damage::Detected => {
                    return self.counters.drop(&frame, DropReason::CheckSequence);
                }
                Damage::Silent => frame.flip(self.dice.bits()),
            }
        }
        self.counters.delivered.count(&frame);
        out.push(Delivery { at: now, frame });
    }

    fn counters(&self) -> Counters {
        self.counters.clone()
    }
}
