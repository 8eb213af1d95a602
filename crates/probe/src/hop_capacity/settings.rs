//! What the estimates of hops depend on besides readings.

use caudal_stats::normal_quantile;

/// Default confidence of intervals, also in place of an impossible one.
const USUAL_CONFIDENCE: f64 = 0.95;
/// Two-sided quantile of the normal distribution at that confidence.
const USUAL_QUANTILE: f64 = 1.96;

/// The packets sent right before a primed probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Primers {
    /// How many there are.
    pub packets: u32,
    /// The size of each on the wire, bytes.
    pub bytes: u32,
}

/// What the estimates of hops depend on besides readings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VpsSettings {
    /// The confidence of the intervals, from 0 to 1.
    pub confidence: f64,
    /// The half-width of a capacity's interval, relative to the capacity, at which a hop needs no more readings.
    pub accuracy: f64,
    /// The noise of a round-trip time without any queueing, ns: at best the resolution of the timestamps.
    pub resolution_ns: u64,
    /// The primers of primed probes.
    pub primers: Primers,
    /// The rounds of a hop before its interval is trusted. A round is one probe of each size.
    pub min_rounds: u64,
    /// The resamples of the bootstrap.
    pub resamples: u32,
    /// The seed of the bootstrap.
    pub seed: u64,
}

impl VpsSettings {
    /// The standard errors to either side of a value that its interval has.
    pub(super) fn quantile(&self) -> f64 {
        let confidence = self.with_possible_confidence().confidence;
        normal_quantile(f64::midpoint(1.0, confidence))
            .filter(|z| *z > 0.0 && z.is_finite())
            .unwrap_or(USUAL_QUANTILE)
    }

    /// The settings with a confidence between 0 and 1.
    pub(super) fn with_possible_confidence(&self) -> Self {
        let possible = self.confidence > 0.0 && self.confidence < 1.0;
        Self {
            confidence: if possible {
                self.confidence
            } else {
                USUAL_CONFIDENCE
            },
            ..*self
        }
    }
}

impl Default for VpsSettings {
    /// Intervals of 95 %, an accuracy of 5 %, kernel timestamps, two primers of 1538 bytes, eight rounds, 200
    /// resamples.
    ///
    /// With one primer the bucket of a shaper still holds part of the probe: measured capacities of tbf were 2 to 3 % further off.
    fn default() -> Self {
        Self {
            confidence: 0.95,
            accuracy: 0.05,
            resolution_ns: 1000,
            primers: Primers {
                packets: 2,
                bytes: 1538,
            },
            min_rounds: 8,
            resamples: 200,
            seed: 1,
        }
    }
}
