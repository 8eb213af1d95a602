//! Dates as other tools print them, in ns since 1970. Those without a time zone are taken as UTC.

use caudal_core::date::since_1970;
use jiff::civil::DateTime;

/// The beginning of 1970-01-02: iperf 2 prints a date of 1970 when it has lost the time.
const EARLIEST_NS: i64 = 86_400_000_000_000;

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// `Sun, 22 Nov 2026 03:33:51 GMT`.
#[must_use]
pub fn rfc1123(text: &str) -> Option<i64> {
    let words: Vec<&str> = text.split_whitespace().take(6).collect();
    let [_, day, month, year, time, "GMT" | "UTC"] = words.as_slice() else {
        return None;
    };
    civil(year, month, day, time)
}

/// `Sun Nov 22 03:33:51 2026` at the start of a line, as `ctime` prints it.
#[must_use]
pub fn at_start(text: &str) -> Option<i64> {
    let words: Vec<&str> = text.split_whitespace().take(5).collect();
    let [_, month, day, time, year] = words.as_slice() else {
        return None;
    };
    civil(year, month, day, time)
}

/// `20261122033441`, with a fraction or a time zone in later versions.
#[must_use]
pub fn digits(text: &str) -> Option<i64> {
    let part = |from: usize, to: usize| text.get(from..to)?.parse::<u32>().ok();
    let date = [part(0, 4)?, part(4, 6)?, part(6, 8)?];
    utc(date, [part(8, 10)?, part(10, 12)?, part(12, 14)?])
}

/// `2026-11-22 03:34:30`.
#[must_use]
pub fn iso(text: &str) -> Option<i64> {
    let part = |from: usize, to: usize| text.get(from..to)?.parse::<u32>().ok();
    let date = [part(0, 4)?, part(5, 7)?, part(8, 10)?];
    utc(date, [part(11, 13)?, part(14, 16)?, part(17, 19)?])
}

/// `2026-11-22T03:34:30.5+01:00`, also with a zone as `+0100` or `Z`; without one it is UTC.
#[must_use]
pub fn iso_with_zone(text: &str) -> Option<i64> {
    let behind = text.get(19..)?;
    let zone = behind.find(['+', '-']).map(|at| &behind[at..]);
    let minutes = match zone {
        None => 0,
        Some(zone) => {
            let part = |text: Option<&str>| text?.parse::<i64>().ok();
            let minutes = zone.get(3..)?.trim_start_matches(':');
            let of_day = part(zone.get(1..3))? * 60 + part(Some(minutes))?;
            if zone.starts_with('-') {
                -of_day
            } else {
                of_day
            }
        }
    };
    iso(text).map(|at| at - minutes * 60_000_000_000)
}

/// `true` for the short name of a month.
#[must_use]
pub fn is_month(text: &str) -> bool {
    MONTHS.contains(&text)
}

/// The time with the name of the month as `ctime` prints it, and a time of day as `03:33:51`.
fn civil(year: &str, month: &str, day: &str, time: &str) -> Option<i64> {
    let month = MONTHS.iter().position(|name| *name == month)? as u32 + 1;
    let mut parts = time.split(':').map(|part| part.parse::<u32>().ok());
    let time = [parts.next()??, parts.next()??, parts.next()??];
    utc([year.parse().ok()?, month, day.parse().ok()?], time)
}

/// The time of year, month and day, and of hour, minute and second.
fn utc(date: [u32; 3], [hour, minute, second]: [u32; 3]) -> Option<i64> {
    let [month, day] = [date[1], date[2]].map(i8::try_from);
    // A leap second counts as the one before.
    let [hour, minute, second] =
        [hour, minute, if second == 60 { 59 } else { second }].map(i8::try_from);
    let year = i16::try_from(date[0]).ok()?;
    let at = DateTime::new(
        year,
        month.ok()?,
        day.ok()?,
        hour.ok()?,
        minute.ok()?,
        second.ok()?,
        0,
    );
    since_1970(at.ok()?).filter(|at| *at >= EARLIEST_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_they_are_printed() {
        let at = Some(1_795_318_431_000_000_000);
        assert_eq!(rfc1123("Sun, 22 Nov 2026 03:33:51 GMT"), at);
        assert_eq!(at_start("Sun Nov 22 03:33:51 2026 "), at);
        assert_eq!(digits("20261122033351"), at);
        assert_eq!(digits("20261122033351.123"), at);
        assert_eq!(iso("2026-11-22 03:33:51 (UTC)"), at);
        for text in [
            "2026-11-22T03:33:51.5Z",
            "2026-11-22T04:33:51+01:00",
            "2026-11-22T00:03:51-0330",
        ] {
            assert_eq!(iso_with_zone(text), at, "{text}");
        }
    }

    #[test]
    fn other_text_is_no_date() {
        assert_eq!(digits("19700101000000"), None);
        assert_eq!(digits("2026112203"), None);
        assert_eq!(at_start("title:"), None);
        assert_eq!(rfc1123("Sun, 99 Nov 2026 03:33:51 GMT"), None);
    }
}
