//! Amounts and rates that carry their unit, and the text people write them as.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const NANOS_PER_SECOND: u128 = 1_000_000_000;
/// Ten years of 365.25 days, the longest duration anyone can ask for.
const LONGEST: Duration = Duration::from_secs(315_576_000);

/// A text that is no amount, rate, duration or fraction: one line with the text, the fault and an example.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} {problem}; write for example {example}")]
pub struct ParseUnitError {
    text: String,
    problem: String,
    example: &'static str,
}

impl ParseUnitError {
    fn new(text: &str, problem: impl Into<String>, example: &'static str) -> Self {
        Self {
            text: text.to_owned(),
            problem: problem.into(),
            example,
        }
    }

    /// The text that was refused, as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

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
    /// No bits at all.
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

    /// Nanoseconds from one datagram of `datagram_bytes` to the next at this rate; `None` for a rate of zero.
    #[must_use]
    pub fn gap_ns(self, datagram_bytes: u64) -> Option<f64> {
        (self.0 > 0).then(|| datagram_bytes as f64 * 8e9 / self.0 as f64)
    }

    /// The whole bytes this rate carries in `elapsed`, at most `u64::MAX`.
    #[must_use]
    pub fn during(self, elapsed: Duration) -> ByteCount {
        let whole = u128::from(self.0) * u128::from(elapsed.as_secs()) / 8;
        // What the division by 8 cut off and the part of a second, in bit-nanoseconds.
        let rest_bits = u128::from(self.0) * u128::from(elapsed.as_secs()) % 8;
        let rest =
            rest_bits * NANOS_PER_SECOND + u128::from(self.0) * u128::from(elapsed.subsec_nanos());
        ByteCount(saturate(whole + rest / (8 * NANOS_PER_SECOND)))
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&with_prefix(self.0, "bit/s"))
    }
}

impl FromStr for BitRate {
    type Err = ParseUnitError;

    /// Reads `94.1M`, `1.5 Gbit/s`, `640bps` or a bare number of bits per second; prefixes are powers of 1000.
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        const EXAMPLE: &str = "100M or 1.5G";
        let (number, unit) = split_number(text, EXAMPLE)?;
        let prefix = ["bit/s", "bps"]
            .iter()
            .find_map(|end| unit.strip_suffix(end))
            .unwrap_or(unit)
            .trim_end();
        let factor = decimal_factor(prefix).ok_or_else(|| {
            ParseUnitError::new(text, format!("has the unknown rate unit {unit:?}"), EXAMPLE)
        })?;
        number
            .times(factor)
            .and_then(|bps| u64::try_from(bps).ok())
            .map(Self)
            .ok_or_else(|| ParseUnitError::new(text, "is too large a rate", EXAMPLE))
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
    /// No bytes at all.
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

    /// The rate at which this much crossed in `elapsed`, to the nearest bit per second; `None` when no time passed.
    #[must_use]
    pub fn per(self, elapsed: Duration) -> Option<BitRate> {
        let nanos = elapsed.as_nanos();
        let bit_nanos = u128::from(self.0) * 8 * NANOS_PER_SECOND;
        (nanos > 0).then(|| BitRate(saturate((bit_nanos + nanos / 2) / nanos)))
    }

    /// How much more this is than `other`, zero when it is less.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&with_prefix(self.0, "B"))
    }
}

impl FromStr for ByteCount {
    type Err = ParseUnitError;

