//! Dates as other tools print them, in nanoseconds since 1970. Those without a zone are taken for UTC.

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

/// `Sun Nov 22 03:33:51 2026` at the start of a line: what `ctime` and a plain locale print.
#[must_use]
pub fn at_start(text: &str) -> Option<i64> {
    let words: Vec<&str> = text.split_whitespace().take(5).collect();
    let [_, month, day, time, year] = words.as_slice() else {
        return None;
    };
    civil(year, month, day, time)
}

/// `20261122033441`, with a fraction or a zone as later versions have it.
#[must_use]
pub fn digits(text: &str) -> Option<i64> {
    let part = |from: usize, to: usize| text.get(from..to)?.parse::<u32>().ok();
    let days = days(i64::from(part(0, 4)?), part(4, 6)?, part(6, 8)?)?;
    seconds(days, part(8, 10)?, part(10, 12)?, part(12, 14)?)
}

/// `2026-11-22 03:34:30`.
#[must_use]
pub fn iso(text: &str) -> Option<i64> {
    let part = |from: usize, to: usize| text.get(from..to)?.parse::<u32>().ok();
    let days = days(i64::from(part(0, 4)?), part(5, 7)?, part(8, 10)?)?;
    seconds(days, part(11, 13)?, part(14, 16)?, part(17, 19)?)
}

fn civil(year: &str, month: &str, day: &str, time: &str) -> Option<i64> {
    let month = MONTHS.iter().position(|name| *name == month)? as u32 + 1;
    let days = days(year.parse().ok()?, month, day.parse().ok()?)?;
    let mut parts = time.split(':').map(|part| part.parse::<u32>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    seconds(days, hour, minute, second)
}

/// Days since 1970 of a date, counted in eras of 400 years from 0000-03-01.
fn days(year: i64, month: u32, day: u32) -> Option<i64> {
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year / 400, year % 400);
    let from_march = i64::from((month + 9) % 12);
    let of_year = (153 * from_march + 2) / 5 + i64::from(day) - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

fn seconds(days: i64, hour: u32, minute: u32, second: u32) -> Option<i64> {
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = days * 86_400 + i64::from(hour * 3600 + minute * 60 + second);
    // 1970 itself is what iperf 2 prints when it has lost the time; and nanoseconds have an end.
    if seconds < 86_400 {
        return None;
    }
    seconds.checked_mul(1_000_000_000)
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
    }

    #[test]
    fn what_is_no_date_is_none() {
        assert_eq!(digits("19700101000000"), None);
        assert_eq!(digits("2026112203"), None);
        assert_eq!(at_start("title:"), None);
        assert_eq!(rfc1123("Sun, 99 Nov 2026 03:33:51 GMT"), None);
    }
}
