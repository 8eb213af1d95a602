//! Scales, ranges and ticks.

/// What an axis counts, which tells how its ticks are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Bits per second.
    Rate,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// A share, written in percent.
    Percent,
    /// Anything else, a bare number.
    Number,
}

/// How values become positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps for equal differences.
    Linear,
    /// Equal steps for equal ratios; what is not above zero cannot be shown.
    Log,
}

/// An axis as it is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What is along it, without the unit.
    pub label: String,
    /// What it counts.
    pub quantity: Quantity,
    /// How values become positions.
    pub scale: Scale,
    /// Whether zero must be in sight (linear).
    pub from_zero: bool,
    /// Further values that must be in sight.
    pub holds: Vec<f64>,
    /// The names of its places, where it has no scale: the first at 0, the next at 1. From the left, or from the top.
    pub categories: Option<Vec<String>>,
}

/// A mark on an axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    /// Where.
    pub(super) value: f64,
    /// What stands there; empty for a short mark between others.
    pub(super) label: String,
}

/// An axis that knows its range.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ranged {
    scale: Scale,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) ticks: Vec<Tick>,
}

impl Axis {
    /// An axis of a scale.
    #[must_use]
    pub fn new(label: &str, quantity: Quantity, scale: Scale) -> Self {
        Self {
            label: label.to_owned(),
            quantity,
            scale,
            from_zero: false,
            holds: Vec::new(),
            categories: None,
        }
    }

    /// An axis of equal steps for equal differences.
    #[must_use]
    pub fn linear(label: &str, quantity: Quantity) -> Self {
        Self::new(label, quantity, Scale::Linear)
    }

    /// An axis of equal steps for equal ratios.
    #[must_use]
    pub fn log(label: &str, quantity: Quantity) -> Self {
        Self::new(label, quantity, Scale::Log)
    }

    /// An axis of named places.
    #[must_use]
    pub fn categories(label: &str, names: Vec<String>) -> Self {
        Self {
            categories: Some(names),
            ..Self::linear(label, Quantity::Number)
        }
    }

    /// The axis with zero in sight.
    #[must_use]
    pub fn from_zero(mut self) -> Self {
        self.from_zero = true;
        self
    }

    /// The axis with these values in sight: that figures side by side share a range, or that time goes on to its end.
    #[must_use]
    pub fn holding(mut self, values: &[f64]) -> Self {
        self.holds.extend_from_slice(values);
        self
    }

    /// Whether a value has a place on this axis.
    pub(super) fn shows(&self, value: f64) -> bool {
        match &self.categories {
            Some(names) => (-0.5..=names.len() as f64 - 0.5).contains(&value),
            // Beyond that differences, percentages and ratios of values are no numbers any more.
            None => match self.scale {
                Scale::Linear => value.abs() < 1e300,
                Scale::Log => value > 1e-150 && value < 1e150,
            },
        }
    }

    /// The axis with a range that holds all `values`, and about `most` labelled ticks. With `round`, the range ends
    /// at ticks.
    pub(super) fn ranged(
        &self,
        values: impl Iterator<Item = f64>,
        most: usize,
        round: bool,
    ) -> Ranged {
        if let Some(names) = &self.categories {
            return named(names);
        }
        let (mut low, mut high) = values
            .chain(self.holds.iter().copied())
            .filter(|value| self.shows(*value))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        if low > high {
            // Nothing is known: an axis without numbers.
            return Ranged {
                scale: Scale::Linear,
                low: 0.0,
                high: 1.0,
                ticks: Vec::new(),
            };
        }
        if self.scale == Scale::Linear && self.from_zero {
            (low, high) = (low.min(0.0), high.max(0.0));
        }
        // Values that differ by rounding alone are one: an axis between them has no round numbers.
        let close = (high - low) <= 1e-9 * low.abs().max(high.abs());
        if close || high - low < 1e-300 && self.scale == Scale::Linear {
            (low, high) = match self.scale {
                Scale::Linear if high.abs() < 1e-290 => (0.0, 1.0),
                Scale::Linear => (low - low.abs() * 0.1, high + high.abs() * 0.1),
                Scale::Log => (low / 2.0, high * 2.0),
            };
        }
        match self.scale {
            // Under a factor of 8 a logarithmic axis has too few round numbers of its own.
            Scale::Log if high / low >= 8.0 => self.logarithmic(low, high, most, round),
            _ => self.linear_steps(low, high, most, round),
        }
    }

