//! An observation beside its prediction, and what failed when they differ.

use super::prediction::{Prediction, Tolerance, digits};
use serde::Serialize;

/// An observation beside its prediction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// What should have come out.
    #[serde(flatten)]
    pub prediction: Prediction,
    /// What came out, in the unit of the prediction.
    pub observed: f64,
    /// observed / predicted − 1; `None` when nothing was predicted to come out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// Whether the difference is within the tolerance. Of several ceilings only the one that binds need hold.
    pub holds: bool,
    /// When it is not: which assumption failed, or why that cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
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
    use super::super::prediction::Unit;
    use super::*;

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
