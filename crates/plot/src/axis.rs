//! Axes: scales, ranges and ticks.

use crate::quantity::AxisQuantity;

/// The mapping from values to positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps for equal differences.
    Linear,
    /// Equal steps for equal ratios; values that are not above zero cannot be shown.
    Log,
}

/// The description of an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The label, without the unit.
    pub label: String,
    /// The quantity along the axis.
    pub quantity: AxisQuantity,
    /// The mapping from values to positions.
    pub scale: Scale,
    /// `true` when the range must include zero (linear).
    pub from_zero: bool,
    /// Additional values that the range must include.
    pub includes: Vec<f64>,
    /// The names of the categories, on an axis without a scale: the first at 0, the next at 1. From the left, or from the top.
    pub categories: Option<Vec<String>>,
}

/// A tick of an axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    /// The value.
    pub(crate) value: f64,
    /// The label; empty for a minor tick.
    pub(crate) label: String,
}

/// An axis with its range and ticks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScaledAxis {
    scale: Scale,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) ticks: Vec<Tick>,
}

impl Axis {
    /// An axis with a scale.
    #[must_use]
    pub fn new(label: &str, quantity: AxisQuantity, scale: Scale) -> Self {
        Self {
            label: label.to_owned(),
            quantity,
            scale,
            from_zero: false,
            includes: Vec::new(),
            categories: None,
        }
    }

    /// A linear axis.
    #[must_use]
    pub fn linear(label: &str, quantity: AxisQuantity) -> Self {
        Self::new(label, quantity, Scale::Linear)
    }

    /// A logarithmic axis.
    #[must_use]
    pub fn log(label: &str, quantity: AxisQuantity) -> Self {
        Self::new(label, quantity, Scale::Log)
    }

    /// An axis of categories.
    #[must_use]
    pub fn categories(label: &str, names: Vec<String>) -> Self {
        Self {
            categories: Some(names),
            ..Self::linear(label, AxisQuantity::Number)
        }
    }

    /// The axis with zero in its range.
    #[must_use]
    pub fn from_zero(mut self) -> Self {
        self.from_zero = true;
        self
    }

    /// The axis with these values in its range, so that figures side by side share a range or time extends to its end.
    #[must_use]
    pub fn including(mut self, values: &[f64]) -> Self {
        for value in values {
            if !self.includes.contains(value) {
                self.includes.push(*value);
            }
        }
        self
    }

    /// `true` when a value has a position on this axis.
    pub(crate) fn shows(&self, value: f64) -> bool {
        match &self.categories {
            Some(names) => (-0.5..=names.len() as f64 - 0.5).contains(&value),
            // Beyond these limits differences, percentages and ratios of values are not finite.
            None => match self.scale {
                Scale::Linear => value.abs() < 1e300,
                Scale::Log => value > 1e-150 && value < 1e150,
            },
        }
    }

    /// The axis with a range that includes all `values`, and about `max_ticks` labelled ticks. With `round`, the range ends
    /// at ticks.
    pub(crate) fn scaled(
        &self,
        values: impl Iterator<Item = f64>,
        max_ticks: usize,
        round: bool,
    ) -> ScaledAxis {
        if let Some(names) = &self.categories {
            return categorical(names);
        }
        let (mut low, mut high) = values
            .chain(self.includes.iter().copied())
            .filter(|value| self.shows(*value))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        if low > high {
            // No value is known: an axis without ticks.
            return ScaledAxis {
                scale: Scale::Linear,
                low: 0.0,
                high: 1.0,
                ticks: Vec::new(),
            };
        }
        if self.scale == Scale::Linear && self.from_zero {
            (low, high) = (low.min(0.0), high.max(0.0));
        }
        // Values that differ only by rounding count as one: there are no round numbers between them.
        let close = (high - low) <= 1e-9 * low.abs().max(high.abs());
        if close || high - low < 1e-300 && self.scale == Scale::Linear {
            (low, high) = match self.scale {
                Scale::Linear if high.abs() < 1e-290 => (0.0, 1.0),
                Scale::Linear => (low - low.abs() * 0.1, high + high.abs() * 0.1),
                Scale::Log => (low / 2.0, high * 2.0),
            };
        }
        match self.scale {
            // Below a factor of 8 a logarithmic axis has too few round numbers.
            Scale::Log if high / low >= 8.0 => self.logarithmic(low, high, max_ticks, round),
            _ => self.linear_steps(low, high, max_ticks, round),
        }
    }

    fn linear_steps(&self, low: f64, high: f64, max_ticks: usize, round: bool) -> ScaledAxis {
        let step = round_step((high - low) / max_ticks.max(2) as f64);
        let (low, high) = if round {
            let rounded = (low / step + 1e-9).floor() * step;
            (
                // A logarithmic axis has no zero.
                if self.scale == Scale::Log && rounded <= 0.0 {
                    low
                } else {
                    rounded
                },
                (high / step - 1e-9).ceil() * step,
            )
        } else {
            (low, high)
        };
        let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
        let count = ((last - first) as usize).min(4 * max_ticks.max(2));
        let largest = first.abs().max(last.abs()) * step;
        let ticks = (0..=count)
            .map(|nth| {
                let value = (first + nth as f64) * step;
                Tick {
                    value,
                    label: self.quantity.tick_label(value, step, largest),
                }
            })
            .collect();
        ScaledAxis {
            scale: self.scale,
            low,
            high,
            ticks,
        }
    }

