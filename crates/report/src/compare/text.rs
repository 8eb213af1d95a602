//! A comparison as text for people.

use caudal_core::quantity::Unit;
use caudal_stats::SideSummary;
use caudal_views::interval_table::Detail;

use super::comparison::{ComparedMetric, Comparison};
use super::format::{change_text, value_text};

/// Maximum number of metrics shown; JSON has all.
const MAX_SHOWN: usize = 60;
/// Maximum width of the column of names.
const MAX_NAME: usize = 24;
/// Maximum width of a line.
const MAX_LINE: usize = 80;

/// Folds a text at blanks into lines of at most 80 columns, the first after `first`, others after `rest`.
fn wrapped(first: &str, rest: &str, text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut is_fresh = true;
    // A number and its unit stay together.
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match words.last_mut() {
            Some(last) if last.ends_with(|c: char| c.is_ascii_digit()) && word.len() < 10 => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    for word in &words {
        if !is_fresh && line.chars().count() + 1 + word.chars().count() > MAX_LINE {
            lines.push(std::mem::replace(&mut line, rest.to_owned()));
            is_fresh = true;
        }
        if !is_fresh {
            line.push(' ');
        }
        line.push_str(word);
        is_fresh = false;
    }
    lines.push(line);
    lines
}

/// The comparison for people, in lines of at most 80 columns: of every metric the change, then what can be said of it; with statistics
/// where every detail is asked for.
#[must_use]
pub fn comparison_lines(comparison: &Comparison, detail: Detail) -> Vec<String> {
    let mut lines = side_lines(comparison);
    lines.push(String::new());
    for line in &comparison.verdict {
        lines.extend(wrapped("", "  ", line));
    }
    let is_one = comparison.cells.len() == 1;
    let shown = differences_first(&comparison.cells);
    let shown = shown.get(..MAX_SHOWN).unwrap_or(&shown);
    let widest = shown.iter().map(|cell| cell.name().chars().count()).max();
    let room = widest.unwrap_or(0).min(MAX_NAME);
    lines.push(String::new());
    for cell in shown {
        lines.extend(change_line(cell, room));
        // The verdict on a single metric is that of the comparison, and that of single runs is the same for all.
        let is_said = is_one || cell.is_of_single_runs();
        if !is_said {
            lines.extend(wrapped("  ", "  ", &cell.verdict));
        }
        if detail == Detail::Every {
            lines.extend(metric_lines(cell));
        }
    }
    if comparison.cells.len() > MAX_SHOWN {
        lines.push(format!(
            "… and {} more, which the JSON output lists",
            comparison.cells.len() - MAX_SHOWN
        ));
    }
    let environment = comparison.environment.iter().map(|one| {
        format!(
            "{}: A {}, B {}",
            one.name(),
            first_values(&one.in_text(&one.first)),
            first_values(&one.in_text(&one.second))
        )
    });
    let unmatched = [
        only_in("A", &comparison.unmatched.first),
        only_in("B", &comparison.unmatched.second),
    ];
    let unmatched: Vec<String> = unmatched.into_iter().flatten().collect();
    lines.extend(section_lines("Notes", &comparison.notes));
    lines.extend(section_lines(
        "Other conditions that differ",
        &environment.collect::<Vec<String>>(),
    ));
    lines.extend(section_lines("Only on one side", &unmatched));
    lines
}

/// The change of a metric: both means, the difference with an arrow, and its part of A's mean.
fn change_line(cell: &ComparedMetric, room: usize) -> Vec<String> {
    let (Some(first), Some(second)) = (&cell.first, &cell.second) else {
        return Vec::new();
    };
    let show = |value: f64| value_text(cell.unit, value);
    let line = format!(
        "{:<room$}  {} → {}  {}",
        cell.name(),
        show(first.mean.mean),
        show(second.mean.mean),
        change_text(cell.unit, first, second)
    );
    if line.chars().count() <= MAX_LINE {
        return vec![line];
    }
    wrapped("", "    ", &line)
}

/// The runs or studies compared: A, then B.
fn side_lines(comparison: &Comparison) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, side) in [("A", &comparison.first), ("B", &comparison.second)] {
        let given = if side.ids.len() == 1 {
            &side.ids[0][..8]
        } else {
            &side.given
        };
        lines.extend(wrapped(
            &format!("{name}  "),
            "   ",
            &format!("{given}, {}", side.what),
        ));
    }
    lines
}