    fn linear_steps(&self, low: f64, high: f64, most: usize, round: bool) -> Ranged {
        let step = round_step((high - low) / most.max(2) as f64);
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
        let count = ((last - first) as usize).min(4 * most.max(2));
        let largest = first.abs().max(last.abs()) * step;
        let ticks = (0..=count)
            .map(|nth| {
                let value = (first + nth as f64) * step;
                Tick {
                    value,
                    label: self.quantity.tick(value, step, largest),
                }
            })
            .collect();
        Ranged {
            scale: self.scale,
            low,
            high,
            ticks,
        }
    }

    fn logarithmic(&self, low: f64, high: f64, most: usize, round: bool) -> Ranged {
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
        // 1, 2, 5 in each decade while they fit; else decades, if need be only every other.
        let labelled: &[f64] = if decades * 3.0 <= most as f64 + 0.5 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let every = (decades / most.max(1) as f64).ceil().max(1.0) as i32;
        let mut ticks = Vec::new();
        for power in first - 1..=last {
            for part in 1..10 {
                let value = f64::from(part) * 10_f64.powi(power);
                if value < low * (1.0 - near) || value > high * (1.0 + near) {
                    continue;
                }
                let named = labelled.contains(&f64::from(part)) && power.rem_euclid(every) == 0;
                let label = if named {
                    self.quantity.tick(value, value, value)
                } else {
                    String::new()
                };
                // Short marks only where they can be told apart.
                if named || decades <= 8.0 {
                    ticks.push(Tick { value, label });
                }
            }
        }
        Ranged {
            scale: self.scale,
            low,
            high,
            ticks,
        }
    }
}

impl Ranged {
    /// Where a value lies between the axis' ends, 0 to 1 within them.
    pub(super) fn position(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        }
    }
}

