//! RED (random early detection): the longer the average queue, the more likely a drop.

use std::time::Duration;

use crate::error::LinkError;
use crate::frame::Frame;
use crate::probability::Probability;
use crate::random::Rng;
use crate::time::{SimTime, duration_to_ns};

/// The fractional bits of the average.
const FRACTION_BITS: u32 = 16;

/// The state of RED, in bytes.
///
/// Source: Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", 1993, section 4.
#[derive(Debug, Clone)]
pub struct Red {
    min_threshold: u64,
    max_threshold: u64,
    max_probability: Probability,
    weight: u32,
    frame_ns: u64,
    /// The average in 2^-16 bytes.
    average: u64,
    /// Frames admitted since the last drop between the thresholds.
    admitted: u64,
    idle_since: Option<SimTime>,
    rng: Rng,
}

/// The parameters of RED.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RedParameters {
    /// The average length in bytes below which nothing is dropped.
    pub min_threshold: u64,
    /// The average length in bytes at and above which everything is dropped.
    pub max_threshold: u64,
    /// The drop probability just below `max_threshold`.
    pub max_probability: Probability,
    /// The negative exponent of the averaging weight 2^-`weight`; Floyd and Jacobson use 9 (0.002).
    pub weight: u32,
    /// The time to send a typical frame; the average of an idle queue decays in steps of it.
    pub frame_time: Duration,
}

impl Red {
    /// A queue that has always been empty.
    ///
    /// # Errors
    /// [`LinkError::InvalidThresholds`] when `min_threshold` is not below `max_threshold`.
    pub fn new(parameters: RedParameters, rng: Rng) -> Result<Self, LinkError> {
        let (min, max) = (parameters.min_threshold, parameters.max_threshold);
        if min >= max {
            return Err(LinkError::InvalidThresholds { min, max });
        }
        Ok(Self {
            min_threshold: min,
            max_threshold: max,
            max_probability: parameters.max_probability,
            weight: parameters.weight.min(32),
            frame_ns: duration_to_ns(parameters.frame_time).max(1),
            average: 0,
            admitted: 0,
            idle_since: Some(SimTime::START),
            rng,
        })
    }

    /// The average length in bytes.
    #[must_use]
    pub const fn average(&self) -> u64 {
        self.average >> FRACTION_BITS
    }

    /// Notes that the queue is empty from `now` on.
    /// `true` while the average is below the upper threshold.
    pub(crate) const fn is_below_max(&self) -> bool {
        self.average() < self.max_threshold
    }

    pub(crate) fn on_empty(&mut self, now: SimTime) {
        self.idle_since = Some(now);
    }

    /// Decides whether `frame` may join a queue of `bytes` at `now`.
    pub(crate) fn admit(&mut self, now: SimTime, bytes: u64, frame: &Frame) -> bool {
        self.update_average(now, bytes);
        let average = self.average();
        if average < self.min_threshold {
            self.admitted = 0;
            return true;
        }
        if average >= self.max_threshold {
            self.admitted = 0;
            return false;
        }
        // `p_b`, scaled by the frame's length over 1500 bytes, then `p_a` = `p_b` / (1 - admitted · `p_b`).
        let share = u128::from(average - self.min_threshold) * u128::from(frame.length());
        let span = u128::from(self.max_threshold - self.min_threshold) * 1500;
        let scale = 1_u128 << 32;
        let base = (self.max_probability.fraction() * scale as f64) as u128 * share / span.max(1);
        let rest = scale.saturating_sub(base.saturating_mul(u128::from(self.admitted)));
        if self.rng.bernoulli(Probability::ratio(base, rest)) {
            self.admitted = 0;
            false
        } else {
            self.admitted += 1;
            true
        }
    }

    fn update_average(&mut self, now: SimTime, bytes: u64) {
        if let Some(since) = self.idle_since.take() {
            // (1 - w)^m as a number of halvings: m / (2^weight · ln 2).
            let steps = now.ns_since(since) / self.frame_ns;
            let halvings = u128::from(steps) * 1_000_000 / ((1_u128 << self.weight) * 693_147);
            let halvings = u32::try_from(halvings).unwrap_or(u32::MAX);
            self.average = self.average.checked_shr(halvings).unwrap_or(0);
        }
        let length = bytes.min(u64::MAX >> FRACTION_BITS) << FRACTION_BITS;
        let average = self.average;
        self.average = if length >= average {
            average + ((length - average) >> self.weight)
        } else {
            average - ((average - length) >> self.weight)
        };
    }
}
