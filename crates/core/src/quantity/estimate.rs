//! Estimates as text, with the digits that their interval warrants.

use super::number::fixed;
use super::unit::Unit;
use super::unit_value::UnitValue;
use caudal_stats::{Estimate, IntervalMethod};
use std::fmt;

/// The significant digits shown of half an interval's width (ISO/IEC Guide 98-3, section 7.2.6).
const WIDTH_DIGITS: i32 = 2;
/// The significant digits shown of a mean, however narrow its interval is.
const MAX_DIGITS: i32 = 6;
/// The significant digits shown of a mean between the minimum and the maximum of a few values, which say little of its precision.
const MAX_DIGITS_OF_RANGE: i32 = 4;

/// An estimate in a unit, which prints its mean and, where there is one, its interval and the method behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EstimateInUnit<'e> {
    estimate: &'e Estimate,
    unit: Unit,
}

impl<'e> EstimateInUnit<'e> {
    /// An estimate whose values are in `unit`.
    #[must_use]
    pub const fn new(estimate: &'e Estimate, unit: Unit) -> Self {
        Self { estimate, unit }
    }

    /// The mean alone, with its unit.
    #[must_use]
    pub fn mean(self) -> String {
        self.text(self.estimate.mean)
    }

    /// Both ends of the interval with their unit, `94.02–94.24 Mbit/s`; `None` where there is no interval, or one without width.
    #[must_use]
    pub fn interval(self) -> Option<String> {
        if self.estimate.method == IntervalMethod::SingleValue {
            return None;
        }
        if self.estimate.low == self.estimate.high {
            return None;
        }
        let (low, high) = (self.text(self.estimate.low), self.text(self.estimate.high));
        let (_, unit) = high.rsplit_once(' ').unwrap_or((&high, ""));
        let (low, is_of_one_unit) = match low.rsplit_once(' ') {
            Some((number, other)) if other == unit => (number, true),
            _ => (low.as_str(), unit.is_empty()),
        };
        // A dash beside a minus sign, or between two units, is hard to read.
        let is_plain = self.estimate.low >= 0.0 && is_of_one_unit;
        let between = if is_plain { "–" } else { " to " };
        Some(format!("{low}{between}{high}"))
    }

    /// The confidence interval, `95 % CI 94.02–94.24 Mbit/s`; `None` where there is none, or one without width.
    #[must_use]
    pub fn confidence_interval(self) -> Option<String> {
        let level = confidence_level(self.estimate.confidence);
        Some(format!("{level} {}", self.interval()?))
    }

    /// Both ends of the interval as bare numbers in the unit of [`mean`](Self::mean); `None` where there is no interval, or one without width.
    #[must_use]
    pub fn ends_in_unit_of_mean(self) -> Option<(String, String)> {
        self.interval()?;
        let number = |value| {
            let text = self.text(value);
            text.split_once(' ')
                .map_or(text.clone(), |(number, _)| number.to_owned())
        };
        Some((number(self.estimate.low), number(self.estimate.high)))
    }

    /// The mean and half the width of the interval, `94.13 Mbit/s ± 0.11 Mbit/s`; with the minimum and maximum where there are too few
    /// trials for an interval, `94.13 Mbit/s (94.02–94.24 Mbit/s)`, and the mean alone where there is neither.
    #[must_use]
    pub fn plus_minus(self) -> String {
        let Some(ends) = self.interval() else {
            return self.mean();
        };
        if matches!(
            self.estimate.method,
            IntervalMethod::Range | IntervalMethod::ErrorBound
        ) {
            return format!("{} ({ends})", self.mean());
        }
        let half = (self.estimate.high - self.estimate.low) / 2.0;
        format!("{} ± {}", self.mean(), self.text(half))
    }

    /// The text of a value in the unit and with the decimals of this estimate.
    fn text(self, value: f64) -> String {
        let Estimate {
            mean, low, high, ..
        } = *self.estimate;
        let half = (high - low) / 2.0;
        if !(mean.is_finite() && half.is_finite() && half > 0.0) {
            return UnitValue::new(value, self.unit).to_string();
        }
        let largest = mean.abs().max(low.abs()).max(high.abs());
        let (divisor, label) = self.unit.scale(if mean == 0.0 { largest } else { mean });
        let position = |value: f64| (value.abs() / divisor).log10().floor() as i32;
        let max_digits = match self.estimate.method {
            IntervalMethod::Range => MAX_DIGITS_OF_RANGE,
            _ => MAX_DIGITS,
        };
        let warranted = WIDTH_DIGITS - 1 - position(half);
        let decimals = warranted
            .min(max_digits - 1 - position(largest))
            .clamp(0, 9);
        let number = fixed(value / divisor, decimals.unsigned_abs() as usize);
        match label.as_str() {
            "" => number,
            label => format!("{number} {label}"),
        }
    }
}

