//! Findings for a terminal, in lines of 80 columns at most.

use crate::interval_table::Detail;
use crate::text::{WIDTH, indented_within, truncated};
use crate::width::LineWidth;
use caudal_experiment::findings::{CheckedExpectation, Findings, FindingsTable, TableCell};
use unicode_width::UnicodeWidthStr;

/// Maximum width of the head of a row.
const MAX_HEAD: usize = 36;

/// The findings of a study as text: the verdict, the conclusions and what was expected and does not hold; of every detail the tables and
/// everything that was expected too.
#[must_use]
pub fn findings_text(findings: &Findings, detail: Detail, width: LineWidth) -> String {
    let mut lines = vec![findings.title.clone()];
    if let Some(question) = &findings.question {
        lines.extend(indented_within(question, "", "", width));
    }
    lines.push(String::new());
    for sentence in &findings.verdict {
        lines.extend(indented_within(sentence, "* ", "  ", width));
    }
    if !findings.conclusions.is_empty() {
        lines.push(String::new());
        lines.push("Conclusions".to_owned());
        for conclusion in &findings.conclusions {
            if let Some(question) = &conclusion.answers {
                lines.extend(indented_within(question, "  ", "  ", width));
            }
            lines.extend(indented_within(&conclusion.text, "  - ", "    ", width));
        }
    }
    if detail == Detail::Every {
        for table in findings.tables.iter().filter(|table| is_drawn(table)) {
            lines.push(String::new());
            lines.extend(table_lines(table, width));
        }
    }
    let is_shown =
        |checked: &&CheckedExpectation| detail == Detail::Every || checked.holds != Some(true);
    let expectations = || findings.expectations.iter().filter(is_shown);
    if expectations().next().is_some() {
        lines.push(String::new());
        lines.push("Expected".to_owned());
        lines.extend(expectations().flat_map(|checked| expectation_lines(checked, width)));
    }
    if !findings.warnings.is_empty() {
        lines.push(String::new());
        for warning in &findings.warnings {
            lines.extend(indented_within(warning, "warning: ", "  ", width));
        }
    }
    lines.push(String::new());
    let discarded = match findings.discarded {
        0 => String::new(),
        discarded => format!(", {discarded} discarded and repeated"),
    };
    let quick = if findings.quick { " (quick)" } else { "" };
    let end = format!(
        "Study {} {}{quick}: {} trials{discarded}, seed {}, intervals at {} %.",
        findings.name,
        findings.id.chars().take(8).collect::<String>(),
        findings.trials,
        findings.seed,
        findings.confidence * 100.0
    );
    lines.extend(indented_within(&end, "", "", width));
    let has_more = findings.tables.iter().any(is_drawn) || !findings.expectations.is_empty();
    if detail == Detail::Usual && has_more {
        lines.push("Tables, and everything that was expected: -v, or the report.".to_owned());
    }
    lines.push(String::new());
    lines.join("\n")
}

/// `true` for a table that shows something.
const fn is_drawn(table: &FindingsTable) -> bool {
    !table.columns.is_empty()
}

/// The lines of an expectation.
fn expectation_lines(checked: &CheckedExpectation, width: LineWidth) -> Vec<String> {
    let mark = match checked.holds {
        Some(true) => "  yes  ",
        Some(false) => "  NO   ",
        None => "  ?    ",
    };
    let case = checked
        .case
        .as_ref()
        .map_or_else(String::new, |case| format!("{case}: "));
    indented_within(
        &format!("{case}{}", checked.evidence),
        mark,
        "       ",
        width,
    )
}

fn columns(text: &str) -> usize {
    text.width()
}

