//! The identity of a run: its name, its date and the command line that repeats it.

use caudal_core::run::{RunHeader, SCHEMA, Tool};

/// The program that runs.
#[must_use]
pub fn this_tool() -> Tool {
    Tool {
        name: "caudal".to_owned(),
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        compatible_with: None,
    }
}

/// A run that has been started.
#[derive(Debug, Clone)]
pub struct StartedRun {
    /// Its identity.
    pub header: RunHeader,
    /// The time it was started, ns since 1970.
    pub started_ns: u64,
}

impl StartedRun {
    /// A run that starts now.
    #[must_use]
    pub fn now() -> Self {
        let started_ns = caudal_sys::clock::realtime_ns();
        Self {
            header: RunHeader {
                schema: SCHEMA.to_owned(),
                id: new_id(),
                started: rfc3339(started_ns),
                tool: this_tool(),
                command: Some(command_line()),
            },
            started_ns,
        }
    }
}

/// A name for a run: random, 32 hexadecimal digits.
#[must_use]
pub fn new_id() -> String {
    let mut id = [0_u8; 16];
    let _ = std::fs::File::open("/dev/urandom")
        .and_then(|mut source| std::io::Read::read_exact(&mut source, &mut id));
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The command line of this program, quoted for a shell.
#[must_use]
pub fn command_line() -> String {
    let words = std::env::args_os().skip(1);
    let words: Vec<String> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    command_of(words.iter().map(String::as_str))
}

/// A command line of this program with these words, quoted for a shell.
#[must_use]
pub fn command_of<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let mut line = "caudal".to_owned();
    for word in words {
        line.push(' ');
        line.push_str(&quoted(word));
    }
    line
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A moment of the wall clock as RFC 3339 in UTC, to the millisecond.
#[must_use]
pub fn rfc3339(ns: u64) -> String {
    let (seconds, millis) = (ns / 1_000_000_000, ns / 1_000_000 % 1000);
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Civil date from days since 1970-01-01, by counting in eras of 400 years from 0000-03-01.
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{millis:03}Z",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_in_utc() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(951_782_400_000_000_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(
            rfc3339(1_795_295_439_123_000_000),
            "2026-11-21T21:10:39.123Z"
        );
    }

    #[test]
    fn words_a_shell_would_split_are_quoted() {
        assert_eq!(quoted("100M"), "100M");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