/// An axis of names: half a place before the first and after the last.
fn named(names: &[String]) -> Ranged {
    Ranged {
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

impl Quantity {
    /// A tick in words: in the unit that suits `largest`, with as many digits as steps of `step` need.
    fn tick(self, value: f64, step: f64, largest: f64) -> String {
        let (value, step, largest) = if self == Self::Percent {
            (value * 100.0, step * 100.0, largest * 100.0)
        } else {
            (value, step, largest)
        };
        if value.abs() < step * 1e-6 {
            return "0".to_owned();
        }
        let (unit, suffix) = self.unit(largest);
        let number = plain(value.abs() / unit, step / unit);
        let sign = if value < 0.0 { "−" } else { "" };
        format!("{sign}{number}{suffix}")
    }

    /// A value in words with about four digits, for who asks for it.
    pub(super) fn exact(self, value: f64) -> String {
        let value = if self == Self::Percent {
            value * 100.0
        } else {
            value
        };
        if value == 0.0 || !value.is_finite() {
            return if value == 0.0 {
                "0".to_owned()
            } else {
                "?".to_owned()
            };
        }
        let (unit, suffix) = self.unit(value);
        let value = value / unit;
        // Whole numbers have all their digits.
        let step = if value == value.round() && value.abs() < 1e6 {
            1.0
        } else {
            value.abs() * 1e-3
        };
        format!("{}{suffix}", plain(value, step))
    }

    /// The unit in which a value of this size is a short number, and how it is written.
    fn unit(self, value: f64) -> (f64, &'static str) {
        let value = value.abs();
        let prefixes: &[(f64, &str)] = match self {
            Self::Rate => &[
                (1e12, " Tbit/s"),
                (1e9, " Gbit/s"),
                (1e6, " Mbit/s"),
                (1e3, " kbit/s"),
                (1.0, " bit/s"),
            ],
            Self::Bytes => &[(1e9, " GB"), (1e6, " MB"), (1e3, " kB"), (1.0, " B")],
            Self::Seconds => &[(1.0, " s"), (1e-3, " ms"), (1e-6, " µs"), (1e-9, " ns")],
            Self::Percent => return (1.0, " %"),
            Self::Number => &[
                (1e12, " T"),
                (1e9, " G"),
                (1e6, " M"),
                (1e3, " k"),
                (1.0, ""),
            ],
        };
        // Packets and messages are known by their bytes, and counts by their digits, until there are many.
        let late = match self {
            Self::Bytes | Self::Number => 100.0,
            _ => 1.0,
        };
        prefixes
            .iter()
            .find(|(unit, _)| value >= unit * (1.0 - 1e-9) * if *unit == 1e3 { late } else { 1.0 })
            .or(prefixes.last())
            .copied()
            .unwrap_or((1.0, ""))
    }
}

/// A number with the digits a step of this size calls for.
fn plain(value: f64, step: f64) -> String {
    let finest = (step * (1.0 + 1e-9)).log10().floor();
    if value.abs() >= 1e6 || value.abs() < 1e-4 {
        let digits = (value.abs().log10().floor() - finest).clamp(0.0, 6.0) as usize;
        return format!("{value:.digits$e}");
    }
    let decimals = (-finest).clamp(0.0, 6.0) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(quantity: Quantity, scale: Scale) -> Axis {
        Axis::new("", quantity, scale)
    }

    fn labels(axis: &Axis, values: &[f64], most: usize) -> Vec<String> {
        let ranged = axis.ranged(values.iter().copied(), most, true);
        ranged
            .ticks
            .into_iter()
            .map(|tick| tick.label)
            .filter(|label| !label.is_empty())
            .collect()
    }

    #[test]
    fn ticks_are_round_numbers_with_their_unit() {
        let rate = axis(Quantity::Rate, Scale::Linear);
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
        let bytes = axis(Quantity::Bytes, Scale::Linear);
        assert_eq!(
            labels(&bytes, &[576.0, 9000.0], 5),
            ["0", "2000 B", "4000 B", "6000 B", "8000 B", "10000 B"]
        );
        let loss = axis(Quantity::Percent, Scale::Log);
        assert_eq!(
            labels(&loss, &[1e-5, 0.1], 6),
            ["0.001 %", "0.01 %", "0.1 %", "1 %", "10 %"]
        );
        let time = axis(Quantity::Seconds, Scale::Log);
        assert_eq!(
            labels(&time, &[1e-4, 0.01], 8),
            [
                "100 µs", "200 µs", "500 µs", "1 ms", "2 ms", "5 ms", "10 ms"
            ]
        );
    }

    #[test]
    fn a_range_holds_what_it_was_made_for_and_survives_what_cannot_be_shown() {
        let log = axis(Quantity::Rate, Scale::Log);
        let ranged = log.ranged([0.0, -1.0, f64::NAN, 10.0, 1e7].into_iter(), 5, true);
        for value in [10.0, 1e7] {
            assert!((-1e-9..=1.0 + 1e-9).contains(&ranged.position(value)));
        }
        for values in [&[][..], &[f64::NAN], &[5.0], &[0.0], &[1e300, 1e-300]] {
            for scale in [Scale::Linear, Scale::Log] {
                let ranged = axis(Quantity::Number, scale).ranged(values.iter().copied(), 5, true);
                assert!(ranged.ticks.len() < 1000);
                assert!(ranged.low < ranged.high, "{values:?} {ranged:?}");
            }
        }
    }
}
