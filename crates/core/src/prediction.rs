//! Predicted values with their assumptions, and observations compared with them.

use crate::quantity::{Unit, UnitValue, digits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The way a value was predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// By a formula.
    Formula,
    /// By a simulation in virtual time.
    Simulation,
}

/// The maximum relative difference for an observation to agree with a prediction; beyond it one of the prediction's
/// assumptions must have failed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tolerance {
    /// The fraction of the predicted value by which an observation may lie below it.
    pub below: f64,
    /// The fraction of the predicted value by which an observation may lie above it.
    pub above: f64,
}

impl Tolerance {
    /// For arithmetic without a model: a larger difference is due to an assumption.
    pub const EXACT: Self = Self::symmetric(0.02);
    /// For windows, which the kernel adjusts while the test runs.
    pub const WINDOW: Self = Self::symmetric(0.05);
    /// For times to which hosts add.
    pub const TIME: Self = Self::symmetric(0.2);
    /// For shares of a queue, which depend on the phases of the flows.
    pub const SHARE: Self = Self::symmetric(0.2);
    /// For models of loss, which are good to a factor of two.
    pub const FACTOR_TWO: Self = Self {
        below: 0.5,
        above: 1.0,
    };

    /// The same fraction below and above.
    #[must_use]
    pub const fn symmetric(fraction: f64) -> Self {
        Self {
            below: fraction,
            above: fraction,
        }
    }

    /// `true` when a difference, as a fraction of the predicted value, is within the tolerance.
    #[must_use]
    pub fn allows(&self, difference: f64) -> bool {
        -self.below <= difference && difference <= self.above
    }
}

impl fmt::Display for Tolerance {
    /// Writes `2 %` or `a factor of 2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::FACTOR_TWO {
            return f.pad("a factor of 2");
        }
        let percent = format!("{:.1}", self.above.max(self.below) * 100.0);
        let percent = percent.trim_end_matches('0').trim_end_matches('.');
        f.pad(&format!("{percent} %"))
    }
}

/// A predicted value with its assumptions and its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prediction {
    /// A stable name for programs.
    pub name: String,
    /// The name for people.
    pub title: String,
    /// The predicted value.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// Formula or simulation: predictions of one name answer the same question.
    pub method: Method,
    /// The term that determines the value, where several could.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding: Option<String>,
    /// The most informative number behind the value.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The assumptions of the prediction.
    pub assumes: String,
    /// The source of the formula.
    pub source: String,
    /// The maximum difference for an observation to agree.
    pub tolerance: Tolerance,
    /// The steps of the calculation with their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explanation: Vec<String>,
}

impl Prediction {
    /// A value by formula; the methods below add the rest.
    #[must_use]
    pub fn new(name: impl Into<String>, title: impl Into<String>, value: f64, unit: Unit) -> Self {
        Self {
            name: name.into(),
            title: title.into(),
            value,
            unit,
            method: Method::Formula,
            binding: None,
            detail: String::new(),
            assumes: String::new(),
            source: String::new(),
            tolerance: Tolerance::EXACT,
            explanation: Vec::new(),
        }
    }

    /// The same with its most informative number.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }

    /// The same with its assumptions.
    #[must_use]
    pub fn assumes(mut self, assumes: impl Into<String>) -> Self {
        self.assumes = assumes.into();
        self
    }

    /// The same with the source of its formula.
    #[must_use]
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.source = source.into();
        self
    }

    /// The same with its tolerance.
    #[must_use]
    pub const fn within(mut self, tolerance: Tolerance) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// The same with the term that determines the value.
    #[must_use]
    pub fn bound_by(mut self, binding: impl Into<String>) -> Self {
        self.binding = Some(binding.into());
        self
    }

    /// The same with a further step of the calculation.
    #[must_use]
    pub fn step(mut self, step: impl Into<String>) -> Self {
        self.explanation.push(step.into());
        self
    }

    /// The same with further steps of the calculation.
    #[must_use]
    pub fn steps(mut self, steps: impl IntoIterator<Item = String>) -> Self {
        self.explanation.extend(steps);
        self
    }

    /// The value with its unit.
    #[must_use]
    pub const fn unit_value(&self) -> UnitValue {
        UnitValue::new(self.value, self.unit)
    }
}

/// A prediction and the observation it is compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictionCheck {
    /// The prediction.
    #[serde(flatten)]
    pub prediction: Prediction,
    /// The observed value, in the unit of the prediction.
    pub observed: f64,
    /// observed / predicted − 1; `None` when the predicted value is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// `true` when the difference is within the tolerance. Of several ceilings only the lowest need hold.
    pub holds: bool,
    /// When it is not: the assumption that failed, or the reason why none can be named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl PredictionCheck {
    /// Compares an observation with a prediction.
    #[must_use]
    pub fn new(prediction: Prediction, observed: f64) -> Self {
        let difference = (prediction.value > 0.0).then(|| observed / prediction.value - 1.0);
        let holds = match difference {
            Some(difference) => prediction.tolerance.allows(difference),
            None => observed <= prediction.tolerance.above,
        };
        Self {
            prediction,
            observed,
            difference,
            holds,
            why: None,
        }
    }

    /// Compares an observation with an upper bound: any value below it agrees.
    #[must_use]
    pub fn with_upper_bound(mut prediction: Prediction, observed: f64) -> Self {
        prediction.tolerance = Tolerance {
            below: 1.0,
            ..prediction.tolerance
        };
        Self::new(prediction, observed)
    }

    /// `true` when the prediction is compared as an upper bound, which says nothing of how far below it an observation lies.
    #[must_use]
    pub fn is_upper_bound(&self) -> bool {
        self.prediction.tolerance.below >= 1.0
    }

    /// The same with the reason of a difference beyond the tolerance; `why` is called only for one.
    #[must_use]
    pub fn because(mut self, why: impl FnOnce(&Self) -> String) -> Self {
        self.why = (!self.holds).then(|| why(&self));
        self
    }
}

