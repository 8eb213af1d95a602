//! What should come out, with all that is needed to doubt it.

use crate::quantity::{Unit, digits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a value was come by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// By arithmetic.
    Formula,
    /// By running a model in virtual time.
    Simulation,
}

/// How far an observation may lie from a prediction before something it assumes must have failed, as parts of
/// the predicted value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tolerance {
    /// How far below.
    pub below: f64,
    /// How far above.
    pub above: f64,
}

impl Tolerance {
    /// Arithmetic without a model: what differs is an assumption.
    pub const EXACT: Self = Self::both(0.02);
    /// Windows, which the kernel scales while the test runs.
    pub const WINDOW: Self = Self::both(0.05);
    /// Times that hosts add to.
    pub const TIME: Self = Self::both(0.2);
    /// Shares of a queue, which the phases of the flows move.
    pub const SHARE: Self = Self::both(0.2);
    /// Models of loss: good to a factor of two.
    pub const FACTOR_TWO: Self = Self {
        below: 0.5,
        above: 1.0,
    };

    /// The same part either way.
    #[must_use]
    pub const fn both(part: f64) -> Self {
        Self {
            below: part,
            above: part,
        }
    }

    /// Whether a difference, as a part of the predicted value, is within it.
    #[must_use]
    pub fn allows(&self, difference: f64) -> bool {
        -self.below <= difference && difference <= self.above
    }

    /// The tolerance in words.
    #[must_use]
    pub fn words(&self) -> String {
        if *self == Self::FACTOR_TWO {
            return "a factor of 2".to_owned();
        }
        let percent = self.above.max(self.below) * 100.0;
        let text = format!("{percent:.1}");
        format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// What should come out, and on what grounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prediction {
    /// A stable name for programs.
    pub name: String,
    /// The same for people.
    pub title: String,
    /// What should come out.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// Formula or simulation: several predictions of one name are answers to one question.
    pub method: Method,
    /// The term that decides the value, where several could.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding: Option<String>,
    /// The one figure behind it that is worth a glance.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// What must hold for the value to hold.
    pub assumes: String,
    /// Where the formula is from.
    pub source: String,
    /// How far an observation may lie off.
    pub tolerance: Tolerance,
    /// The arithmetic with the numbers put in, a step each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explanation: Vec<String>,
}

impl Prediction {
    /// A value by formula; the rest is put in by the methods below.
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

    /// With the figure worth a glance.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }

    /// With what must hold.
    #[must_use]
    pub fn assumes(mut self, assumes: impl Into<String>) -> Self {
        self.assumes = assumes.into();
        self
    }

    /// With where the formula is from.
    #[must_use]
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.source = source.into();
        self
    }

    /// With how far an observation may lie off.
    #[must_use]
    pub const fn within(mut self, tolerance: Tolerance) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// With the term that decides.
    #[must_use]
    pub fn bound_by(mut self, binding: impl Into<String>) -> Self {
        self.binding = Some(binding.into());
        self
    }

    /// With a further step of the arithmetic.
    #[must_use]
    pub fn step(mut self, step: impl Into<String>) -> Self {
        self.explanation.push(step.into());
        self
    }

    /// With further steps of the arithmetic.
    #[must_use]
    pub fn steps(mut self, steps: impl IntoIterator<Item = String>) -> Self {
        self.explanation.extend(steps);
        self
    }

    /// The value in words.
    #[must_use]
    pub fn shown(&self) -> String {
        self.unit.show(self.value)
    }
}

