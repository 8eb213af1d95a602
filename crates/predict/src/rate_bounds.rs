//! Bounds on a rate: the lowest is the prediction, and its limiting factor is named.

use std::fmt;

use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, rate};
use caudal_core::units::BitRate;

/// A factor that may limit a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LimitingFactor {
    /// The requested rate.
    Requested,
    /// The link and its framing.
    Wire,
    /// The receive window over the round-trip time.
    Window,
    /// Loss and the response of the congestion control.
    Loss,
    /// The duration of slow start.
    SlowStart,
    /// A policer.
    Policer,
    /// Other flows on the same link.
    Sharing,
    /// Data and acknowledgements that share a half-duplex medium.
    HalfDuplex,
    /// A shaper.
    Shaper,
}

impl LimitingFactor {
    /// The name in JSON and in the names of predictions.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requested => "asked",
            Self::Wire => "wire",
            Self::Window => "window",
            Self::Loss => "loss",
            Self::SlowStart => "slow_start",
            Self::Policer => "policer",
            Self::Sharing => "sharing",
            Self::HalfDuplex => "half_duplex",
            Self::Shaper => "shaper",
        }
    }
}

impl fmt::Display for LimitingFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Requested => "the requested rate",
            Self::Wire => "the wire",
            Self::Window => "the window",
            Self::Loss => "loss",
            Self::SlowStart => "slow start",
            Self::Policer => "the policer",
            Self::Sharing => "sharing",
            Self::HalfDuplex => "half duplex",
            Self::Shaper => "the shaper",
        })
    }
}

/// An upper bound on a rate, with the factor that sets it.
#[derive(Debug, Clone, PartialEq)]
pub struct RateBound {
    /// The limiting factor.
    pub factor: LimitingFactor,
    /// The highest rate it allows.
    pub rate: BitRate,
    /// The arithmetic behind the rate.
    pub derivation: String,
    /// The conditions under which it holds.
    pub assumes: String,
    /// The source of the formula.
    pub source: String,
    /// The tolerance of a prediction that this bound decides.
    pub tolerance: Tolerance,
}

/// The bounds that apply to one rate.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RateBounds(Vec<RateBound>);

impl RateBounds {
    /// An empty set of bounds.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a bound.
    pub fn push(&mut self, bound: RateBound) {
        self.0.push(bound);
    }

    /// The bounds in the order in which they were added.
    #[must_use]
    pub fn all(&self) -> &[RateBound] {
        &self.0
    }

    /// The binding bound: the lowest, of equal ones the first added. `None` when nothing applies.
    #[must_use]
    pub fn binding(&self) -> Option<&RateBound> {
        self.0.iter().min_by_key(|bound| bound.rate)
    }

    /// The prediction that the binding bound gives; `None` when nothing applies.
    #[must_use]
    pub fn prediction(&self, name: &str, title: &str) -> Option<Prediction> {
        let binding = self.binding()?;
        let compared: Vec<String> = self
            .0
            .iter()
            .map(|bound| format!("{} {}", bound.factor, rate(bound.rate)))
            .collect();
        let lowest = if self.0.len() > 1 {
            format!(
                "the smallest of: {}; so {} binds",
                compared.join(", "),
                binding.factor
            )
        } else {
            format!("{} alone applies", binding.factor)
        };
        Some(
            Prediction::new(name, title, binding.rate.as_f64(), Unit::BitPerSecond)
                .bound_by(binding.factor.name())
                .detail(format!("bound by {}", binding.factor))
                .assumes(binding.assumes.clone())
                .source(binding.source.clone())
                .within(binding.tolerance)
                .steps(
                    self.0
                        .iter()
                        .map(|bound| format!("{}: {}", bound.factor, bound.derivation)),
                )
                .step(lowest),
        )
    }
}

impl Extend<RateBound> for RateBounds {
    fn extend<I: IntoIterator<Item = RateBound>>(&mut self, bounds: I) {
        self.0.extend(bounds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(factor: LimitingFactor, bps: u64) -> RateBound {
        RateBound {
            factor,
            rate: BitRate::from_bps(bps),
            derivation: "for a test".to_owned(),
            assumes: String::new(),
            source: String::new(),
            tolerance: Tolerance::EXACT,
        }
    }

    #[test]
    fn the_lowest_bound_is_binding_and_its_factor_is_named() {
        let mut bounds = RateBounds::new();
        assert_eq!(bounds.prediction("goodput", "goodput"), None);
        bounds.push(bound(LimitingFactor::Wire, 94_148_000));
        bounds.push(bound(LimitingFactor::Window, 10_485_600));
        bounds.push(bound(LimitingFactor::Loss, 10_485_600));
        let prediction = bounds.prediction("goodput", "goodput").unwrap();
        assert_eq!(prediction.value, 10_485_600.0);
        assert_eq!(prediction.binding.as_deref(), Some("window"));
        assert_eq!(prediction.explanation.len(), 4);
        assert_eq!(
            prediction.explanation[3],
            "the smallest of: the wire 94.15 Mbit/s, the window 10.49 Mbit/s, loss 10.49 Mbit/s; so the window binds"
        );
    }
}