    /// Reads `1M` (10^6), `1Mi` (2^20), `12.5 MB` or a bare number of bytes.
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        const EXAMPLE: &str = "1M for 10^6 or 1Mi for 2^20 bytes";
        let (number, unit) = split_number(text, EXAMPLE)?;
        let prefix = unit.strip_suffix('B').unwrap_or(unit).trim_end();
        let factor = match prefix {
            "Ki" => Some(1 << 10),
            "Mi" => Some(1 << 20),
            "Gi" => Some(1 << 30),
            "Ti" => Some(1 << 40),
            _ => decimal_factor(prefix),
        }
        .ok_or_else(|| {
            ParseUnitError::new(text, format!("has the unknown size unit {unit:?}"), EXAMPLE)
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

/// Reads a duration written as `10s`, `500ms`, `250us`, `10ns`, `2m`, `2min`, `1h` or bare seconds as `1.5`.
///
/// Parts of a nanosecond are rounded to the nearest. An error for anything negative, not a number, or above ten years.
pub fn parse_duration(text: &str) -> Result<Duration, ParseUnitError> {
    const EXAMPLE: &str = "10s, 500ms or 2min";
    let (number, unit) = split_number(text, EXAMPLE)?;
    let nanos_per_unit: u128 = match unit {
        "" | "s" => NANOS_PER_SECOND,
        "ms" => 1_000_000,
        // The micro sign and the Greek letter look alike and are both typed.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ns" => 1,
        "m" | "min" => 60 * NANOS_PER_SECOND,
        "h" => 3600 * NANOS_PER_SECOND,
        _ => {
            let problem = format!("has the unknown time unit {unit:?}");
            return Err(ParseUnitError::new(text, problem, EXAMPLE));
        }
    };
    number
        .times(nanos_per_unit)
        .filter(|nanos| *nanos <= LONGEST.as_nanos())
        .map(duration_of_nanos)
        .ok_or_else(|| ParseUnitError::new(text, "is longer than ten years", EXAMPLE))
}

/// The shortest exact text of a duration in s, ms, us or ns, whichever is the largest not above it: `1.5s`, `250us`.
///
/// [`parse_duration`] reads it back to the same nanosecond.
#[must_use]
pub fn format_duration(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let (per_unit, digits, unit) = match nanos {
        0 => return "0s".to_owned(),
        1..1_000 => (1, 0, "ns"),
        1_000..1_000_000 => (1_000, 3, "us"),
        1_000_000..1_000_000_000 => (1_000_000, 6, "ms"),
        _ => (NANOS_PER_SECOND, 9, "s"),
    };
    let (whole, rest) = (nanos / per_unit, nanos % per_unit);
    if rest == 0 {
        return format!("{whole}{unit}");
    }
    let fraction = format!("{rest:0digits$}");
    format!("{whole}.{}{unit}", fraction.trim_end_matches('0'))
}

/// Reads a fraction above 0 and at most 1, written as `5%` or `0.05`.
pub fn parse_fraction(text: &str) -> Result<f64, ParseUnitError> {
    const EXAMPLE: &str = "5% or 0.05";
    let (number, unit) = split_number(text, EXAMPLE)?;
    let divisor = match unit {
        "" => 1.0,
        "%" => 100.0,
        _ => {
            let problem = format!("has the unknown unit {unit:?}");
            return Err(ParseUnitError::new(text, problem, EXAMPLE));
        }
    };
    let fraction = number.as_f64() / divisor;
    if fraction > 0.0 && fraction <= 1.0 {
        Ok(fraction)
    } else {
        let problem = "is not above 0 and at most 1 (100%)";
        Err(ParseUnitError::new(text, problem, EXAMPLE))
    }
}

/// A number as written, without the rounding a float would bring: `digits / 10^decimals`.
#[derive(Clone, Copy)]
struct Decimal {
    digits: u128,
    decimals: u32,
}

impl Decimal {
    /// This many of `factor`, to the nearest whole; `None` on overflow.
    fn times(self, factor: u128) -> Option<u128> {
        let scale = 10_u128.checked_pow(self.decimals)?;
        let product = self.digits.checked_mul(factor)?;
        Some(product.checked_add(scale / 2)? / scale)
    }

    fn as_f64(self) -> f64 {
        self.digits as f64 / 10_f64.powi(self.decimals.cast_signed())
    }
}

/// The number `text` begins with and the unit behind it, both without surrounding blanks.
fn split_number<'t>(
    text: &'t str,
    example: &'static str,
) -> Result<(Decimal, &'t str), ParseUnitError> {
    // Enough to write any u64 and any nanosecond; more is a slip of the keyboard.
    const MOST_DIGITS: usize = 24;
    let error = |problem: &str| ParseUnitError::new(text, problem, example);
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err(error("is empty"));
    }
    let after_minus = trimmed
        .strip_prefix('-')
        .and_then(|rest| rest.chars().next());
    if after_minus.is_some_and(|c| c.is_ascii_digit() || c == '.') {
        return Err(error("is negative"));
    }
    let end = trimmed
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return Err(error("does not begin with a number"));
    }
    let (whole, fraction) = (
        whole.trim_start_matches('0'),
        fraction.trim_end_matches('0'),
    );
    if whole.len() + fraction.len() > MOST_DIGITS {
        return Err(error("has too many digits"));
    }
    let digits = whole
        .bytes()
        .chain(fraction.bytes())
        .fold(0, |sum: u128, digit| sum * 10 + u128::from(digit - b'0'));
    let decimals = fraction.len() as u32;
    Ok((Decimal { digits, decimals }, unit.trim_start()))
}

