//! Quantities and lines as text for people, in at most 80 columns.

use caudal_core::units::{BitRate, ByteCount};
use caudal_core::warning::Warning;
use caudal_stats::{Estimate, IntervalMethod};

/// The width text is folded to.
pub const WIDTH: usize = 80;

/// A rate in words.
#[must_use]
pub fn bits(bps: f64) -> String {
    BitRate::from_f64(bps).map_or_else(|| "-".to_owned(), |rate| rate.to_string())
}

/// An amount in words.
#[must_use]
pub fn bytes(count: u64) -> String {
    ByteCount::new(count).to_string()
}

/// A time of so many µs in words, in the unit that suits it.
#[must_use]
pub fn time_us(us: f64) -> String {
    match us.abs() {
        below if below < 1.0 => format!("{us:.2} µs"),
        below if below < 1e3 => format!("{us:.1} µs"),
        below if below < 1e6 => format!("{:.2} ms", us / 1e3),
        _ => format!("{:.2} s", us / 1e6),
    }
}

/// A share in words: enough digits to tell it from nothing.
#[must_use]
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent.abs() {
        0.0 => "0 %".to_owned(),
        below if below < 0.01 => format!("{percent:.4} %"),
        below if below < 1.0 => format!("{percent:.3} %"),
        below if below < 10.0 => format!("{percent:.2} %"),
        _ => format!("{percent:.1} %"),
    }
}

/// An estimate with its interval and what that rests on.
#[must_use]
pub fn estimate(estimate: &Estimate, shown: impl Fn(f64) -> String) -> String {
    let method = match estimate.method {
        IntervalMethod::SingleValue => {
            return format!("{} (one value: no interval)", shown(estimate.mean));
        }
        IntervalMethod::BatchMeansT => format!("batch means over {} intervals", estimate.n),
        IntervalMethod::IndependentRunsT => format!("Student's t over {} runs", estimate.n),
        IntervalMethod::Wilson => "Wilson".to_owned(),
        _ => format!("n = {}", estimate.n),
    };
    format!(
        "{} ({:.4} % interval {} to {}, {method})",
        shown(estimate.mean),
        Trimmed(estimate.confidence * 100.0),
        shown(estimate.low),
        shown(estimate.high)
    )
}

/// A number without the zeros behind its last digit.
struct Trimmed(f64);

impl std::fmt::Display for Trimmed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = format!("{:.4}", self.0);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Folds a line to [`WIDTH`] columns, later lines indented by `indent`.
#[must_use]
pub fn fold(line: &str, indent: usize) -> String {
    let mut folded = String::new();
    let mut column = 0;
    let lead = line.len() - line.trim_start().len();
    for (nth, word) in line.split_whitespace().enumerate() {
        let width = word.chars().count();
        if nth == 0 {
            folded.push_str(&" ".repeat(lead));
            column = lead;
        } else if column + 1 + width > WIDTH {
            folded.push('\n');
            folded.push_str(&" ".repeat(indent));
            column = indent;
        } else {
            folded.push(' ');
            column += 1;
        }
        folded.push_str(word);
        column += width;
    }
    folded
}

/// A warning with its remedy.
#[must_use]
pub fn warning(warning: &Warning) -> String {
    fold(
        &format!("warning: {}; {}", warning.message, warning.remedy),
        4,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_folded_at_words() {
        let folded = fold(&"word ".repeat(40), 4);
        assert!(folded.lines().all(|line| line.chars().count() <= WIDTH));
        assert!(
            folded
                .lines()
                .skip(1)
                .all(|line| line.starts_with("    word"))
        );
    }

    #[test]
    fn shares_keep_enough_digits_to_tell_them_from_nothing() {
        let cases = [
            (0.0, "0 %"),
            (0.00001, "0.0010 %"),
            (0.005, "0.500 %"),
            (0.0512, "5.12 %"),
            (0.853, "85.3 %"),
        ];
        for (share, text) in cases {
            assert_eq!(percent(share), text);
        }
    }
}
