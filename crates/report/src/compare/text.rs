//! A comparison as text for people.

use caudal_stats::SideSummary;

use super::comparison::{ComparedMetric, Comparison};
use super::format::value_text;

/// The maximum number of metrics shown; JSON has all.
const MAX_SHOWN: usize = 60;

/// Folds a text at blanks into lines of at most 80 columns, the first after `first`, others after `rest`.
fn wrapped(first: &str, rest: &str, text: &str) -> Vec<String> {
    const WIDTH: usize = 80;
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
        if !is_fresh && line.chars().count() + 1 + word.chars().count() > WIDTH {
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

/// The comparison for people, in lines of at most 80 columns.
#[must_use]
pub fn comparison_lines(comparison: &Comparison) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, of) in [("A", &comparison.first), ("B", &comparison.second)] {
        let given = if of.ids.len() == 1 {
            &of.ids[0][..8]
        } else {
            &of.given
        };
        lines.extend(wrapped(
            &format!("{name}  "),
            "   ",
            &format!("{given}, {}", of.what),
        ));
    }
    lines.push(String::new());
    let is_one = comparison.cells.len() == 1;
    for line in &comparison.verdict {
        lines.extend(wrapped("", "  ", line));
    }
    // Differences come first, metrics without a result last.
    let mut cells: Vec<&ComparedMetric> = comparison.cells.iter().collect();
    cells.sort_by_key(|cell| match &cell.result {
        Some(found) if found.differs => 0,
        Some(_) => 1,
        None => 2,
    });
    for cell in cells.iter().take(MAX_SHOWN) {
        if !is_one {
            lines.push(String::new());
            let line = format!("{}: {}", cell.name(), cell.verdict);
            lines.extend(wrapped("", "  ", &line));
        }
        let (Some(first), Some(second), Some(found)) = (&cell.first, &cell.second, &cell.result)
        else {
            continue;
        };
        let side = |name: &str, side: &SideSummary| {
            let sd = side.sd.map_or_else(String::new, |sd| {
                format!(", sd {}", value_text(cell.unit, sd))
            });
            format!(
                "{name} {} (n {}{sd})",
                value_text(cell.unit, side.mean.mean),
                side.n
            )
        };
        lines.extend(wrapped(
            "  ",
            "  ",
            &format!("{}; {}", side("A", first), side("B", second)),
        ));
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
    }
    if comparison.cells.len() > MAX_SHOWN {
        lines.push(format!(
            "… and {} more: see --json",
            comparison.cells.len() - MAX_SHOWN
        ));
    }
    let mut section = |title: &str, entries: Vec<String>| {
        if !entries.is_empty() {
            lines.push(String::new());
            lines.push(title.to_owned());
            for entry in entries {
                lines.extend(wrapped("  ", "    ", &entry));
            }
        }
    };
    section("Notes", comparison.notes.clone());
    let values = |values: &[String]| {
        let shown: Vec<String> = values.iter().take(3).map(|value| brief(value)).collect();
        let more = if values.len() > 3 {
            format!(" and {} more", values.len() - 3)
        } else {
            String::new()
        };
        format!("{}{more}", shown.join(", "))
    };
    let environment = comparison.environment.iter().map(|one| {
        format!(
            "{}: A {}, B {}",
            one.what,
            values(&one.first),
            values(&one.second)
        )
    });
    section("Other conditions that differ", environment.collect());
    let only_in = |name: &str, keys: &[String]| match keys {
        [] => None,
        keys => {
            let more = if keys.len() > 6 {
                format!(" and {} more", keys.len() - 6)
            } else {
                String::new()
            };
            let some: Vec<&str> = keys.iter().take(6).map(String::as_str).collect();
            Some(format!("{name}: {}{more}", some.join(", ")))
        }
    };
    let unmatched = [
        only_in("A", &comparison.unmatched.first),
        only_in("B", &comparison.unmatched.second),
    ];
    section(
        "Only on one side",
        unmatched.into_iter().flatten().collect(),
    );
    lines
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
