//! Scalar values of a topology file: a number in the base unit, or a string with a unit.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use caudal_core::units::{BitRate, ByteCount, format_duration, parse_duration, parse_fraction};

/// A rate: bits per second, or a string such as `10M`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateValue(pub BitRate);

/// A size: bytes, or a string such as `150k` or `64Ki`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteValue(pub ByteCount);

/// A duration: seconds, or a string such as `20ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeValue(pub Duration);

/// A fraction from 0 to 1, or a string such as `1%`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FractionValue(pub f64);

impl FractionValue {
    /// Parses `1%`, `0.01` or `0`.
    fn parse(text: &str) -> Result<Self, String> {
        if matches!(text.trim().trim_end_matches('%').trim().parse(), Ok(0.0)) {
            return Ok(Self(0.0));
        }
        parse_fraction(text)
            .map(Self)
            .map_err(|error| error.to_string())
    }
}

/// Deserializes a number or a string, both by the rule for strings.
struct ScalarVisitor<T> {
    expected: &'static str,
    parse: fn(&str) -> Result<T, String>,
}

impl<T> Visitor<'_> for ScalarVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        (self.parse)(&number.to_string()).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        (self.parse)(&number.to_string()).map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        (self.parse)(&format!("{number}")).map_err(E::custom)
    }
}

/// Implements deserialization, serialization and the JSON Schema of a scalar; its schema is named `$schema`.
macro_rules! scalar {
    ($name:ident, $schema:literal, $expected:literal, $parse:expr, $write:expr, $pattern:literal) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(ScalarVisitor {
                    expected: $expected,
                    parse: $parse,
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
                $schema.into()
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
    RateValue,
    "Rate",
    "a rate in bits per second, such as \"10M\"",
    |text| text
        .parse()
        .map(RateValue)
        .map_err(|error: caudal_core::units::ParseUnitError| error.to_string()),
    |rate: &RateValue, serializer: S| serializer.serialize_u64(rate.0.bps()),
    r"^\s*[0-9.]+\s*[kKmMgGtT]?([bB][iI][tT][sS]?|b)?(/s|/sec|/second|ps)?\s*$"
);
scalar!(
    ByteValue,
    "Bytes",
    "a size in bytes, such as \"150k\" or \"64Ki\"",
    |text| text
        .parse()
        .map(ByteValue)
        .map_err(|error: caudal_core::units::ParseUnitError| error.to_string()),
    |bytes: &ByteValue, serializer: S| serializer.serialize_u64(bytes.0.get()),
    r"^\s*[0-9.]+\s*([kKmMgGtT][iI]?)?(B|bytes?)?\s*$"
);
scalar!(
    TimeValue,
    "Time",
    "a time in seconds, such as \"20ms\"",
    |text| parse_duration(text)
        .map(TimeValue)
        .map_err(|error| error.to_string()),
    |time: &TimeValue, serializer: S| serializer.serialize_str(&format_duration(time.0)),
    r"^\s*[0-9.]+\s*(s|ms|us|µs|ns|m|min|h)?\s*$"
);
scalar!(
    FractionValue,
    "Share",
    "a fraction from 0 to 1, such as \"1%\"",
    FractionValue::parse,
    |fraction: &FractionValue, serializer: S| if fraction.0 == 1.0 {
        serializer.serialize_str("100%")
    } else {
        serializer.serialize_f64(fraction.0)
    },
    r"^\s*[0-9.]+(e-?[0-9]+)?\s*%?\s*$"
);

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_and_strings_give_the_same_value() {
        assert_eq!(
            read(r#""10M""#),
            Ok(RateValue(BitRate::from_bps(10_000_000)))
        );
        assert_eq!(
            read("10000000"),
            Ok(RateValue(BitRate::from_bps(10_000_000)))
        );
        assert_eq!(read(r#""20ms""#), Ok(TimeValue(Duration::from_millis(20))));
        assert_eq!(read("0.02"), Ok(TimeValue(Duration::from_millis(20))));
        assert_eq!(read(r#""64Ki""#), Ok(ByteValue(ByteCount::new(65_536))));
        assert_eq!(read(r#""1%""#), Ok(FractionValue(0.01)));
        assert_eq!(read("0"), Ok(FractionValue(0.0)));
        assert_eq!(read(r#""0%""#), Ok(FractionValue(0.0)));
        assert_eq!(read("1e-5"), Ok(FractionValue(0.00001)));
    }

    #[test]
    fn invalid_values_are_refused() {
        for text in ["-1", "\"fast\"", "1e99", "true", "[]"] {
            assert!(read::<RateValue>(text).is_err(), "{text}");
            assert!(read::<ByteValue>(text).is_err(), "{text}");
            assert!(read::<TimeValue>(text).is_err(), "{text}");
            assert!(read::<FractionValue>(text).is_err(), "{text}");
        }
        assert!(read::<FractionValue>("1.5").is_err());
        for ambiguous in ["1", "1.0", "\"1\""] {
            let problem = read::<FractionValue>(ambiguous).unwrap_err();
            assert!(problem.contains("1% or 100%"), "{problem}");
        }
    }

    #[test]
    fn a_serialized_value_deserializes_to_itself() {
        let time = TimeValue(Duration::from_micros(1500));
        assert_eq!(read(&serde_json::to_string(&time).unwrap()), Ok(time));
        for fraction in [0.123, 0.0, 1.0].map(FractionValue) {
            assert_eq!(
                read(&serde_json::to_string(&fraction).unwrap()),
                Ok(fraction)
            );
        }
    }
}
