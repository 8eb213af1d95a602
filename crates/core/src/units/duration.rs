//! Durations as people write them.

use super::decimal::split_number;
use super::error::ParseUnitError;
use std::time::Duration;

/// Nanoseconds in a second.
pub(super) const NANOS_PER_SECOND: u128 = 1_000_000_000;
/// Ten years of 365.25 days, the longest duration that is accepted.
const MAX_DURATION: Duration = Duration::from_secs(315_576_000);

/// Parses a duration written as `10s`, `500ms`, `250us`, `10ns`, `2m`, `2min`, `1h` or bare seconds as `1.5`.
///
/// Fractions of a nanosecond are rounded to the nearest. An error for anything negative, not a number, or above ten years.
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
        .filter(|nanos| *nanos <= MAX_DURATION.as_nanos())
        .map(duration_from_nanos)
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

/// The duration of `nanos`, which is at most [`MAX_DURATION`], so its seconds fit.
fn duration_from_nanos(nanos: u128) -> Duration {
    Duration::new(
        (nanos / NANOS_PER_SECOND) as u64,
        (nanos % NANOS_PER_SECOND) as u32,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn a_printed_duration_reads_back_to_the_nanosecond(seconds in 0..315_576_000_u64, nanos in 0..1_000_000_000_u32) {
            let duration = Duration::new(seconds, nanos);
            prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }
    }
}
