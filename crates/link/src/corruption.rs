//! Bit errors.

use crate::counters::{DropReason, FrameCounters};
use crate::frame::Frame;
use crate::probability::Probability;
use crate::random::Rng;
use crate::stage::{Stage, TimedFrame};
use crate::time::SimTime;

/// The rate of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorRate {
    /// The probability of an error in a frame of any length.
    PerFrame(Probability),
    /// The probability of an error in each bit from destination address to check sequence, independently of others.
    PerBit(Probability),
}

/// The effect of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// The check sequence detects it, and the receiver drops the frame.
    Detected,
    /// One bit behind the Ethernet header is inverted without detection, as by a memory error in a switch.
    Silent,
}

/// A stage that damages some frames.
#[derive(Debug)]
pub struct Corruption {
    errors: ErrorRate,
    damage: Damage,
    rng: Rng,
    /// The length last seen, and the probability of an error in a frame of that length.
    cached: Option<(u32, Probability)>,
    counters: FrameCounters,
}

impl Corruption {
    /// A stage with errors of rate `errors` and effect `damage`.
    #[must_use]
    pub fn new(errors: ErrorRate, damage: Damage, rng: Rng) -> Self {
        Self {
            errors,
            damage,
            rng,
            cached: None,
            counters: FrameCounters::default(),
        }
    }

    fn probability(&mut self, length: u32) -> Probability {
        let per_bit = match self.errors {
            ErrorRate::PerFrame(probability) => return probability,
            ErrorRate::PerBit(per_bit) => per_bit,
        };
        match self.cached {
            Some((cached, probability)) if cached == length => probability,
            _ => {
                let bits = f64::from(length) * 8.0;
                // 1 - (1 - p)^bits, exact for small p too.
                let any = -libm::expm1(bits * libm::log1p(-per_bit.fraction()));
                let any = Probability::new(any.clamp(0.0, 1.0)).unwrap_or(Probability::ALWAYS);
                self.cached = Some((length, any));
                any
            }
        }
    }
}

impl Stage for Corruption {
    fn kind(&self) -> &'static str {
        "corruption"
    }

    fn offer(&mut self, now: SimTime, mut frame: Frame, out: &mut Vec<TimedFrame>) {
        self.counters.offered.add(&frame);
        let probability = self.probability(frame.length());
        if self.rng.bernoulli(probability) {
            match self.damage {
                Damage::Detected => {
                    return self.counters.drop(&frame, DropReason::CheckSequence);
                }
                Damage::Silent => frame.flip_bit(self.rng.next_u64()),
            }
        }
        self.counters.delivered.add(&frame);
        out.push(TimedFrame { at: now, frame });
    }

    fn counters(&self) -> FrameCounters {
        self.counters.clone()
    }
}