fn decimal_factor(prefix: &str) -> Option<u128> {
    Some(match prefix {
        "" => 1,
        "k" | "K" => 1_000,
        "M" | "m" => 1_000_000,
        "G" | "g" => 1_000_000_000,
        "T" | "t" => 1_000_000_000_000,
        _ => return None,
    })
}

/// `value` with the decimal prefix that leaves at most three digits before the point, and three or four digits in all.
fn with_prefix(value: u64, unit: &str) -> String {
    if value < 1000 {
        return format!("{value} {unit}");
    }
    let mut scaled = value as f64 / 1e3;
    let mut prefixes = ["k", "M", "G", "T"].iter();
    let mut prefix = prefixes.next().copied().unwrap_or_default();
    // 999.95 would round to 1000.0 and belongs to the next prefix.
    while scaled >= 999.95 {
        let Some(larger) = prefixes.next() else { break };
        prefix = larger;
        scaled /= 1e3;
    }
    let decimals = if scaled < 99.995 { 2 } else { 1 };
    format!("{scaled:.decimals$} {prefix}{unit}")
}

fn saturate(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// `nanos` is at most [`LONGEST`], so its seconds fit.
fn duration_of_nanos(nanos: u128) -> Duration {
    Duration::new(
        saturate(nanos / NANOS_PER_SECOND),
        (nanos % NANOS_PER_SECOND) as u32,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rate(text: &str) -> u64 {
        text.parse::<BitRate>().unwrap().bps()
    }

    fn size(text: &str) -> u64 {
        text.parse::<ByteCount>().unwrap().get()
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
            ("640 bit/s", 640),
            (" 7 ", 7),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(rate(text), bps, "{text}");
        }
    }

    #[test]
    fn what_is_no_rate_is_refused_with_the_text_the_fault_and_an_example() {
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
            ("10Mi", "unknown rate unit \"Mi\""),
            ("10MB", "unknown rate unit \"MB\""),
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
    fn rates_print_with_three_or_four_digits_and_their_unit() {
        for (bps, text) in [
            (0, "0 bit/s"),
            (640, "640 bit/s"),
            (999, "999 bit/s"),
            (1_000, "1.00 kbit/s"),
            (94_148_000, "94.15 Mbit/s"),
            (99_996_000, "100.0 Mbit/s"),
            (941_480_000, "941.5 Mbit/s"),
            (999_960_000, "1.00 Gbit/s"),
            (1_000_000_000, "1.00 Gbit/s"),
            (400_000_000_000, "400.0 Gbit/s"),
            (2_500_000_000_000_000, "2500.0 Tbit/s"),
        ] {
            assert_eq!(BitRate::from_bps(bps).to_string(), text);
        }
        assert_eq!(format!("{:>12}", BitRate::from_bps(640)), "   640 bit/s");
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
            ("2T", 2_000_000_000_000),
        ] {
            assert_eq!(size(text), bytes, "{text}");
        }
        for text in ["", "-1", "1X", "1KiKi", "99999999999T", "1Mbit/s"] {
            assert!(text.parse::<ByteCount>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_print_in_decimal_units() {
        assert_eq!(ByteCount::new(512).to_string(), "512 B");
        assert_eq!(ByteCount::new(12_500_000).to_string(), "12.50 MB");
        assert_eq!(ByteCount::new(1_448).to_string(), "1.45 kB");
    }

    #[test]
    fn an_amount_over_a_time_is_a_rate() {
        let megabytes = ByteCount::new(12_500_000);
        assert_eq!(
            megabytes.per(Duration::from_secs(1)),
            Some(BitRate::from_bps(100_000_000))
        );
        assert_eq!(megabytes.per(Duration::ZERO), None);
        assert_eq!(
            ByteCount::new(u64::MAX).per(Duration::from_nanos(1)),
            Some(BitRate::from_bps(u64::MAX))
        );
    }

    #[test]
    fn a_rate_over_a_time_is_an_amount() {
        let rate = BitRate::from_bps(100_000_000);
        assert_eq!(
            rate.during(Duration::from_millis(500)),
            ByteCount::new(6_250_000)
        );
        assert_eq!(
            BitRate::from_bps(u64::MAX).during(Duration::MAX),
            ByteCount::new(u64::MAX)
        );
        assert_eq!(
            BitRate::from_bps(3).during(Duration::from_secs(3)),
            ByteCount::new(1)
        );
    }

    #[test]
    fn the_gap_between_datagrams_follows_from_size_and_rate() {
        assert_eq!(BitRate::from_bps(100_000_000).gap_ns(1250), Some(100_000.0));
        assert_eq!(BitRate::ZERO.gap_ns(1250), None);
    }

    #[test]
    fn durations_are_read_in_every_usual_unit() {
        for (text, nanos) in [
            ("10s", 10_000_000_000),
            ("500ms", 500_000_000),
            ("250us", 250_000),
            ("250\u{b5}s", 250_000),
            ("250\u{3bc}s", 250_000),
            ("10ns", 10),
            ("2m", 120_000_000_000),
            ("2min", 120_000_000_000),
            ("1h", 3_600_000_000_000),
            ("1.5", 1_500_000_000),
            ("0", 0),
            ("0.1 s", 100_000_000),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_nanos(nanos)),
                "{text}"
            );
        }
        for text in [
            "",
            "-1s",
            "NaN",
            "inf",
            "1y",
            "s",
            "87661h",
            "1e3s",
            "999999999999999999999h",
        ] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        assert!(parse_duration("87660h").is_ok());
    }

    #[test]
    fn durations_print_exactly_and_short() {
        for (nanos, text) in [
            (0, "0s"),
            (10, "10ns"),
            (250_000, "250us"),
            (1_500_000, "1.5ms"),
            (1_500_000_000, "1.5s"),
            (60_000_000_000, "60s"),
            (1_000_000_001, "1.000000001s"),
        ] {
            assert_eq!(format_duration(Duration::from_nanos(nanos)), text);
        }
        assert!(!format_duration(Duration::MAX).is_empty());
    }

    #[test]
    fn fractions_are_read_plain_or_in_percent() {
        assert_eq!(parse_fraction("5%"), Ok(0.05));
        assert_eq!(parse_fraction("0.05"), Ok(0.05));
        assert_eq!(parse_fraction("100 %"), Ok(1.0));
        assert_eq!(parse_fraction("1"), Ok(1.0));
        for text in ["", "0", "0%", "-5%", "5", "101%", "NaN", "5%%", "5pp"] {
            assert!(parse_fraction(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_and_sizes_are_plain_numbers_in_json() {
        let rate = BitRate::from_bps(94_148_000);
        assert_eq!(serde_json::to_string(&rate).unwrap(), "94148000");
        assert_eq!(serde_json::from_str::<BitRate>("94148000").unwrap(), rate);
        assert_eq!(serde_json::to_string(&ByteCount::new(512)).unwrap(), "512");
    }

    #[test]
    fn sums_stop_at_the_largest_value() {
        let most = ByteCount::new(u64::MAX);
        assert_eq!(
            [most, ByteCount::new(1)].into_iter().sum::<ByteCount>(),
            most
        );
        assert_eq!(
            BitRate::from_bps(u64::MAX) + BitRate::from_bps(1),
            BitRate::from_bps(u64::MAX)
        );
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
            if let Ok(read) = printed.parse::<BitRate>() {
                let off = (read.as_f64() - bps as f64).abs();
                prop_assert!(off <= 0.005 * bps as f64, "{bps} printed as {printed}");
            } else {
                // Only what rounds up past u64::MAX cannot be read back.
                prop_assert!(bps > u64::MAX / 200 * 199, "{printed}");
            }
        }

        #[test]
        fn a_size_prints_within_half_a_percent_of_itself(digits in 0_u32..60, noise: u64) {
            let bytes = (noise >> 4) >> digits;
            let read = size(&ByteCount::new(bytes).to_string()) as f64;
            prop_assert!((read - bytes as f64).abs() <= 0.005 * bytes as f64);
        }

        #[test]
        fn a_printed_duration_reads_back_to_the_nanosecond(seconds in 0..315_576_000_u64, nanos in 0..1_000_000_000_u32) {
            let duration = Duration::new(seconds, nanos);
            prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }

        #[test]
        fn no_text_makes_a_parser_panic(text in ".{0,40}") {
            let _ = (text.parse::<BitRate>(), text.parse::<ByteCount>());
            let _ = (parse_duration(&text), parse_fraction(&text));
        }

        #[test]
        fn numbers_with_any_ending_do_not_make_a_parser_panic(text in "[0-9.]{0,30}[kKmMGTiBs%]{0,3}") {
            let _ = (text.parse::<BitRate>(), text.parse::<ByteCount>());
            let _ = (parse_duration(&text), parse_fraction(&text));
        }
    }
}
