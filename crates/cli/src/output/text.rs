//! Quantities and lines as text for people, in at most 80 columns.

use caudal_core::quantity::Unit;
use caudal_core::units::ByteCount;
use caudal_core::warning::Warning;

/// The width text is folded to.
pub const WIDTH: usize = 80;

/// The text of a rate in bit/s.
#[must_use]
pub fn bits(bps: f64) -> String {
    Unit::BitPerSecond.show(bps)
}

/// The text of an amount in bytes.
#[must_use]
pub fn bytes(count: u64) -> String {
    ByteCount::new(count).to_string()
}

/// The text of a time in µs.
#[must_use]
pub fn time_us(us: f64) -> String {
    Unit::Seconds.show(us / 1e6)
}

/// The text of a fraction, in percent.
#[must_use]
pub fn percent(share: f64) -> String {
    Unit::Share.show(share)
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
}
