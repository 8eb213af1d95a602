//! Dates as documents carry them: RFC 3339, UTC.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::temporal::DateTimePrinter;
use jiff::tz::TimeZone;

/// The time `ns` nanoseconds after the beginning of 1970 as RFC 3339 in UTC, to the millisecond.
///
/// Times after the year 9999 are written as its end.
#[must_use]
pub fn rfc3339(ns: u64) -> String {
    let at = Timestamp::from_nanosecond(i128::from(ns)).unwrap_or(Timestamp::MAX);
    DateTimePrinter::new()
        .precision(Some(3))
        .timestamp_to_string(&at)
}

/// Parses a date in UTC, with or without a time of day, as ns since 1970: `2026-11-22`, `2026-11-22T15:04`,
/// `2026-11-22 15:04:05` or `2026-11-22T15:04:05Z`.
///
/// `None` for any other text, and for a date before 1970.
#[must_use]
pub fn parse_utc(text: &str) -> Option<i64> {
    let text = text.strip_suffix('Z').unwrap_or(text).replacen(' ', "T", 1);
    let at: DateTime = text.parse().ok()?;
    // The parser takes shorter forms and offsets as well: what was read must be what was written.
    let written = at.strftime("%Y-%m-%dT%H:%M:%S").to_string();
    let is_whole = matches!(text.len(), 10 | 16 | 19) && written.starts_with(&text);
    is_whole.then(|| since_1970(at)).flatten()
}

/// The time of a civil date in UTC, ns since 1970; `None` before 1970 and beyond the range of 64 bits.
#[must_use]
pub fn since_1970(at: DateTime) -> Option<i64> {
    let at = at.to_zoned(TimeZone::UTC).ok()?.timestamp();
    let ns = i64::try_from(at.as_nanosecond()).ok()?;
    (ns >= 0).then_some(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_in_utc() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(951_782_400_000_000_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(
            rfc3339(1_795_295_439_123_999_999),
            "2026-11-21T21:10:39.123Z"
        );
    }

    #[test]
    fn a_date_is_read_with_and_without_a_time_of_day() {
        let midnight = 1_795_305_600_000_000_000;
        assert_eq!(parse_utc("2026-11-22"), Some(midnight));
        assert_eq!(parse_utc("2026-11-22T00:00"), Some(midnight));
        assert_eq!(
            parse_utc("2026-11-22 00:01:05Z"),
            Some(midnight + 65_000_000_000)
        );
        assert_eq!(parse_utc("1970-01-01"), Some(0));
    }

    #[test]
    fn an_impossible_date_is_rejected() {
        for text in [
            "",
            "2026",
            "2026-02-29",
            "2026-13-01",
            "1969-12-31",
            "2026-11-22T25:00",
            "22.11.2026",
            "20261122",
            "2026-1-1",
            "2026-11-22T15:04-01",
            "2026-11-22T15:04:05.123",
        ] {
            assert_eq!(parse_utc(text), None, "{text:?}");
        }
    }
}
