//! Numbers, lists and comparisons in words.

pub use caudal_views::text::{counted as count, listed as list, mean_and_interval};

use caudal_core::quantity::Unit;
use caudal_plot::AxisQuantity;
use caudal_stats::Estimate;

/// The unit of a name, as JSON writes it; a bare ratio where the name is none.
#[must_use]
pub fn unit(name: &str) -> Unit {
    Unit::ALL
        .into_iter()
        .find(|unit| unit.name() == name)
        .unwrap_or(Unit::Ratio)
}

/// The quantity of an axis whose values have this unit.
#[must_use]
pub fn quantity(name: &str) -> AxisQuantity {
    match unit(name) {
        Unit::BitPerSecond => AxisQuantity::Rate,
        Unit::Bytes => AxisQuantity::Bytes,
        Unit::Seconds => AxisQuantity::Seconds,
        Unit::Share => AxisQuantity::Percent,
        _ => AxisQuantity::Number,
    }
}

/// A value with its unit, with the digits that it has in a terminal and without zeros at the end of a round number.
#[must_use]
pub fn about(value: f64, unit: Unit) -> String {
    let shown = match unit {
        // Counts are whole numbers, but their means are not.
        Unit::Segments | Unit::Timeouts | Unit::Frames | Unit::Messages | Unit::Datagrams
            if value.abs() < 1e4 =>
        {
            let digits = if value.fract() == 0.0 || value.abs() >= 100.0 {
                0
            } else {
                1
            };
            return format!("{value:.digits$} {}", unit.name());
        }
        _ => unit.show(value),
    };
    let (number, rest) = shown.split_once(' ').unwrap_or((&shown, ""));
    // What was measured keeps its digits, what is a round number does not.
    if !is_round(value) {
        return shown;
    }
    let number = if number.contains('.') && !number.contains('e') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    };
    if rest.is_empty() {
        number.to_owned()
    } else {
        format!("{number} {rest}")
    }
}

/// `true` for a value of at most three significant digits.
fn is_round(value: f64) -> bool {
    if value == 0.0 || !value.is_finite() {
        return true;
    }
    let power = 10_f64.powi(2 - value.abs().log10().floor() as i32);
    let scaled = value * power;
    !scaled.is_finite() || (scaled - scaled.round()).abs() < 1e-6
}

/// Two values of one unit, the unit once where it is the same: `0.4 to 235 Mbit/s`.
#[must_use]
pub fn pair(from: f64, to: f64, unit: Unit, between: &str) -> String {
    let (from, to) = (about(from, unit), about(to, unit));
    match (from.rsplit_once(' '), to.rsplit_once(' ')) {
        (Some((number, one)), Some((_, other))) if one == other => {
            format!("{number} {between} {to}")
        }
        _ => format!("{from} {between} {to}"),
    }
}

/// The interval of an estimate in words; `None` of a single value, or where it is none.
#[must_use]
pub fn interval(estimate: &Estimate, unit: Unit) -> Option<String> {
    (estimate.confidence > 0.0).then(|| span(estimate.low, estimate.high, unit))
}

/// Two ends of an interval.
#[must_use]
pub fn span(low: f64, high: f64, unit: Unit) -> String {
    let text = pair(low, high, unit, "–");
    // Between bare numbers no blanks; between numbers with different units some.
    match text.split_once(" – ") {
        Some((from, to)) if !from.contains(' ') => format!("{from}–{to}"),
        _ => text,
    }
}

/// A difference as a signed percentage.
#[must_use]
pub fn percent(part: f64) -> String {
    if !part.is_finite() {
        return "–".to_owned();
    }
    let percent = part * 100.0;
    if percent.abs() >= 1000.0 {
        return format!("×{:.0}", part + 1.0);
    }
    let digits = usize::from(percent.abs() < 9.95);
    let text = format!("{percent:+.digits$} %");
    match text.as_str() {
        "+0.0 %" | "-0.0 %" => "0 %".to_owned(),
        _ => text.replace('-', "−"),
    }
}

/// A count with what so many do: `1 holds`, `2 hold`.
#[must_use]
pub fn does(number: u64, verb: &str) -> String {
    let ending = if number == 1 { "s" } else { "" };
    format!("{number} {verb}{ending}")
}

/// A metric for people: `tcp goodput` of `tcp.goodput`.
#[must_use]
pub fn metric(name: &str) -> String {
    name.replace(['.', '_'], " ")
}

/// The flow or link a metric is of, and its last part.
#[must_use]
pub fn parts(metric: &str) -> (&str, &str) {
    metric.rsplit_once('.').unwrap_or(("", metric))
}

/// A confidence as a percentage without zeros behind the point.
#[must_use]
pub fn level(confidence: f64) -> String {
    let text = format!("{:.3}", confidence * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A sentence with a capital letter at its beginning, unless that is a name, and a stop at its end.
#[must_use]
pub fn sentence(text: &str) -> String {
    let word = text.split(' ').next().unwrap_or("");
    let rest = &text[word.len()..];
    let first = match word {
        "tcp" | "udp" | "rtt" => word.to_uppercase(),
        "tcp's" => "TCP's".to_owned(),
        "udp's" => "UDP's".to_owned(),
        name if name
            .chars()
            .all(|c| c.is_alphabetic() || "'’,:;".contains(c)) =>
        {
            let mut chars = name.chars();
            let first = chars.next().map(|c| c.to_uppercase().collect::<String>());
            first.unwrap_or_default() + chars.as_str()
        }
        name => name.to_owned(),
    };
    let stop = if text.ends_with(['.', '?', '!']) {
        ""
    } else {
        "."
    };
    format!("{first}{rest}{stop}")
}

/// The text with a replacement character for each that XML forbids (XML 1.0 section 2.2).
#[must_use]
pub fn printable(text: &str) -> String {
    let is_forbidden = |c: char| match c {
        '\n' | '\t' => false,
        '\u{fffe}' | '\u{ffff}' => true,
        c => c.is_control(),
    };
    text.replace(is_forbidden, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_have_the_digits_of_a_terminal_and_say_a_unit_once() {
        for (value, unit, words) in [
            (235_123_456.0, Unit::BitPerSecond, "235.1 Mbit/s"),
            (400_000.0, Unit::BitPerSecond, "400 kbit/s"),
            (0.0123, Unit::Share, "1.23 %"),
            (1.0, Unit::Share, "100 %"),
            (0.001_234, Unit::Seconds, "1.234 ms"),
            (0.0, Unit::BitPerSecond, "0 bit/s"),
            (12.5, Unit::Segments, "12.5 segments"),
            (0.987_65, Unit::Ratio, "0.9877"),
            (7_400_312.0, Unit::BitPerSecond, "7.400 Mbit/s"),
            (7_400_000.0, Unit::BitPerSecond, "7.4 Mbit/s"),
        ] {
            assert_eq!(about(value, unit), words);
        }
        let pairs = [
            (235.4e6, 1e6, "235.4 to 1 Mbit/s"),
            (235e6, 4e5, "235 Mbit/s to 400 kbit/s"),
        ];
        for (from, to, words) in pairs {
            assert_eq!(pair(from, to, Unit::BitPerSecond, "to"), words);
        }
    }

    #[test]
    fn differences_carry_their_sign() {
        for (part, words) in [
            (0.052, "+5.2 %"),
            (-0.5, "−50 %"),
            (0.0, "0 %"),
            (99.0, "×100"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(percent(part), words);
        }
    }

    #[test]
    fn a_verb_agrees_with_its_count() {
        assert_eq!(does(1, "hold"), "1 holds");
        assert_eq!(does(2, "hold"), "2 hold");
    }
}