    fn logarithmic(&self, low: f64, high: f64, max_ticks: usize, round: bool) -> ScaledAxis {
        let near = 1e-9;
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let decades = (high / low).log10();
        let (mut low, mut high) = (low, high);
        if round {
            let ends: Vec<f64> = (first - 1..=last + 1)
                .flat_map(|power| [1.0, 2.0, 5.0].map(|part| part * 10_f64.powi(power)))
                .collect();
            let below = ends
                .iter()
                .copied()
                .filter(|end| *end <= low * (1.0 + near));
            let above = ends
                .iter()
                .copied()
                .filter(|end| *end >= high * (1.0 - near));
            (low, high) = (
                below.fold(f64::NEG_INFINITY, f64::max),
                above.fold(f64::INFINITY, f64::min),
            );
        }
        // 1, 2, 5 in each decade while they fit; otherwise decades, if necessary only every other.
        let labelled: &[f64] = if decades * 3.0 <= max_ticks as f64 + 0.5 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let every = (decades / max_ticks.max(1) as f64).ceil().max(1.0) as i32;
        let mut ticks = Vec::new();
        for power in first - 1..=last {
            for part in 1..10 {
                let value = f64::from(part) * 10_f64.powi(power);
                if value < low * (1.0 - near) || value > high * (1.0 + near) {
                    continue;
                }
                let named = labelled.contains(&f64::from(part)) && power.rem_euclid(every) == 0;
                let label = if named {
                    self.quantity.tick_label(value, value, value)
                } else {
                    String::new()
                };
                // Minor ticks only where they can be distinguished.
                if named || decades <= 8.0 {
                    ticks.push(Tick { value, label });
                }
            }
        }
        ScaledAxis {
            scale: self.scale,
            low,
            high,
            ticks,
        }
    }
}

impl ScaledAxis {
    /// The position of a value between the axis' ends, 0 to 1 within them.
    pub(crate) fn position(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        }
    }
}

/// An axis of categories: half a step before the first and after the last.
fn categorical(names: &[String]) -> ScaledAxis {
    ScaledAxis {
        scale: Scale::Linear,
        low: -0.5,
        high: names.len().max(1) as f64 - 0.5,
        ticks: names
            .iter()
            .enumerate()
            .map(|(nth, name)| Tick {
                value: nth as f64,
                label: name.clone(),
            })
            .collect(),
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is not below `step`.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|part| part * power)
        .find(|candidate| *candidate >= step * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(quantity: AxisQuantity, scale: Scale) -> Axis {
        Axis::new("", quantity, scale)
    }

    fn labels(axis: &Axis, values: &[f64], max_ticks: usize) -> Vec<String> {
        let scaled = axis.scaled(values.iter().copied(), max_ticks, true);
        scaled
            .ticks
            .into_iter()
            .map(|tick| tick.label)
            .filter(|label| !label.is_empty())
            .collect()
    }

    #[test]
    fn ticks_are_round_numbers_with_their_unit() {
        let rate = axis(AxisQuantity::Rate, Scale::Linear);
        assert_eq!(
            labels(&rate, &[0.0, 9.9e6], 5),
            [
                "0",
                "2 Mbit/s",
                "4 Mbit/s",
                "6 Mbit/s",
                "8 Mbit/s",
                "10 Mbit/s"
            ]
        );
        assert_eq!(
            labels(&rate, &[8.9e6, 9.5e6], 3),
            [
                "8.8 Mbit/s",
                "9.0 Mbit/s",
                "9.2 Mbit/s",
                "9.4 Mbit/s",
                "9.6 Mbit/s"
            ]
        );
        let bytes = axis(AxisQuantity::Bytes, Scale::Linear);
        assert_eq!(
            labels(&bytes, &[576.0, 9000.0], 5),
            ["0", "2000 B", "4000 B", "6000 B", "8000 B", "10000 B"]
        );
        let loss = axis(AxisQuantity::Percent, Scale::Log);
        assert_eq!(
            labels(&loss, &[1e-5, 0.1], 6),
            ["0.001 %", "0.01 %", "0.1 %", "1 %", "10 %"]
        );
        let time = axis(AxisQuantity::Seconds, Scale::Log);
        assert_eq!(
            labels(&time, &[1e-4, 0.01], 8),
            [
                "100 µs", "200 µs", "500 µs", "1 ms", "2 ms", "5 ms", "10 ms"
            ]
        );
    }

    #[test]
    fn a_range_includes_its_values_and_ignores_those_that_cannot_be_shown() {
        let log = axis(AxisQuantity::Rate, Scale::Log);
        let scaled = log.scaled([0.0, -1.0, f64::NAN, 10.0, 1e7].into_iter(), 5, true);
        for value in [10.0, 1e7] {
            assert!((-1e-9..=1.0 + 1e-9).contains(&scaled.position(value)));
        }
        for values in [&[][..], &[f64::NAN], &[5.0], &[0.0], &[1e300, 1e-300]] {
            for scale in [Scale::Linear, Scale::Log] {
                let scaled =
                    axis(AxisQuantity::Number, scale).scaled(values.iter().copied(), 5, true);
                assert!(scaled.ticks.len() < 1000);
                assert!(scaled.low < scaled.high, "{values:?} {scaled:?}");
            }
        }
    }
}
