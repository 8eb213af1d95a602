//! Rates in bits per second.

use super::decimal::split_number;
use super::error::ParseUnitError;
use super::prefix::{binary_factor, decimal_factor};
use super::rate_unit::RateUnit;
use crate::quantity::scaled;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::Add;
use std::str::FromStr;

/// A transfer rate in bits per second, the unit links are sold in.
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
pub struct BitRate(u64);

impl BitRate {
    /// Zero bits per second.
    pub const ZERO: Self = Self(0);

    /// The rate of `bps` bits per second.
    #[must_use]
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// Bits per second.
    #[must_use]
    pub const fn bps(self) -> u64 {
        self.0
    }

    /// Bits per second as a float, exact below 2^53.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// The rate nearest to `bps` bits per second; `None` when that is negative, not finite or above `u64::MAX`.
    #[must_use]
    pub fn from_f64(bps: f64) -> Option<Self> {
        let rounded = bps.round();
        (rounded >= 0.0 && rounded < u64::MAX as f64).then_some(Self(rounded as u64))
    }

    /// The nanoseconds from one datagram of `datagram_bytes` to the next at this rate; `None` for a rate of zero.
    #[must_use]
    pub fn gap_ns(self, datagram_bytes: u64) -> Option<f64> {
        (self.0 > 0).then(|| datagram_bytes as f64 * 8e9 / self.0 as f64)
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&scaled(self.as_f64(), "bit/s"))
    }
}

impl FromStr for BitRate {
    type Err = ParseUnitError;

    /// Parses `94.1M`, `1.5 Gbit/s`, `10mbit`, `1Gbps`, `100Mb/s` or a bare number of bits per second; prefixes are powers
    /// of 1000. A rate in bytes (`100MB/s`) is an error that names the same rate in bits.
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        const EXAMPLE: &str = "100M or 1.5G";
        let (number, unit) = split_number(text, EXAMPLE)?;
        let (prefix, counted) = RateUnit::split(unit);
        let factor = decimal_factor(prefix).ok_or_else(|| {
            if binary_factor(prefix).is_some() {
                let problem = "has a binary prefix, and rates take decimal ones";
                return ParseUnitError::new(text, problem, EXAMPLE);
            }
            ParseUnitError::new(text, format!("has the unknown rate unit {unit:?}"), EXAMPLE)
        })?;
        let whole = |factor| {
            let bps = number.times(factor).and_then(|bps| u64::try_from(bps).ok());
            bps.map(Self)
        };
        let too_large = || ParseUnitError::new(text, "is too large a rate", EXAMPLE);
        match counted {
            RateUnit::Bits => whole(factor).ok_or_else(too_large),
            RateUnit::Bytes => {
                let rate = whole(8 * factor).ok_or_else(too_large)?;
                let same = rate.to_string().replace(" bit/s", "").replace("bit/s", "");
                let same: String = same.split_whitespace().collect();
                let problem = "is a rate in bytes, and rates are in bits per second";
                let remedy = format!("for that many bytes write {same}");
                Err(ParseUnitError::with_remedy(text, problem, remedy))
            }
        }
    }
}

