//! Amounts of payload in bytes.

use super::decimal::split_number;
use super::error::ParseUnitError;
use super::prefix::{binary_factor, decimal_factor};
use crate::quantity::scaled;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};
use std::str::FromStr;

/// An amount of payload in bytes, the unit sockets count in.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct ByteCount(u64);

impl ByteCount {
    /// Zero bytes.
    pub const ZERO: Self = Self(0);

    /// An amount of `bytes` bytes.
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number of bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number of bytes as a float, exact below 2^53.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// The difference to a smaller `other`, zero when this is the smaller.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&scaled(self.as_f64(), "B"))
    }
}

impl FromStr for ByteCount {
    type Err = ParseUnitError;

    /// Parses `1M` (10^6), `1Mi` (2^20), `12.5 MB` or a bare number of bytes.
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        const EXAMPLE: &str = "1M for 10^6 or 1Mi for 2^20 bytes";
        let (number, unit) = split_number(text, EXAMPLE)?;
        let prefix = ["bytes", "byte", "B"]
            .iter()
            .find_map(|name| unit.strip_suffix(name))
            .unwrap_or(unit)
            .trim_end();
        let factor = decimal_factor(prefix)
            .or_else(|| binary_factor(prefix))
            .ok_or_else(|| {
                let problem = if unit.ends_with('b') || unit.ends_with("bit") {
                    "is in bits, and sizes are in bytes".to_owned()
                } else {
                    format!("has the unknown size unit {unit:?}")
                };
                ParseUnitError::new(text, problem, EXAMPLE)
            })?;
        number
            .times(factor)
            .and_then(|bytes| u64::try_from(bytes).ok())
            .map(Self)
            .ok_or_else(|| ParseUnitError::new(text, "is too large a size", EXAMPLE))
    }
}

impl Add for ByteCount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for ByteCount {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for ByteCount {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn size(text: &str) -> u64 {
        text.parse::<ByteCount>().unwrap().get()
    }

    #[test]
    fn sizes_take_decimal_and_binary_prefixes() {
        for (text, bytes) in [
            ("512", 512),
            ("512B", 512),
            ("1k", 1_000),
            ("1Ki", 1_024),
            ("1M", 1_000_000),
            ("1Mi", 1_048_576),
            ("1.5MiB", 1_572_864),
            ("12.50 MB", 12_500_000),
            ("1Gi", 1 << 30),
            ("1Ti", 1 << 40),
            ("256k", 256_000),
            ("256Ki", 262_144),
            ("64ki", 65_536),
            ("64KIB", 65_536),
            ("2 MiB", 2_097_152),
            ("10 bytes", 10),
            ("2T", 2_000_000_000_000),
        ] {
            assert_eq!(size(text), bytes, "{text}");
        }
        for text in [
            "",
            "-1",
            "1X",
            "1KiKi",
            "99999999999T",
            "1Mbit/s",
            "1i",
            "10kb",
        ] {
            assert!(text.parse::<ByteCount>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_print_in_decimal_units() {
        assert_eq!(ByteCount::new(512).to_string(), "512 B");
        assert_eq!(ByteCount::new(12_500_000).to_string(), "12.50 MB");
        assert_eq!(ByteCount::new(1_448).to_string(), "1.448 kB");
    }

    #[test]
    fn sizes_are_plain_numbers_in_json() {
        assert_eq!(serde_json::to_string(&ByteCount::new(512)).unwrap(), "512");
    }

    #[test]
    fn sums_of_sizes_saturate() {
        let max = ByteCount::new(u64::MAX);
        let sum: ByteCount = [max, ByteCount::new(1)].into_iter().sum();
        assert_eq!(sum, max);
    }

    proptest! {
        #[test]
        fn a_size_prints_within_half_a_percent_of_itself(digits in 0_u32..60, noise: u64) {
            let bytes = (noise >> 4) >> digits;
            let printed = ByteCount::new(bytes).to_string().replace(' ', ""); let read = size(&printed) as f64;
            prop_assert!((read - bytes as f64).abs() <= 0.005 * bytes as f64);
        }
    }
}
