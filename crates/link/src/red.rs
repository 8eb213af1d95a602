//! Random early detection: the longer the queue has been on average, the likelier a drop.

use std::time::Duration;

use crate::dice::{Dice, Probability};
use crate::error::LinkError;
use crate::frame::Frame;
use crate::moment::{Moment, whole_ns};

/// The fraction bits of the average.
const FRACTION: u32 = 16;

/// RED's thresholds and average, in bytes.
///
/// Source: Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", 1993, section 4.
#[derive(Debug, Clone)]
pub struct Red {
    low: u64,
    high: u64,
    most: Probability,
    weight: u32,
    frame_ns: u64,
    /// The average in 2^-16 bytes.
    average: u64,
    /// Frames admitted since the last drop between the thresholds.
    admitted: u64,
    idle_since: Option<Moment>,
    dice: Dice,
}

/// What RED is made from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RedParameters {
    /// Below this average in bytes nothing is dropped.
    pub low: u64,
    /// At this average in bytes and above everything is.
    pub high: u64,
    /// The probability of a drop just below `high`.
    pub most: Probability,
    /// The weight of a new length is 2^-`weight`; Floyd and Jacobson use 9 (0.002).
    pub weight: u32,
    /// How long a typical frame takes to send: an idle queue forgets by this step.
    pub frame_time: Duration,
}

impl Red {
    /// A queue that has always been empty.
    ///
    /// # Errors
    /// [`LinkError::Thresholds`] when `low` is not below `high`.
    pub fn new(parameters: RedParameters, dice: Dice) -> Result<Self, LinkError> {
        let RedParameters { low, high, .. } = parameters;
        if low >= high {
            return Err(LinkError::Thresholds { low, high });
        }
        Ok(Self {
            low,
            high,
            most: parameters.most,
            weight: parameters.weight.min(32),
            frame_ns: whole_ns(parameters.frame_time).max(1),
            average: 0,
            admitted: 0,
            idle_since: Some(Moment::START),
            dice,
        })
    }

    /// The average length in bytes.
    #[must_use]
    pub const fn average(&self) -> u64 {
        self.average >> FRACTION
    }

    /// The queue ran empty at `now`.
    pub(crate) fn emptied(&mut self, now: Moment) {
        self.idle_since = Some(now);
    }

    /// Whether `frame` may join a queue of `bytes`.
    pub(crate) fn admits(&mut self, now: Moment, bytes: u64, frame: &Frame) -> bool {
        self.observe(now, bytes);
        let average = self.average();
        if average < self.low {
            self.admitted = 0;
            return true;
        }
        if average >= self.high {
            self.admitted = 0;
            return false;
        }
        // p_b, in bytes as the frame is long against 1500, then p_a = p_b / (1 - admitted · p_b).
        let share = u128::from(average - self.low) * u128::from(frame.length());
        let span = u128::from(self.high - self.low) * 1500;
        let scale = 1_u128 << 32;
        let base = (self.most.fraction() * scale as f64) as u128 * share / span.max(1);
        let rest = scale.saturating_sub(base.saturating_mul(u128::from(self.admitted)));
        if self.dice.happens(Probability::ratio(base, rest)) {
            self.admitted = 0;
            false
        } else {
            self.admitted += 1;
            true
        }
    }

    fn observe(&mut self, now: Moment, bytes: u64) {
        if let Some(since) = self.idle_since.take() {
            // (1 - w)^m by halving: m steps forget as much as m / (2^weight · ln 2) halvings.
            let steps = now.ns_since(since) / self.frame_ns;
            let halvings = u128::from(steps) * 1_000_000 / ((1_u128 << self.weight) * 693_147);
            let halvings = u32::try_from(halvings).unwrap_or(u32::MAX);
            self.average = self.average.checked_shr(halvings).unwrap_or(0);
        }
        let length = bytes.min(u64::MAX >> FRACTION) << FRACTION;
        let average = self.average;
        self.average = if length >= average {
            average + ((length - average) >> self.weight)
        } else {
            average - ((average - length) >> self.weight)
        };
    }
}
