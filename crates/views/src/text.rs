//! Quantities and lines as text for people, folded to a width.

use super::width::{LineWidth, USUAL_WIDTH};
use caudal_core::quantity::{EstimateInUnit, Unit};
use caudal_core::run::Run;
use caudal_core::units::ByteCount;
use caudal_core::warning::Warning;
use caudal_stats::{Estimate, IntervalMethod};
use std::borrow::Cow;
use std::time::Duration;
use textwrap::{WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The width that tables are fitted to.
pub const WIDTH: usize = USUAL_WIDTH;

/// An estimate in a sentence: its mean, and its interval in parentheses, the minimum and maximum of a few trials, or that the interval is
/// unreliable where `is_trusted` denies that it rests on enough values. Both parts have the digits that the interval warrants.
#[must_use]
pub fn mean_and_interval(
    estimate: &Estimate,
    unit: Unit,
    is_trusted: Option<bool>,
) -> (String, String) {
    if estimate.method == IntervalMethod::BatchMeansT && is_trusted == Some(false) {
        let doubt = format!("; interval unreliable: {} samples", estimate.n);
        return (unit.show(estimate.mean), doubt);
    }
    let shown = EstimateInUnit::new(estimate, unit);
    let interval = match estimate.method {
        IntervalMethod::Range => shown
            .ends_in_unit_of_mean()
            .map(|(low, high)| format!(" (min {low}, max {high})")),
        _ => shown
            .confidence_interval()
            .map(|interval| format!(" ({interval})")),
    };
    (shown.mean(), interval.unwrap_or_default())
}

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

/// `a`, `a and b`, `a, b and c`.
#[must_use]
pub fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// A count with its noun.
#[must_use]
pub fn counted(number: u64, one: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    match (number == 1, one.strip_suffix('y')) {
        (false, Some(stem)) if !one.ends_with("ay") => format!("{number} {stem}ies"),
        _ => format!("{number} {one}{ending}"),
    }
}

/// Folds a line to a width at blanks, later lines indented by `indent`; not at all where there is none. A word longer than a line
/// stays whole, and so do a value and its unit.
#[must_use]
pub fn fold(line: &str, indent: usize, width: LineWidth) -> String {
    fold_to(width.columns().unwrap_or(usize::MAX), line, indent)
}

/// The same, to a width in columns.
fn fold_to(width: usize, line: &str, indent: usize) -> String {
    let lead = " ".repeat(line.len() - line.trim_start().len());
    let indent = " ".repeat(indent);
    let options = wrapping(width)
        .initial_indent(&lead)
        .subsequent_indent(&indent);
    textwrap::fill(&single_spaced(line), options).replace(NO_BREAK, " ")
}

/// A line that fits [`WIDTH`] as it is; a longer one folded to a width, later lines indented by `indent`.
#[must_use]
pub fn within(line: &str, indent: usize, width: LineWidth) -> String {
    if line.chars().count() <= WIDTH {
        line.to_owned()
    } else {
        fold(line, indent, width)
    }
}

/// An approximate time: `40 s`, `3 min`, `2 h 10 min`.
#[must_use]
pub fn about(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    match seconds {
        0..100 => format!("{seconds} s"),
        100..5700 => format!("{} min", (seconds + 30) / 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// The lines of a text, each of at most `width` columns unless a single word is longer.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let text = single_spaced(text);
    let lines = textwrap::wrap(&text, wrapping(width)).into_iter();
    lines
        .map(|line| line.replace(NO_BREAK, " "))
        .filter(|line| !line.is_empty())
        .collect()
}

/// The lines of a text in at most [`WIDTH`] columns that fit this width as well, the first and the others with these beginnings; a word
/// longer than a line is split.
#[must_use]
pub fn indented_within(text: &str, first: &str, others: &str, width: LineWidth) -> Vec<String> {
    let text = single_spaced(text);
    let columns = width.columns().unwrap_or(WIDTH).min(WIDTH);
    let options = wrapping(columns)
        .initial_indent(first)
        .subsequent_indent(others)
        .break_words(true);
    let lines = textwrap::wrap(&text, options).into_iter();
    lines
        .map(|line| line.trim_end().replace(NO_BREAK, " "))
        .collect()
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

/// A blank at which no line is broken, U+00A0.
const NO_BREAK: &str = "\u{a0}";

/// The words of a text with a blank between each two, and no break within a value and its unit.
fn single_spaced(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut before = "";
    for word in text.split_whitespace() {
        if !before.is_empty() {
            joined += if is_value(before) && is_unit(word) {
                NO_BREAK
            } else {
                " "
            };
        }
        joined += word;
        before = word;
    }
    joined
}

/// `true` for a word that ends in a number.
fn is_value(word: &str) -> bool {
    word.ends_with(|c: char| c.is_ascii_digit())
}

/// `true` for a unit, with the punctuation after it.
fn is_unit(word: &str) -> bool {
    const UNITS: [&str; 11] = [
        "%",
        "B",
        "s",
        "ns",
        "µs",
        "ms",
        "min",
        "h",
        "bit/s",
        "datagrams",
        "segments",
    ];
    let word = word.trim_end_matches([',', ';', '.', ':', ')']);
    let without_prefix = word.strip_prefix(['k', 'K', 'M', 'G', 'T']).unwrap_or(word);
    UNITS.contains(&word) || matches!(without_prefix, "B" | "bit/s" | "iB")
}

/// Lines are filled one after another and broken at blanks only.
fn wrapping<'a>(width: usize) -> textwrap::Options<'a> {
    textwrap::Options::new(width)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .break_words(false)
}

/// The warnings of a run, each with its remedy.
#[must_use]
pub fn warnings(run: &Run, width: LineWidth) -> Vec<String> {
    let mut shown: Vec<(String, &Warning)> = Vec::new();
    for warning in &run.warnings {
        let message = warning.message.to_string();
        let is_alike = |(_, before): &&mut (String, &Warning)| {
            before.code == warning.code && before.remedy == warning.remedy
        };
        let joined = shown.iter_mut().rev().find(is_alike).and_then(|before| {
            let joined = of_both_directions(&before.0, &message)?;
            before.0 = joined;
            Some(())
        });
        if joined.is_none() {
            shown.push((message, warning));
        }
    }
    let line = |(message, warning): &(String, &Warning)| match warning.remedy.is_empty() {
        true => format!("warning: {message}"),
        false => format!("warning: {message}; {}", warning.remedy),
    };
    let lines = shown.iter().map(line);
    lines.map(|line| fold(&line, 4, width)).collect()
}

/// What is said of the upload and of the download, as one sentence; `None` where the two differ in more than one word.
fn of_both_directions(upload: &str, download: &str) -> Option<String> {
    let up: Vec<&str> = upload.strip_prefix("upload: ")?.split(' ').collect();
    let down: Vec<&str> = download.strip_prefix("download: ")?.split(' ').collect();
    if up.len() != down.len() {
        return None;
    }
    let differing = (0..up.len()).filter(|&at| up[at] != down[at]);
    let differing: Vec<usize> = differing.collect();
    let mut words: Vec<String> = up.iter().map(|&word| word.to_owned()).collect();
    match differing[..] {
        [] => {}
        [at] => {
            let closing = |word: char| matches!(word, ')' | ',' | ';' | '.');
            words[at] = format!("{} and {}", up[at].trim_end_matches(closing), down[at]);
        }
        _ => return None,
    }
    Some(format!("upload and download: {}", words.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_folded_at_words() {
        let folded = fold_to(80, &"word ".repeat(40), 4);
        assert!(folded.lines().all(|line| line.chars().count() <= 80));
        assert!(
            folded
                .lines()
                .skip(1)
                .all(|line| line.starts_with("    word"))
        );
    }

    #[test]
    fn nothing_is_broken_within_a_value_and_its_unit() {
        let line = "a rate of 9.28 Mbit/s, 5 ± 3 ms, 12 %; 2 kB of 7 KiB";
        for width in 8..60 {
            let folded = fold_to(width, line, 2);
            for whole in ["9.28 Mbit/s,", "3 ms,", "12 %;", "2 kB", "7 KiB"] {
                assert!(folded.contains(whole), "{width}: {folded}");
            }
            assert!(!folded.contains(NO_BREAK));
        }
        let values: Vec<String> = wrap("about 12 Mbit/s", 7);
        assert_eq!(values, ["about", "12 Mbit/s"]);
    }

    #[test]
    fn what_is_said_of_both_directions_is_said_once() {
        let joined = of_both_directions(
            "upload: the rate kept rising (p = 4.8e-4)",
            "download: the rate kept rising (p = 3.3e-5)",
        );
        let expected = "upload and download: the rate kept rising (p = 4.8e-4 and 3.3e-5)";
        assert_eq!(joined.as_deref(), Some(expected));
        let same = of_both_directions("upload: few samples", "download: few samples");
        assert_eq!(same.as_deref(), Some("upload and download: few samples"));
        for (upload, download) in [
            ("upload: 3 of 9", "download: 4 of 8"),
            ("upload: late", "download: late by far"),
            ("upload: late", "upload: late"),
            ("late", "late"),
        ] {
            assert_eq!(of_both_directions(upload, download), None, "{upload}");
        }
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(truncated("goodput", 7), "goodput");
        assert_eq!(truncated("goodput", 5), "good…");
        assert_eq!(truncated("東京大阪", 6), "東京…");
        assert_eq!(wrap("東京 大阪", 8), ["東京", "大阪"]);
        assert_eq!(wrap("", 8), [""; 0]);
    }

    #[test]
    fn times_are_rounded_to_a_unit_that_people_use() {
        for (seconds, expected) in [
            (0, "0 s"),
            (99, "99 s"),
            (100, "2 min"),
            (5699, "95 min"),
            (7800, "2 h 10 min"),
        ] {
            assert_eq!(about(Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn long_keys_are_truncated() {
        assert_eq!(truncated("congestion=bbr", 34), "congestion=bbr");
        assert_eq!(truncated("congestion=bbr", 5), "cong…");
    }

    #[test]
    fn lists_and_counts_read_like_prose() {
        let words =
            |all: &[&str]| listed(&all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>());
        assert_eq!(words(&["a"]), "a");
        assert_eq!(words(&["a", "b"]), "a and b");
        assert_eq!(words(&["a", "b", "c"]), "a, b and c");
        assert_eq!(counted(1, "case"), "1 case");
        assert_eq!(counted(2, "retry"), "2 retries");
    }
}