impl Add for BitRate {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for BitRate {
    fn sum<I: Iterator<Item = Self>>(rates: I) -> Self {
        rates.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rate(text: &str) -> u64 {
        text.parse::<BitRate>().unwrap().bps()
    }

    #[test]
    fn rates_are_read_with_decimal_prefixes() {
        for (text, bps) in [
            ("0", 0),
            ("640", 640),
            ("1k", 1_000),
            ("1K", 1_000),
            ("100M", 100_000_000),
            ("100m", 100_000_000),
            ("1.5G", 1_500_000_000),
            ("0.1T", 100_000_000_000),
            (".5k", 500),
            ("5.k", 5_000),
            ("94.15 Mbit/s", 94_150_000),
            ("94.15Mbps", 94_150_000),
            ("10mbit", 10_000_000),
            ("10 Mbit/s", 10_000_000),
            ("1Gbit", 1_000_000_000),
            ("1Gbps", 1_000_000_000),
            ("100Mb/s", 100_000_000),
            ("100 Mb", 100_000_000),
            ("640 kbits/sec", 640_000),
            ("640KBIT", 640_000),
            ("1gbit/s", 1_000_000_000),
            ("640 bit/s", 640),
            (" 7 ", 7),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(rate(text), bps, "{text}");
        }
    }

    #[test]
    fn a_text_that_is_no_rate_is_refused_with_the_text_the_fault_and_an_example() {
        for (text, fault) in [
            ("", "is empty"),
            ("  ", "is empty"),
            ("-1M", "is negative"),
            ("fast", "does not begin with a number"),
            (".", "does not begin with a number"),
            ("1.2.3", "does not begin with a number"),
            ("NaN", "does not begin with a number"),
            ("inf", "does not begin with a number"),
            ("10X", "unknown rate unit \"X\""),
            ("10Mi", "has a binary prefix"),
            ("10Mibit/s", "has a binary prefix"),
            ("10Mbit/h", "unknown rate unit \"Mbit/h\""),
            ("1e9", "unknown rate unit \"e9\""),
            ("18446744073709551616", "too large"),
            ("99999999T", "too large"),
            ("1111111111111111111111111", "too many digits"),
        ] {
            let message = text.parse::<BitRate>().unwrap_err().to_string();
            assert!(message.contains(fault), "{message}");
            assert!(message.contains(&format!("{text:?}")), "{message}");
            assert!(message.contains("100M"), "{message}");
            assert!(!message.contains('\n'), "{message}");
        }
    }

    #[test]
    fn a_rate_in_bytes_is_refused_with_the_same_rate_in_bits() {
        for (text, same) in [
            ("100MB/s", "800M"),
            ("1GBps", "8G"),
            ("10MB", "80M"),
            ("12.5 MByte/s", "100M"),
            ("10 bytes/s", "80"),
        ] {
            let message = text.parse::<BitRate>().unwrap_err().to_string();
            assert!(message.contains("in bytes"), "{message}");
            assert!(message.ends_with(&format!("write {same}")), "{message}");
        }
        assert!("99999999TB/s".parse::<BitRate>().is_err());
    }

    #[test]
    fn rates_print_with_four_digits_and_their_unit() {
        for (bps, text) in [
            (0, "0 bit/s"),
            (640, "640 bit/s"),
            (999, "999 bit/s"),
            (1_000, "1 kbit/s"),
            (94_148_000, "94.15 Mbit/s"),
            (99_996_000, "100.0 Mbit/s"),
            (941_480_000, "941.5 Mbit/s"),
            (999_960_000, "1.000 Gbit/s"),
            (1_000_000_000, "1 Gbit/s"),
            (400_000_000_000, "400 Gbit/s"),
            (2_500_000_000_000_000, "2500 Tbit/s"),
        ] {
            assert_eq!(BitRate::from_bps(bps).to_string(), text);
        }
        assert_eq!(format!("{:>12}", BitRate::from_bps(640)), "   640 bit/s");
    }

    #[test]
    fn the_gap_between_datagrams_follows_from_size_and_rate() {
        assert_eq!(BitRate::from_bps(100_000_000).gap_ns(1250), Some(100_000.0));
        assert_eq!(BitRate::ZERO.gap_ns(1250), None);
    }

    #[test]
    fn rates_are_plain_numbers_in_json() {
        let rate = BitRate::from_bps(94_148_000);
        assert_eq!(serde_json::to_string(&rate).unwrap(), "94148000");
        assert_eq!(serde_json::from_str::<BitRate>("94148000").unwrap(), rate);
    }

    #[test]
    fn sums_of_rates_saturate() {
        let max = BitRate::from_bps(u64::MAX);
        assert_eq!(max + BitRate::from_bps(1), max);
    }

    #[test]
    fn a_float_that_is_no_rate_is_refused() {
        assert_eq!(BitRate::from_f64(f64::NAN), None);
        assert_eq!(BitRate::from_f64(-1.0), None);
        assert_eq!(BitRate::from_f64(1e30), None);
        assert_eq!(BitRate::from_f64(2.5), Some(BitRate::from_bps(3)));
    }

    proptest! {
        #[test]
        fn a_rate_prints_within_half_a_percent_of_itself(digits in 0_u32..64, noise: u64) {
            let bps = noise >> digits;
            let printed = BitRate::from_bps(bps).to_string();
            if let Ok(read) = printed.replace(' ', "").parse::<BitRate>() {
                let off = (read.as_f64() - bps as f64).abs();
                prop_assert!(off <= 0.005 * bps as f64, "{bps} printed as {printed}");
            } else {
                // Only rates that round up beyond u64::MAX cannot be read back.
                prop_assert!(bps > u64::MAX / 200 * 199, "{printed}");
            }
        }
    }
}