impl fmt::Display for PredictionCheck {
    /// Writes the predicted value, the observed one, their difference, and the tolerance or the reason.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Prediction {
            unit,
            tolerance,
            detail,
            ..
        } = &self.prediction;
        let at_most = if self.is_upper_bound() {
            "at most "
        } else {
            ""
        };
        write!(f, "{at_most}{}", self.prediction.unit_value())?;
        if !detail.is_empty() {
            write!(f, ", {detail}")?;
        }
        write!(f, "; observed {}", UnitValue::new(self.observed, *unit))?;
        if self.is_upper_bound() && self.holds {
            return f.write_str(", which is below that");
        }
        if let Some(difference) = self.difference {
            write!(f, ", {}", RelativeDifference(difference))?;
        }
        match (&self.why, self.holds) {
            (_, true) => write!(f, " (within {tolerance})"),
            (Some(why), false) => write!(f, ": {why}"),
            (None, false) => write!(f, " (more than {tolerance})"),
        }
    }
}

/// A relative difference, observed / predicted − 1, which prints as `1.6 % below` or `4.200 times as much`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RelativeDifference(pub f64);

impl fmt::Display for RelativeDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(difference) = *self;
        if difference >= 1.0 {
            return f.pad(&format!("{} times as much", digits(difference + 1.0)));
        }
        let percent = difference.abs() * 100.0;
        let rounded = if percent < 10.0 {
            format!("{percent:.1}")
        } else {
            format!("{percent:.0}")
        };
        match (rounded.as_str(), difference > 0.0) {
            ("0.0", _) => f.pad("as predicted"),
            (_, true) => f.pad(&format!("{rounded} % above")),
            (_, false) => f.pad(&format!("{rounded} % below")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_of_two_reaches_from_half_to_twice() {
        let two = Tolerance::FACTOR_TWO;
        assert!(two.allows(-0.5) && two.allows(1.0));
        assert!(!two.allows(-0.51) && !two.allows(1.01) && !two.allows(f64::NAN));
        assert_eq!(two.to_string(), "a factor of 2");
        assert_eq!(Tolerance::EXACT.to_string(), "2 %");
        assert_eq!(Tolerance::symmetric(0.0889).to_string(), "8.9 %");
        assert_eq!(Tolerance::symmetric(0.2).to_string(), "20 %");
    }

    fn prediction(value: f64) -> Prediction {
        Prediction::new("goodput", "goodput", value, Unit::BitPerSecond)
            .detail("bound by the wire")
            .within(Tolerance::EXACT)
    }

    #[test]
    fn only_a_difference_beyond_the_tolerance_has_a_reason() {
        let close =
            PredictionCheck::new(prediction(1e7), 0.99e7).because(|_| "never asked".to_owned());
        assert!(close.holds && close.why.is_none());
        assert_eq!(
            close.to_string(),
            "10 Mbit/s, bound by the wire; observed 9.900 Mbit/s, 1.0 % below (within 2 %)"
        );
        let beyond = PredictionCheck::new(prediction(1e7), 0.5e7).because(|_| "loss".to_owned());
        assert_eq!(
            beyond.to_string(),
            "10 Mbit/s, bound by the wire; observed 5 Mbit/s, 50 % below: loss"
        );
    }

    #[test]
    fn an_observation_below_an_upper_bound_agrees_with_it() {
        let below = PredictionCheck::with_upper_bound(prediction(1e7), 1e6);
        assert!(below.holds);
        assert_eq!(
            below.to_string(),
            "at most 10 Mbit/s, bound by the wire; observed 1 Mbit/s, which is below that"
        );
        assert!(!PredictionCheck::with_upper_bound(prediction(1e7), 1.1e7).holds);
    }

    #[test]
    fn a_predicted_zero_has_no_relative_difference() {
        let none = PredictionCheck::new(prediction(0.0), 0.0);
        assert_eq!((none.difference, none.holds), (None, true));
    }

    #[test]
    fn differences_print_as_percentages_or_multiples() {
        for (difference, text) in [
            (0.0, "as predicted"),
            (0.0004, "as predicted"),
            (-0.016, "1.6 % below"),
            (0.25, "25 % above"),
            (3.2, "4.200 times as much"),
            (-0.999, "100 % below"),
        ] {
            assert_eq!(RelativeDifference(difference).to_string(), text);
        }
    }
}
