//! Values with their unit, and their text with four significant digits.

use crate::units::{BitRate, ByteCount};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// The unit of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Payload bits per second unless the prediction says otherwise.
    BitPerSecond,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// Ethernet frames per second.
    FramesPerSecond,
    /// Messages per second.
    MessagesPerSecond,
    /// A fraction that is printed in percent, such as a loss.
    Share,
    /// A fraction that is printed as a number, such as an efficiency.
    Efficiency,
    /// One value over another.
    Ratio,
    /// TCP segments.
    Segments,
    /// IP fragments.
    Fragments,
    /// Flows.
    Flows,
    /// Paths.
    Paths,
    /// Slot times of a half-duplex Ethernet.
    Slots,
    /// Ethernet frames.
    Frames,
    /// Collisions on a half-duplex medium.
    Collisions,
    /// Messages of a round-trip test.
    Messages,
    /// Retransmission timeouts.
    Timeouts,
}

impl Unit {
    /// Every unit.
    pub const ALL: [Self; 17] = [
        Self::BitPerSecond,
        Self::Bytes,
        Self::Seconds,
        Self::FramesPerSecond,
        Self::MessagesPerSecond,
        Self::Share,
        Self::Efficiency,
        Self::Ratio,
        Self::Segments,
        Self::Fragments,
        Self::Flows,
        Self::Paths,
        Self::Slots,
        Self::Frames,
        Self::Collisions,
        Self::Messages,
        Self::Timeouts,
    ];

    /// The unit as JSON and tables write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BitPerSecond => "bit/s",
            Self::Bytes => "bytes",
            Self::Seconds => "s",
            Self::FramesPerSecond => "frames/s",
            Self::MessagesPerSecond => "messages/s",
            Self::Share | Self::Efficiency => "share",
            Self::Ratio => "ratio",
            Self::Segments => "segments",
            Self::Fragments => "fragments",
            Self::Flows => "flows",
            Self::Paths => "paths",
            Self::Slots => "slots",
            Self::Frames => "frames",
            Self::Collisions => "collisions",
            Self::Messages => "messages",
            Self::Timeouts => "timeouts",
        }
    }

    /// The text of a value in this unit, with four significant digits.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        UnitValue::new(value, self).to_string()
    }
}

/// A value with its unit, which prints with four significant digits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnitValue {
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
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
            return f.pad("-");
        }
        let text = match unit {
            Unit::BitPerSecond => scaled(value, "bit/s"),
            Unit::Bytes if value.abs() < 1e7 => format!("{} B", grouped(value.round())),
            Unit::Bytes => scaled(value, "B"),
            Unit::Seconds => seconds(value),
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
            | Unit::Timeouts => {
                let plural = unit.name();
                let name = if value == 1.0 {
                    &plural[..plural.len() - 1]
                } else {
                    plural
                };
                format!("{} {name}", grouped(value.ceil()))
            }
            Unit::FramesPerSecond | Unit::MessagesPerSecond if value < 9_999.5 => {
                format!("{value:.1} {}", unit.name())
            }
            Unit::FramesPerSecond | Unit::MessagesPerSecond => {
                format!("{} {}", grouped(value.round()), unit.name())
            }
        };
        f.pad(&text)
    }
}

impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Unit {
    /// Parses the name of a unit; of units with the same name, the first.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = Cow::<'de, str>::deserialize(from)?;
        let unit = Self::ALL.into_iter().find(|unit| unit.name() == name);
        unit.ok_or_else(|| serde::de::Error::custom(format!("{name:?} is not a unit")))
    }
}

impl JsonSchema for Unit {
    fn schema_name() -> Cow<'static, str> {
        "Unit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut names: Vec<&str> = Self::ALL.iter().map(|unit| unit.name()).collect();
        names.dedup();
        json_schema!({"type": "string", "enum": names})
    }
}

/// The text of a number with four significant digits.
#[must_use]
pub fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        below if below < 1e-3 => format!("{value:.3e}"),
        below if below < 0.99995 => format!("{value:.4}"),
        below if below < 9.9995 => format!("{value:.3}"),
        below if below < 99.995 => format!("{value:.2}"),
        below if below < 999.95 => format!("{value:.1}"),
        _ => grouped(value.round()),
    }
}

/// The text of a whole number with a blank between every three digits, from five digits on.
fn grouped(value: f64) -> String {
    let number = format!("{value:.0}");
    let (sign, digits) = match number.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", number.as_str()),
    };
    if digits.len() < 5 {
        return number;
    }
    let mut text = String::from(sign);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// The text of a value with a decimal prefix and four significant digits; whole values have no decimals.
fn scaled(value: f64, unit: &str) -> String {
    let mut value = value;
    for prefix in ["", "k", "M", "G"] {
        if value.abs() < 999.95 {
            return format!("{} {prefix}{unit}", short(value));
        }
        value /= 1e3;
    }
    format!("{} T{unit}", short(value))
}

/// The text of a number with four significant digits; a whole number has no decimals.
#[must_use]
pub fn short(value: f64) -> String {
    if (value - value.round()).abs() < 1e-9 * value.abs().max(1.0) {
        return grouped(value.round());
    }
    digits(value)
}

/// The text of a time in ns, µs, ms or s, with four significant digits.
fn seconds(value: f64) -> String {
    match value.abs() {
        0.0 => "0 s".to_owned(),
        below if below < 1e-6 => format!("{} ns", short(value * 1e9)),
        below if below < 1e-3 => format!("{} µs", short(value * 1e6)),
        below if below < 0.1 => format!("{} ms", short(value * 1e3)),
        _ => format!("{} s", short(value)),
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
            (Unit::Seconds, 0.28746, "0.2875 s"),
            (Unit::Seconds, 8.427_38, "8.427 s"),
            (Unit::Seconds, 0.011_15, "11.15 ms"),
            (Unit::Seconds, 14.56e-6, "14.56 µs"),
            (Unit::Seconds, 0.0, "0 s"),
            (Unit::FramesPerSecond, 8127.438, "8127.4 frames/s"),
            (Unit::FramesPerSecond, 14_880.95, "14 881 frames/s"),
            (Unit::Efficiency, 0.941_48, "0.9415"),
            (Unit::Share, 0.401_81, "40.18 %"),
            (Unit::Share, 0.0, "0 %"),
            (Unit::Flows, 5.2, "6 flows"),
            (Unit::Flows, 1.0, "1 flow"),
            (Unit::Ratio, f64::NAN, "-"),
        ] {
            let shown = unit.show(value);
            assert_eq!(shown, text, "{value} {unit:?}");
        }
    }
}