/// The metrics: first those that differ, last those without a result.
pub(super) fn differences_first(cells: &[ComparedMetric]) -> Vec<&ComparedMetric> {
    let mut cells: Vec<&ComparedMetric> = cells.iter().collect();
    cells.sort_by_key(|cell| match &cell.result {
        Some(found) if found.differs => 0,
        Some(_) => 1,
        None => 2,
    });
    cells
}

/// The two means of a metric and the tests of their difference; nothing without a result.
fn metric_lines(cell: &ComparedMetric) -> Vec<String> {
    let (Some(first), Some(second), Some(found)) = (&cell.first, &cell.second, &cell.result) else {
        return Vec::new();
    };
    let mut lines = wrapped(
        "  ",
        "  ",
        &format!(
            "{}; {}",
            mean_text("A", cell.unit, first),
            mean_text("B", cell.unit, second)
        ),
    );
    let mut how = format!(
        "Welch t {:.2}, df {:.1}, p {}; Mann-Whitney p {}",
        found.t,
        found.df,
        probability(found.p),
        probability(found.ranks.p)
    );
    if found.adjusted_p != found.p {
        how += &format!("; adjusted p {}", probability(found.adjusted_p));
    }
    if let Some(shift) = found.shift {
        how += &format!("; Hodges-Lehmann shift {}", value_text(cell.unit, shift));
    }
    lines.extend(wrapped("  ", "  ", &how));
    lines
}

/// The mean of a side, with the number of its values and their standard deviation.
fn mean_text(name: &str, unit: Option<Unit>, side: &SideSummary) -> String {
    let sd = side
        .sd
        .map_or_else(String::new, |sd| format!(", sd {}", value_text(unit, sd)));
    format!(
        "{name} {} (n {}{sd})",
        value_text(unit, side.mean.mean),
        side.n
    )
}

/// A titled list after an empty line; nothing for an empty list.
fn section_lines(title: &str, entries: &[String]) -> Vec<String> {
    if entries.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), title.to_owned()];
    for entry in entries {
        lines.extend(wrapped("  ", "    ", entry));
    }
    lines
}

/// The first three of the values, cut, and the number of the others.
fn first_values(values: &[String]) -> String {
    let shown: Vec<String> = values.iter().take(3).map(|value| brief(value)).collect();
    format!("{}{}", shown.join(", "), and_more(values.len(), 3))
}

/// The first six keys that only one side has, and the number of the others; `None` without keys.
fn only_in(name: &str, keys: &[String]) -> Option<String> {
    let shown: Vec<&str> = keys.iter().take(6).map(String::as_str).collect();
    (!shown.is_empty()).then(|| format!("{name}: {}{}", shown.join(", "), and_more(keys.len(), 6)))
}

/// The number of entries beyond those shown, as the end of a list.
fn and_more(count: usize, shown: usize) -> String {
    if count > shown {
        format!(" and {} more", count - shown)
    } else {
        String::new()
    }
}

/// A value cut to 40 characters.
fn brief(value: &str) -> String {
    const MAX_TAKEN: usize = 40;
    if value.chars().count() <= MAX_TAKEN {
        return value.to_owned();
    }
    value.chars().take(MAX_TAKEN - 1).chain(['…']).collect()
}

/// A probability with four digits.
fn probability(p: f64) -> String {
    if p < 0.0001 {
        "< 0.0001".to_owned()
    } else {
        format!("{p:.4}")
    }
}
