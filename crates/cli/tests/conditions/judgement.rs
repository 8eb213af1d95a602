//! What came out of a cell held against what must.

use crate::carrying_out::Observed;
use crate::condition::{Case, Quantities};
use serde_json::Value;

/// What no output has, whatever the condition.
const NEVER: [&str; 3] = ["panicked", "RUST_BACKTRACE", "with overflow"];
/// How much `…` in a text stands for, bytes.
const MAX_GAP: usize = 60;

/// Everything that is not as it must be; empty where all is.
pub fn faults(case: &Case, observed: &Observed, quantities: &Quantities) -> Vec<String> {
    let Observed { ended, document } = observed;
    let expected = &case.expected;
    let mut faults = Vec::new();
    let code = expected.code.unwrap_or(0);
    if ended.code != Some(code) {
        faults.push(format!("exit code {:?} in place of {code}", ended.code));
    }
    let output = unfolded(&format!("{}\n{}", ended.stdout, ended.stderr));
    for text in &expected.says {
        if !text.split(" | ").any(|text| contains(&output, text)) {
            faults.push(format!("{text:?} is not said"));
        }
    }
    for text in expected.never.iter().map(String::as_str).chain(NEVER) {
        if contains(&output, text) {
            faults.push(format!("{text:?} is said"));
        }
    }
    for (name, [low, high]) in &expected.values {
        let quantity = quantities
            .get(name)
            .unwrap_or_else(|| panic!("no quantity {name:?}"));
        let value = document
            .as_ref()
            .and_then(|document| {
                quantity
                    .at
                    .iter()
                    .find_map(|at| document.pointer(at)?.as_f64())
            })
            .map(|value| value / quantity.divide);
        if value.is_none_or(|value| value < *low || value > *high) {
            faults.push(format!(
                "{name} is {value:?}, not {low} to {high} {}",
                quantity.unit
            ));
        }
    }
    let warnings = document
        .as_ref()
        .map(crate::support::warnings)
        .unwrap_or_default();
    for code in &expected.warns {
        if !warnings.contains(code) {
            faults.push(format!("no warning {code}, but {warnings:?}"));
        }
    }
    let several_levels = "several_levels".to_owned();
    if warnings.contains(&several_levels) && !expected.warns.contains(&several_levels) {
        faults.push("levels where the rate is that of one network".to_owned());
    }
    if document.as_ref().is_some_and(has_nonsense) {
        faults.push("a number of the document is negative or beyond all bounds".to_owned());
    }
    faults
}

/// Whether a time is one that no command of the matrix takes, nor waits for: half an hour, or a second less than none.
fn is_impossible(key: &str, value: f64) -> bool {
    let unit_s = match key.rsplit('_').next() {
        Some("s") => 1.0,
        Some("ms") => 1e-3,
        Some("us") => 1e-6,
        _ => return false,
    };
    let is_date = key == "started_s" || key == "began_s";
    !is_date && !(-1.0..1800.0).contains(&(value * unit_s))
}

/// Whether a time of a document is one that cannot be.
fn has_nonsense(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(key, value)| {
            value
                .as_f64()
                .is_some_and(|value| is_impossible(key, value))
                || has_nonsense(value)
        }),
        Value::Array(list) => list.iter().any(has_nonsense),
        _ => false,
    }
}

/// Text with all its white space as single spaces.
fn unfolded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether `output` has the parts of `text` after one another, with little between them.
fn contains(output: &str, text: &str) -> bool {
    let mut parts = text.split('…').map(str::trim);
    let first = parts.next().unwrap_or_default();
    let parts: Vec<&str> = parts.collect();
    output.match_indices(first).any(|(at, _)| {
        let mut rest = &output[at + first.len()..];
        parts.iter().all(|part| {
            let Some(gap) = rest.find(part).filter(|gap| *gap <= MAX_GAP) else {
                return false;
            };
            rest = &rest[gap + part.len()..];
            true
        })
    })
}
