//! Quantities and lines as text for people, in at most 80 columns.

use caudal_core::quantity::Unit;
use caudal_core::units::ByteCount;
use caudal_core::warning::Warning;
use std::borrow::Cow;
use textwrap::{WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

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

/// Folds a line to [`WIDTH`] columns at blanks, later lines indented by `indent`. A word longer than a line stays whole.
#[must_use]
pub fn fold(line: &str, indent: usize) -> String {
    let lead = " ".repeat(line.len() - line.trim_start().len());
    let indent = " ".repeat(indent);
    let options = wrapping(WIDTH)
        .initial_indent(&lead)
        .subsequent_indent(&indent);
    textwrap::fill(&single_spaced(line), options)
}

/// The lines of a text, each of at most `width` columns unless a single word is longer.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let text = single_spaced(text);
    let lines = textwrap::wrap(&text, wrapping(width)).into_iter();
    lines
        .map(Cow::into_owned)
        .filter(|line| !line.is_empty())
        .collect()
}

/// The lines of a text in at most [`WIDTH`] columns, the first and the others with these beginnings; a word longer than a line is
/// split.
#[must_use]
pub fn indented(text: &str, first: &str, others: &str) -> Vec<String> {
    let text = single_spaced(text);
    let options = wrapping(WIDTH)
        .initial_indent(first)
        .subsequent_indent(others)
        .break_words(true);
    let lines = textwrap::wrap(&text, options).into_iter();
    lines.map(|line| line.trim_end().to_owned()).collect()
}

/// The text, truncated to `max` columns with an ellipsis at its end.
#[must_use]
pub fn truncated(text: &str, max: usize) -> Cow<'_, str> {
    if text.width() <= max {
        return text.into();
    }
    let mut end = 0;
    let mut columns = 0;
    for (at, c) in text.char_indices() {
        columns += c.width().unwrap_or(0);
        if columns >= max {
            break;
        }
        end = at + c.len_utf8();
    }
    format!("{}…", text[..end].trim_end()).into()
}

fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Lines are filled one after another and broken at blanks only.
fn wrapping<'a>(width: usize) -> textwrap::Options<'a> {
    textwrap::Options::new(width)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .break_words(false)
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
    fn wide_characters_take_two_columns() {
        assert_eq!(truncated("goodput", 7), "goodput");
        assert_eq!(truncated("goodput", 5), "good…");
        assert_eq!(truncated("東京大阪", 6), "東京…");
        assert_eq!(wrap("東京 大阪", 8), ["東京", "大阪"]);
        assert_eq!(wrap("", 8), [""; 0]);
    }
}