/// The heads of a table's rows without the values that all of them share; and those values.
fn heads(table: &FindingsTable) -> (Vec<String>, String) {
    let words = |head: &str| head.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let all: Vec<Vec<String>> = table.rows.iter().map(|(head, _)| words(head)).collect();
    let shared = |word: &String| {
        word.contains('=') && all.len() > 1 && all.iter().all(|words| words.contains(word))
    };
    let common: Vec<String> = all
        .first()
        .into_iter()
        .flatten()
        .filter(|word| shared(word))
        .cloned()
        .collect();
    let rest = |words: &Vec<String>| {
        let rest: Vec<&str> = words
            .iter()
            .filter(|word| !shared(word))
            .map(String::as_str)
            .collect();
        rest.join(" ")
    };
    let heads: Vec<String> = all.iter().map(rest).collect();
    if heads.iter().any(String::is_empty) {
        // Nothing would be left to name a row.
        return (
            table.rows.iter().map(|(head, _)| head.clone()).collect(),
            String::new(),
        );
    }
    (heads, common.join(" "))
}

/// A text in lines of at most `max` columns, with further lines indented; a word longer than that is truncated.
fn folded(text: &str, max: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let indent = if lines.is_empty() { "" } else { "  " };
        if line.is_empty() {
            line = truncated(&format!("{indent}{word}"), max).into_owned();
        } else if columns(&line) + 1 + columns(word) <= max {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(std::mem::take(&mut line));
            line = truncated(&format!("  {word}"), max).into_owned();
        }
    }
    lines.push(line);
    lines
}