/// An observation beside its prediction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    /// What should have come out.
    #[serde(flatten)]
    pub prediction: Prediction,
    /// What came out, in the unit of the prediction.
    pub observed: f64,
    /// observed / predicted − 1; `None` when nothing was predicted to come out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// Whether the difference is within the tolerance. Of several ceilings only the one that binds need hold.
    pub holds: bool,
    /// When it is not: which assumption failed, or why that cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Compared {
    /// Holds an observation against a prediction.
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

    /// Holds an observation against an upper bound: anything below it agrees with it.
    #[must_use]
    pub fn with_ceiling(mut prediction: Prediction, observed: f64) -> Self {
        prediction.tolerance = Tolerance {
            below: 1.0,
            ..prediction.tolerance
        };
        Self::new(prediction, observed)
    }

    /// With the reason, asked for only where the difference needs one.
    #[must_use]
    pub fn because(mut self, why: impl FnOnce(&Self) -> String) -> Self {
        self.why = (!self.holds).then(|| why(&self));
        self
    }

    /// The comparison in words: the value, what was observed, by how much it differs, and why.
    #[must_use]
    pub fn words(&self) -> String {
        let Prediction {
            unit,
            tolerance,
            binding: _,
            detail,
            ..
        } = &self.prediction;
        let bound = if detail.is_empty() {
            String::new()
        } else {
            format!(", {detail}")
        };
        let observed = unit.show(self.observed);
        let how_far = match self.difference {
            None => String::new(),
            Some(difference) => format!(", {}", far(difference)),
        };
        let verdict = match (&self.why, self.holds) {
            (_, true) => format!(" (within {})", tolerance.words()),
            (Some(why), false) => format!(": {why}"),
            (None, false) => format!(" (more than {})", tolerance.words()),
        };
        format!(
            "{}{bound}; observed {observed}{how_far}{verdict}",
            self.prediction.shown()
        )
    }
}

/// A difference in words: `1.570 % below`, `4.200 times as much`.
#[must_use]
pub fn far(difference: f64) -> String {
    let percent = difference.abs() * 100.0;
    if difference >= 1.0 {
        return format!("{} times as much", digits(difference + 1.0));
    }
    let rounded = if percent < 10.0 {
        format!("{percent:.1}")
    } else {
        format!("{percent:.0}")
    };
    match (rounded.as_str(), difference > 0.0) {
        ("0.0", _) => "as predicted".to_owned(),
        (_, true) => format!("{rounded} % above"),
        (_, false) => format!("{rounded} % below"),
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
        assert_eq!(two.words(), "a factor of 2");
        assert_eq!(Tolerance::EXACT.words(), "2 %");
        assert_eq!(Tolerance::both(0.0889).words(), "8.9 %");
        assert_eq!(Tolerance::both(0.2).words(), "20 %");
    }

    fn prediction(value: f64) -> Prediction {
        Prediction::new("goodput", "goodput", value, Unit::BitPerSecond)
            .detail("bound by the wire")
            .within(Tolerance::EXACT)
    }

    #[test]
    fn a_difference_within_the_tolerance_needs_no_reason() {
        let close = Compared::new(prediction(1e7), 0.99e7).because(|_| "never asked".to_owned());
        assert!(close.holds && close.why.is_none());
        assert_eq!(
            close.words(),
            "10 Mbit/s, bound by the wire; observed 9.900 Mbit/s, 1.0 % below (within 2 %)"
        );
        let far = Compared::new(prediction(1e7), 0.5e7).because(|_| "loss".to_owned());
        assert_eq!(
            far.words(),
            "10 Mbit/s, bound by the wire; observed 5 Mbit/s, 50 % below: loss"
        );
    }

    #[test]
    fn below_a_ceiling_is_no_disagreement() {
        assert!(Compared::with_ceiling(prediction(1e7), 1.0).holds);
        assert!(!Compared::with_ceiling(prediction(1e7), 1.1e7).holds);
    }

    #[test]
    fn nothing_predicted_has_no_relative_difference() {
        let none = Compared::new(prediction(0.0), 0.0);
        assert_eq!((none.difference, none.holds), (None, true));
    }

    #[test]
    fn differences_read_well() {
        for (difference, words) in [
            (0.0, "as predicted"),
            (0.0004, "as predicted"),
            (-0.016, "1.6 % below"),
            (0.25, "25 % above"),
            (3.2, "4.200 times as much"),
            (-0.999, "100 % below"),
        ] {
            assert_eq!(far(difference), words);
        }
    }
}
