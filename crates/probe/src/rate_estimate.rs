//! A rate with its interval.

use caudal_core::path::StatementConfidence;
use caudal_core::units::BitRate;
use std::fmt;

/// A rate with its interval and the number of readings it rests on.
///
/// The layer is that of the sizes handed in: sizes on the wire give the rate of the wire.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateEstimate {
    /// The rate.
    pub rate: BitRate,
    /// The lower end of the interval.
    pub low: BitRate,
    /// The upper end of the interval; `None` when the readings bound the rate from below only.
    pub high: Option<BitRate>,
    /// The probability with which intervals computed this way contain the true rate, from 0 to 1; 0 for a range of a few results.
    pub confidence: f64,
    /// The readings behind it.
    pub readings: u64,
}

impl RateEstimate {
    /// The rate of a time per byte in ns that lies between `low` and `high`; `None` for a time or a lower end that is not above zero.
    #[must_use]
    pub fn from_ns_per_byte(
        time: f64,
        (low, high): (f64, f64),
        confidence: f64,
        readings: u64,
    ) -> Option<Self> {
        if !(low > 0.0 && low <= time && time <= high) {
            return None;
        }
        Some(Self {
            rate: rate_of(time)?,
            low: rate_of(high)?,
            high: Some(rate_of(low)?),
            confidence,
            readings,
        })
    }

    /// Half the width of the interval as a fraction of the rate; `None` without an upper end or for a rate of zero.
    #[must_use]
    pub fn relative_half_width(&self) -> Option<f64> {
        let width = self.high?.as_f64() - self.low.as_f64();
        (self.rate > BitRate::ZERO).then(|| width / 2.0 / self.rate.as_f64())
    }

    /// `true` when the interval contains `rate`.
    #[must_use]
    pub fn contains(&self, rate: BitRate) -> bool {
        self.low <= rate && self.high.is_none_or(|high| rate <= high)
    }
}

/// The rate of a time per byte in ns; `None` unless that is above zero and finite and the rate at least 1 bit/s.
pub(crate) fn rate_of(ns_per_byte: f64) -> Option<BitRate> {
    let possible = ns_per_byte > 0.0 && ns_per_byte.is_finite();
    let rate = BitRate::from_f64(8e9 / ns_per_byte).filter(|rate| *rate > BitRate::ZERO);
    rate.filter(|_| possible)
}

/// The confidence in a statement that rests on more than one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// Something else explains the readings as well.
    Low,
    /// The readings fit, and what would confirm them was not measured.
    Medium,
    /// Readings of more than one kind agree, or the interval is narrow.
    High,
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        })
    }
}

impl From<Confidence> for StatementConfidence {
    fn from(confidence: Confidence) -> Self {
        match confidence {
            Confidence::Low => Self::Low,
            Confidence::Medium => Self::Medium,
            Confidence::High => Self::High,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eighty_nanoseconds_a_byte_are_a_hundred_megabits_a_second() {
        let rate = RateEstimate::from_ns_per_byte(80.0, (64.0, 100.0), 0.95, 12).unwrap();
        assert_eq!(rate.rate, BitRate::from_bps(100_000_000));
        assert_eq!(rate.low, BitRate::from_bps(80_000_000));
        assert_eq!(rate.high, Some(BitRate::from_bps(125_000_000)));
        assert_eq!(rate.relative_half_width(), Some(0.225));
        assert!(rate.contains(rate.low) && !rate.contains(BitRate::from_bps(79_999_999)));
    }

    #[test]
    fn times_that_give_no_rate_give_none() {
        for (time, interval) in [
            (0.0, (0.0, 1.0)),
            (-1.0, (-2.0, 1.0)),
            (f64::NAN, (1.0, 2.0)),
            (1.0, (f64::NAN, 2.0)),
            (f64::INFINITY, (1.0, f64::INFINITY)),
            (1e-300, (1e-301, 1.0)),
        ] {
            assert_eq!(
                RateEstimate::from_ns_per_byte(time, interval, 0.95, 1),
                None
            );
        }
    }
}
