//! What the slope grows by from one hop to the next.

use super::hop_slope::HopSlope;
use crate::rate_estimate::{RateEstimate, rate_of};
use caudal_core::units::BitRate;

/// Maximum relative half-width of a capacity that is reported.
const MAX_RELATIVE_HALF_WIDTH: f64 = 0.5;

/// The difference of two hops' slopes: the serialisation time per byte of the link between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlopeStep {
    /// The difference, ns per byte.
    pub ns_per_byte: f64,
    /// Half the width of its interval, ns per byte; above zero.
    pub half_width: f64,
    /// The confidence of that interval, from 0 to 1.
    pub confidence: f64,
    /// The readings behind both slopes.
    pub readings: u64,
}

impl SlopeStep {
    /// The step from `before`, or from the sender, to `slope`, with the interval of `z` standard errors.
    ///
    /// The variances of both slopes add up.
    #[must_use]
    pub fn between(before: Option<&HopSlope>, slope: &HopSlope, z: f64, confidence: f64) -> Self {
        let (from, error, readings) = before.map_or((0.0, 0.0, 0), |before| {
            (before.ns_per_byte, before.standard_error, before.readings)
        });
        Self {
            ns_per_byte: slope.ns_per_byte - from,
            half_width: z * error.hypot(slope.standard_error),
            confidence,
            readings: readings + slope.readings,
        }
    }

    /// The lower end of the interval, ns per byte.
    #[must_use]
    pub fn low(&self) -> f64 {
        self.ns_per_byte - self.half_width
    }

    /// The upper end of the interval, ns per byte.
    #[must_use]
    pub fn high(&self) -> f64 {
        self.ns_per_byte + self.half_width
    }

    /// The capacity of the link; `None` when the interval is too wide to state one.
    #[must_use]
    pub fn capacity(&self) -> Option<RateEstimate> {
        if self.half_width > MAX_RELATIVE_HALF_WIDTH * self.ns_per_byte {
            return None;
        }
        RateEstimate::from_ns_per_byte(
            self.ns_per_byte,
            (self.low(), self.high()),
            self.confidence,
            self.readings,
        )
    }

    /// The rate that the link has at least; `None` when the interval allows no positive step.
    #[must_use]
    pub fn at_least(&self) -> Option<BitRate> {
        rate_of(self.high())
    }
}
