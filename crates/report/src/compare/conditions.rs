//! The conditions of the runs of a side: the tool, the machines, the plans and the experiment, as far as they are recorded.

use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of values of one condition that are kept.
const MAX_VALUES: usize = 64;

/// The conditions of a side: the values of each, by the JSON keys that lead to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conditions(BTreeMap<String, BTreeSet<String>>);

impl Conditions {
    /// Adds a value of a condition.
    pub fn add(&mut self, path: &str, value: &str) {
        let values = self.0.entry(path.to_owned()).or_default();
        if values.len() < MAX_VALUES {
            values.insert(value.to_owned());
        }
    }

    /// Adds every leaf of `value` as it serialises, at the keys that lead to it from `path`.
    pub fn add_all(&mut self, path: &str, value: &impl Serialize) {
        self.add_leaves(path, &serde_json::to_value(value).unwrap_or_default());
    }

    fn add_leaves(&mut self, path: &str, value: &Value) {
        match value {
            Value::Object(map) => {
                for (key, inner) in map {
                    let below = if path.is_empty() {
                        key.clone()
                    } else {
                        format!("{path}.{key}")
                    };
                    self.add_leaves(&below, inner);
                }
            }
            Value::Array(items) => {
                let mut names: Vec<String> = items.iter().map(leaf_text).collect();
                names.sort_unstable();
                self.add(path, &names.join(" "));
            }
            Value::Null => {}
            leaf => self.add(path, &leaf_text(leaf)),
        }
    }

    /// The conditions that both sides report and in which they differ.
    ///
    /// Numbers that vary from run to run differ when their ranges are apart.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<ConditionDifference> {
        let both = self.0.iter().filter_map(|(path, first)| {
            let second = other.0.get(path)?;
            differ(path, first, second).then(|| ConditionDifference {
                what: path.clone(),
                first: first.iter().cloned().collect(),
                second: second.iter().cloned().collect(),
            })
        });
        both.collect()
    }
}

/// A condition in which the sides differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConditionDifference {
    /// The JSON keys that lead to it.
    pub what: String,
    /// Its values on the first side.
    pub first: Vec<String>,
    /// Its values on the second side.
    pub second: Vec<String>,
}

/// `true` when the values of a condition differ.
fn differ(path: &str, first: &BTreeSet<String>, second: &BTreeSet<String>) -> bool {
    /// Conditions that are meant to differ.
    const IGNORED: [&str; 3] = ["plan.peer", "plan.seed", "experiment.seed"];
    if first == second || IGNORED.contains(&path) {
        return false;
    }
    match (range(first), range(second)) {
        (Some(first), Some(second)) if is_varying(path) => first.0 > second.1 || second.0 > first.1,
        _ => true,
    }
}

/// `true` for a number that changes all the time, by its name.
fn is_varying(path: &str) -> bool {
    const VARYING: [&str; 7] = [
        "load",
        "steal",
        "mhz",
        "temperature",
        "free",
        "available",
        "uptime",
    ];
    VARYING.iter().any(|name| path.contains(name))
}

/// The minimum and the maximum of values that are all numbers.
fn range(values: &BTreeSet<String>) -> Option<(f64, f64)> {
    let numbers: Option<Vec<f64>> = values.iter().map(|value| value.parse().ok()).collect();
    let numbers = numbers.filter(|numbers| !numbers.is_empty())?;
    let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some((low, high))
}

fn leaf_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
