//! Values as a topology file writes them: a number or a text with its unit.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use caudal_core::units::{BitRate, ByteCount, format_duration, parse_duration, parse_fraction};

/// A rate: bits per second, or a text such as `10M`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate(pub BitRate);

/// An amount: bytes, or a text such as `150k` or `64Ki`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(pub ByteCount);

/// A time: seconds, or a text such as `20ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time(pub Duration);

/// A part of a whole: from 0 to 1, or a text such as `1%`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share(pub f64);

impl Share {
    /// Reads `1%`, `0.01` or `0`.
    fn read(text: &str) -> Result<Self, String> {
        if matches!(text.trim().trim_end_matches('%').trim().parse(), Ok(0.0)) {
            return Ok(Self(0.0));
        }
        parse_fraction(text)
            .map(Self)
            .map_err(|error| error.to_string())
    }
}

/// Reads a number or a text by the text's rule.
struct Reader<T> {
    expected: &'static str,
    read: fn(&str) -> Result<T, String>,
}

impl<T> Visitor<'_> for Reader<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.read)(text).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        (self.read)(&number.to_string()).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        (self.read)(&number.to_string()).map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        (self.read)(&format!("{number}")).map_err(E::custom)
    }
}

/// Everything a scalar needs: reading, writing, and its place in the schema.
macro_rules! scalar {
    ($name:ident, $expected:literal, $read:expr, $write:expr, $pattern:literal) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Reader {
                    expected: $expected,
                    read: $read,
                })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $write(self, serializer)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "description": $expected,
                    "anyOf": [
                        {"type": "number", "minimum": 0},
                        {"type": "string", "pattern": $pattern},
                    ],
                })
            }
        }
    };
}

scalar!(
    Rate,
    "a rate in bits per second, such as \"10M\"",
    |text| text
        .parse()
        .map(Rate)
        .map_err(|error: caudal_core::units::ParseUnitError| error.to_string()),
    |rate: &Rate, serializer: S| serializer.serialize_u64(rate.0.bps()),
    r"^\s*[0-9.]+\s*[kKMGT]?(bit/s|bps)?\s*$"
);
scalar!(
    Bytes,
    "an amount in bytes, such as \"150k\" or \"64Ki\"",
    |text| text
        .parse()
        .map(Bytes)
        .map_err(|error: caudal_core::units::ParseUnitError| error.to_string()),
    |bytes: &Bytes, serializer: S| serializer.serialize_u64(bytes.0.get()),
    r"^\s*[0-9.]+\s*([kKMGT]i?)?B?\s*$"
);
scalar!(
    Time,
    "a time in seconds, such as \"20ms\"",
    |text| parse_duration(text)
        .map(Time)
        .map_err(|error| error.to_string()),
    |time: &Time, serializer: S| serializer.serialize_str(&format_duration(time.0)),
    r"^\s*[0-9.]+\s*(s|ms|us|µs|ns|m|min|h)?\s*$"
);
scalar!(
    Share,
    "a part of a whole from 0 to 1, such as \"1%\"",
    Share::read,
    |share: &Share, serializer: S| serializer.serialize_f64(share.0),
    r"^\s*[0-9.]+(e-?[0-9]+)?\s*%?\s*$"
);

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_and_texts_are_the_same_value() {
        assert_eq!(read(r#""10M""#), Ok(Rate(BitRate::from_bps(10_000_000))));
        assert_eq!(read("10000000"), Ok(Rate(BitRate::from_bps(10_000_000))));
        assert_eq!(read(r#""20ms""#), Ok(Time(Duration::from_millis(20))));
        assert_eq!(read("0.02"), Ok(Time(Duration::from_millis(20))));
        assert_eq!(read(r#""64Ki""#), Ok(Bytes(ByteCount::new(65_536))));
        assert_eq!(read(r#""1%""#), Ok(Share(0.01)));
        assert_eq!(read("0"), Ok(Share(0.0)));
        assert_eq!(read(r#""0%""#), Ok(Share(0.0)));
        assert_eq!(read("1e-5"), Ok(Share(0.00001)));
    }

    #[test]
    fn what_cannot_be_is_refused_in_words() {
        for text in ["-1", "\"fast\"", "1e99", "true", "[]"] {
            assert!(read::<Rate>(text).is_err(), "{text}");
            assert!(read::<Bytes>(text).is_err(), "{text}");
            assert!(read::<Time>(text).is_err(), "{text}");
            assert!(read::<Share>(text).is_err(), "{text}");
        }
        assert!(read::<Share>("1.5").is_err());
    }

    #[test]
    fn what_is_written_is_read_again() {
        let time = Time(Duration::from_micros(1500));
        assert_eq!(read(&serde_json::to_string(&time).unwrap()), Ok(time));
        let share = Share(0.123);
        assert_eq!(read(&serde_json::to_string(&share).unwrap()), Ok(share));
    }
}
