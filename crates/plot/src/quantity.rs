//! The quantities along axes, and the text of their values.

/// The quantity along an axis, which determines how its ticks are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisQuantity {
    /// Bits per second.
    Rate,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// A share, written in percent.
    Percent,
    /// Any other quantity, a number without unit.
    Number,
}

impl AxisQuantity {
    /// The label of a tick: in the unit that suits `largest`, with the digits that steps of `step` need.
    pub(crate) fn tick_label(self, value: f64, step: f64, largest: f64) -> String {
        let (value, step, largest) = if self == Self::Percent {
            (value * 100.0, step * 100.0, largest * 100.0)
        } else {
            (value, step, largest)
        };
        if value.abs() < step * 1e-6 {
            return "0".to_owned();
        }
        let (unit, suffix) = self.unit(largest);
        let number = decimal(value.abs() / unit, step / unit);
        let sign = if value < 0.0 { "−" } else { "" };
        format!("{sign}{number}{suffix}")
    }

    /// The text of a single value, with about four digits.
    pub(crate) fn exact(self, value: f64) -> String {
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
        // Integers keep all their digits.
        let step = if value == value.round() && value.abs() < 1e6 {
            1.0
        } else {
            value.abs() * 1e-3
        };
        format!("{}{suffix}", decimal(value, step))
    }

    /// The unit in which a value of this size is a short number, with its suffix.
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
        // Numbers of bytes and counts are written in full until they are large.
        let full_factor = match self {
            Self::Bytes | Self::Number => 100.0,
            _ => 1.0,
        };
        prefixes
            .iter()
            .find(|(unit, _)| {
                value >= unit * (1.0 - 1e-9) * if *unit == 1e3 { full_factor } else { 1.0 }
            })
            .or(prefixes.last())
            .copied()
            .unwrap_or((1.0, ""))
    }
}

/// A number with the digits that a step of this size requires.
fn decimal(value: f64, step: f64) -> String {
    let finest = (step * (1.0 + 1e-9)).log10().floor();
    if value.abs() >= 1e6 || value.abs() < 1e-4 {
        let digits = (value.abs().log10().floor() - finest).clamp(0.0, 6.0) as usize;
        return format!("{value:.digits$e}");
    }
    let decimals = (-finest).clamp(0.0, 6.0) as usize;
    format!("{value:.decimals$}")
}