/// The lines of a table with two levels of heads; the remaining columns of one that is too wide follow below.
fn table_lines(table: &FindingsTable, width: LineWidth) -> Vec<String> {
    let (heads, common) = heads(table);
    let title = match common.as_str() {
        "" => table.title.clone(),
        common => format!("{} ({common})", table.title),
    };
    let mut lines = indented_within(&title, "", "", width);
    let room = width.columns().unwrap_or(WIDTH).min(WIDTH);
    let head = heads.iter().map(|head| columns(head)).max();
    let head = head.unwrap_or(0).clamp(4, MAX_HEAD.min(room / 2));
    let width_of = |column: usize| {
        let cells = table.rows.iter().filter_map(|(_, cells)| cells.get(column));
        let widest = cells
            .map(|cell: &TableCell| columns(&cell.text))
            .max()
            .unwrap_or(0);
        let (metric, which) = &table.columns[column];
        // Any column may be the first below a break, and then has the name of the metric above it.
        widest
            .max(columns(which))
            .max(columns(metric))
            .min(room - head - 2)
    };
    let widths: Vec<usize> = (0..table.columns.len()).map(width_of).collect();
    let mut begun = 0;
    while begun < widths.len() {
        let mut end = begun;
        let mut used = head;
        while end < widths.len() && (end == begun || used + 2 + widths[end] <= room) {
            used += 2 + widths[end];
            end += 1;
        }
        let row = |first: &str, cells: &mut dyn Iterator<Item = String>| {
            let mut line = format!("{:head$}", truncated(first, head));
            for (cell, width) in cells.zip(&widths[begun..end]) {
                line.push_str(&format!(
                    "  {:>width$}",
                    truncated(&cell, *width),
                    width = *width
                ));
            }
            line.trim_end().to_owned()
        };
        let mut last = "";
        let metrics = table.columns[begun..end].iter().map(|(metric, _)| {
            if *metric == last {
                return String::new();
            }
            last = metric;
            metric.clone()
        });
        lines.push(row("", &mut metrics.collect::<Vec<_>>().into_iter()));
        let which = table.columns[begun..end]
            .iter()
            .map(|(_, which)| which.clone());
        lines.push(row("case", &mut which.collect::<Vec<_>>().into_iter()));
        for (name, (_, cells)) in heads.iter().zip(&table.rows) {
            // The values of a name of several lines are in the last one.
            let mut folded = folded(name, head);
            let last = folded.pop().unwrap_or_default();
            lines.extend(folded);
            let mut cells = cells[begun..end].iter().map(|cell| cell.text.clone());
            lines.push(row(&last, &mut cells));
        }
        if end < widths.len() {
            lines.push(String::new());
        }
        begun = end;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(heads: &[&str]) -> FindingsTable {
        let cell = |text: &str| TableCell {
            text: text.to_owned(),
            ..TableCell::default()
        };
        FindingsTable {
            title: "Goodput".to_owned(),
            columns: vec![("tcp.goodput".to_owned(), "observed".to_owned())],
            rows: heads
                .iter()
                .map(|head| ((*head).to_owned(), vec![cell("9.41 Mbit/s")]))
                .collect(),
        }
    }

    #[test]
    fn tables_and_what_holds_are_details() {
        let expectation = |holds: Option<bool>, evidence: &str| CheckedExpectation {
            that: "x".to_owned(),
            case: None,
            holds,
            evidence: evidence.to_owned(),
            because: None,
        };
        let empty: [u8; 0] = [];
        let findings: Findings = serde_json::from_value(serde_json::json!({
            "schema": "caudal.study/1", "id": "1a2b3c4d", "name": "a", "title": "A study", "started": "",
            "command": "", "seed": 1, "quick": false, "complete": true, "confidence": 0.95, "trials": 3,
            "discarded": 0, "verdict": empty, "cases": empty, "published": empty, "contention": empty,
            "figures": empty, "conclusions": empty, "environment": {}, "warnings": empty,
            "tables": [table(&["load=40%"])],
            "expectations": [
                expectation(Some(true), "as expected"),
                expectation(Some(false), "not as expected"),
                expectation(None, "too few trials"),
            ],
        }))
        .unwrap();
        let usual = findings_text(&findings, Detail::Usual, LineWidth::UNLIMITED);
        assert!(usual.contains("  NO   not as expected") && usual.contains("too few trials"));
        assert!(usual.contains("-v, or the report"));
        let every = findings_text(&findings, Detail::Every, LineWidth::UNLIMITED);
        for part in ["Goodput", "  yes  as expected"] {
            assert!(every.contains(part) && !usual.contains(part), "{part}");
        }
        assert!(!every.contains("-v, or"));
        for columns in [40, 60] {
            let narrow = findings_text(&findings, Detail::Every, LineWidth::of_columns(columns));
            let too_long = narrow.lines().find(|line| line.width() > columns);
            assert_eq!(too_long, None, "{columns}");
        }
    }

    #[test]
    fn values_that_all_rows_share_are_in_the_title_once() {
        let lines = table_lines(
            &table(&[
                "one congestion=cubic load=40%",
                "one congestion=cubic load=400%",
            ]),
            LineWidth::UNLIMITED,
        );
        assert_eq!(
            lines,
            [
                "Goodput (congestion=cubic)",
                "               tcp.goodput",
                "case              observed",
                "one load=40%   9.41 Mbit/s",
                "one load=400%  9.41 Mbit/s",
            ]
        );
    }

    #[test]
    fn a_row_keeps_its_name_where_nothing_else_would_name_it() {
        let lines = table_lines(&table(&["load=40%", "load=40%"]), LineWidth::UNLIMITED);
        assert!(lines[3].starts_with("load=40%"), "{lines:?}");
        assert_eq!(
            table_lines(&table(&["load=40%"]), LineWidth::UNLIMITED)[0],
            "Goodput"
        );
    }

    #[test]
    fn a_long_name_is_folded_and_loses_nothing() {
        let name = "three flows from one host congestion=cubic udp_load=400% duplex=half";
        let lines = table_lines(&table(&[name]), LineWidth::UNLIMITED);
        assert!(lines.iter().all(|line| columns(line) <= WIDTH), "{lines:?}");
        let words: Vec<&str> = lines[3..]
            .iter()
            .flat_map(|line| line.split_whitespace())
            .collect();
        assert!(words.join(" ").starts_with(name), "{lines:?}");
    }
}