impl fmt::Display for EstimateInUnit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let estimate = self.estimate;
        let (Some(interval), Some(confidence_interval)) =
            (self.interval(), self.confidence_interval())
        else {
            return match estimate.n {
                0 | 1 => write!(f, "{} (one value: no interval)", self.mean()),
                n => write!(f, "{} (the same in all {n})", self.mean()),
            };
        };
        if estimate.method == IntervalMethod::Range {
            let n = estimate.n;
            return write!(f, "{} (min to max of {n} runs {interval})", self.mean());
        }
        if estimate.method == IntervalMethod::ErrorBound {
            return write!(f, "{} (between {interval})", self.mean());
        }
        let method = match estimate.method {
            IntervalMethod::BatchMeansT => format!("batch means over {} intervals", estimate.n),
            IntervalMethod::IndependentRunsT => format!("Student's t over {} runs", estimate.n),
            IntervalMethod::Wilson => "Wilson".to_owned(),
            _ => format!("n = {}", estimate.n),
        };
        write!(f, "{} ({confidence_interval}, {method})", self.mean())
    }
}

/// What a confidence interval is called: `95 % CI`.
#[must_use]
pub fn confidence_level(confidence: f64) -> String {
    let percent = format!("{:.4}", confidence * 100.0);
    let percent = percent.trim_end_matches('0').trim_end_matches('.');
    format!("{percent} % CI")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(mean: f64, half: f64, method: IntervalMethod) -> Estimate {
        Estimate {
            mean,
            low: mean - half,
            high: mean + half,
            confidence: 0.95,
            n: 10,
            method,
        }
    }

    #[test]
    fn digits_follow_the_interval() {
        for (unit, mean, half, text) in [
            (
                Unit::BitPerSecond,
                94_132_456.0,
                111_000.0,
                "94.13 Mbit/s|94.02–94.24 Mbit/s",
            ),
            (
                Unit::BitPerSecond,
                94_132_456.0,
                11_000_000.0,
                "94 Mbit/s|83–105 Mbit/s",
            ),
            (
                Unit::BitPerSecond,
                94_132_456.0,
                1.0,
                "94.1325 Mbit/s|94.1325–94.1325 Mbit/s",
            ),
            (
                Unit::BitPerSecond,
                17_400.0e6,
                1_200.0e6,
                "17.4 Gbit/s|16.2–18.6 Gbit/s",
            ),
            (Unit::Seconds, 50.25e-3, 3.2e-3, "50.2 ms|47.0–53.5 ms"),
            (Unit::Share, 0.0123, 0.0004, "1.230 %|1.190–1.270 %"),
            (Unit::Share, 0.0, 0.0004, "0.000 %|-0.040 to 0.040 %"),
            (
                Unit::MessagesPerSecond,
                123_456.7,
                890.0,
                "123 457 messages/s|122 567–124 347 messages/s",
            ),
            (Unit::Ratio, 1.25, 0.031, "1.250|1.219–1.281"),
            (Unit::BitPerSecond, 10e6, 0.0, "10 Mbit/s|none"),
        ] {
            let estimate = estimate(mean, half, IntervalMethod::BatchMeansT);
            let shown = EstimateInUnit::new(&estimate, unit);
            let parts = format!(
                "{}|{}",
                shown.mean(),
                shown.interval().unwrap_or("none".to_owned())
            );
            assert_eq!(parts, text);
        }
    }

    #[test]
    fn half_the_width_has_the_unit_and_the_decimals_of_the_mean() {
        for (mean, half, text) in [
            (46_310_000.0, 649_700.0, "46.31 Mbit/s ± 0.65 Mbit/s"),
            (2_896.0, 36_800.0, "3 kbit/s ± 37 kbit/s"),
            (10e6, 0.0, "10 Mbit/s"),
            (0.0, 0.0, "0 bit/s"),
        ] {
            let estimate = estimate(mean, half, IntervalMethod::IndependentRunsT);
            let shown = EstimateInUnit::new(&estimate, Unit::BitPerSecond);
            assert_eq!(shown.plus_minus(), text);
        }
    }

    #[test]
    fn a_few_trials_are_shown_with_their_extremes_in_four_digits() {
        let few = Estimate {
            low: 8.938_6e6,
            high: 8.95e6,
            n: 3,
            ..estimate(8.946_2e6, 0.0, IntervalMethod::Range)
        };
        let shown = EstimateInUnit::new(&few, Unit::BitPerSecond);
        assert_eq!(shown.plus_minus(), "8.946 Mbit/s (8.939–8.950 Mbit/s)");
        assert_eq!(
            shown.to_string(),
            "8.946 Mbit/s (min to max of 3 runs 8.939–8.950 Mbit/s)"
        );
        let ends = Some(("8.939".to_owned(), "8.950".to_owned()));
        assert_eq!(shown.ends_in_unit_of_mean(), ends);
        let same = Estimate {
            low: few.mean,
            high: few.mean,
            ..few
        };
        let shown = EstimateInUnit::new(&same, Unit::BitPerSecond);
        assert_eq!(shown.to_string(), "8.946 Mbit/s (the same in all 3)");
    }

    #[test]
    fn an_estimate_names_its_method() {
        let known = estimate(94e6, 1e5, IntervalMethod::BatchMeansT);
        assert_eq!(
            EstimateInUnit::new(&known, Unit::BitPerSecond).to_string(),
            "94.00 Mbit/s (95 % CI 93.90–94.10 Mbit/s, batch means over 10 intervals)"
        );
        assert_eq!(
            EstimateInUnit::new(&Estimate::single(94e6), Unit::BitPerSecond).to_string(),
            "94 Mbit/s (one value: no interval)"
        );
    }
}
