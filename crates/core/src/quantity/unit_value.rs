//! Values with their unit, and their text with four significant digits.

use super::number::{grouped, scaled, seconds, short};
use super::unit::Unit;
use crate::units::{BitRate, ByteCount};
use std::fmt;
use std::time::Duration;

/// A value with its unit, which prints with four significant digits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnitValue {
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
}

impl Unit {
    /// The text of a value in this unit, with four significant digits.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        UnitValue::new(value, self).to_string()
    }
}

impl UnitValue {
    /// A value in a unit.
    #[must_use]
    pub const fn new(value: f64, unit: Unit) -> Self {
        Self { value, unit }
    }
}

impl fmt::Display for UnitValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, unit } = *self;
        if !value.is_finite() {
            return f.pad("–");
        }
        let text = match unit {
            Unit::BitPerSecond => scaled(value, "bit/s"),
            Unit::Bytes if value.abs() < 1e7 => format!("{} B", grouped(value.round())),
            Unit::Bytes => scaled(value, "B"),
            Unit::Seconds => seconds(value),
            // Four decimals of a percent are one in a million: small losses stay readable.
            Unit::Share if (5e-7..1e-5).contains(&value.abs()) => format!("{:.4} %", value * 100.0),
            Unit::Share => format!("{} %", short(value * 100.0)),
            Unit::Efficiency | Unit::Ratio => format!("{value:.4}"),
            Unit::Segments | Unit::Paths | Unit::Slots => {
                format!("{} {}", short(value), unit.name())
            }
            Unit::Fragments
            | Unit::Flows
            | Unit::Frames
            | Unit::Collisions
            | Unit::Messages
            | Unit::Timeouts
            | Unit::Datagrams => {
                let plural = unit.name();
                let name = if value == 1.0 {
                    &plural[..plural.len() - 1]
                } else {
                    plural
                };
                format!("{} {name}", grouped(value.ceil()))
            }
            Unit::FramesPerSecond | Unit::MessagesPerSecond | Unit::ConnectionsPerSecond
                if value < 9_999.5 =>
            {
                format!("{value:.1} {}", unit.name())
            }
            Unit::FramesPerSecond | Unit::MessagesPerSecond | Unit::ConnectionsPerSecond => {
                format!("{} {}", grouped(value.round()), unit.name())
            }
        };
        f.pad(&text)
    }
}

/// The text of a rate with four significant digits.
#[must_use]
pub fn rate(rate: BitRate) -> String {
    Unit::BitPerSecond.show(rate.as_f64())
}

/// The text of an amount with four significant digits.
#[must_use]
pub fn size(size: ByteCount) -> String {
    Unit::Bytes.show(size.as_f64())
}

/// The text of a time with four significant digits.
#[must_use]
pub fn time(time: Duration) -> String {
    seconds(time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_with_four_digits_and_their_unit() {
        for (unit, value, text) in [
            (Unit::BitPerSecond, 9_414_824.0, "9.415 Mbit/s"),
            (Unit::BitPerSecond, 94_148_240.0, "94.15 Mbit/s"),
            (Unit::BitPerSecond, 10_000_000.0, "10 Mbit/s"),
            (Unit::BitPerSecond, 0.0, "0 bit/s"),
            (Unit::BitPerSecond, 999_960_000.0, "1.000 Gbit/s"),
            (Unit::BitPerSecond, 3.2e15, "3200 Tbit/s"),
            (Unit::Bytes, 375_000.0, "375 000 B"),
            (Unit::Bytes, 1448.0, "1448 B"),
            (Unit::Bytes, 2.5e9, "2.500 GB"),
            (Unit::Seconds, 0.28746, "287.5 ms"),
            (Unit::Seconds, 8.427_38, "8.427 s"),
            (Unit::Seconds, 0.011_15, "11.15 ms"),
            (Unit::Seconds, 14.56e-6, "14.56 µs"),
            (Unit::Seconds, 0.0, "0 s"),
            (Unit::FramesPerSecond, 8127.438, "8127.4 frames/s"),
            (Unit::FramesPerSecond, 14_880.95, "14 881 frames/s"),
            (Unit::Efficiency, 0.941_48, "0.9415"),
            (Unit::Share, 0.401_81, "40.18 %"),
            (Unit::Share, 0.0, "0 %"),
            (Unit::Share, 0.005, "0.5000 %"),
            (Unit::Share, 0.000_002, "0.0002 %"),
            (Unit::Share, 1e-8, "1.000e-6 %"),
            (Unit::Flows, 5.2, "6 flows"),
            (Unit::Flows, 1.0, "1 flow"),
            (Unit::Ratio, f64::NAN, "–"),
        ] {
            let shown = unit.show(value);
            assert_eq!(shown, text, "{value} {unit:?}");
        }
    }
}
