//! The conditions of the runs of a side: the tool, the machines, the plans and the experiment, as far as they are recorded.

use caudal_core::quantity::Unit;
use serde::Serialize;
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::condition_weight::{ComparedTransport, Sensitivity, condition_weight};

/// Maximum number of values of one condition that are kept.
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
                let mut texts: Vec<String> = items.iter().map(leaf_text).collect();
                // The order of names says nothing, that of numbers does.
                if !items.iter().all(Value::is_number) {
                    texts.sort_unstable();
                }
                self.add(path, &texts.join(" "));
            }
            Value::Null => {}
            leaf => self.add(path, &leaf_text(leaf)),
        }
    }

    /// The conditions that both sides report, in which they differ, and which can matter for `metrics`, those that can matter most first.
    ///
    /// Numbers that vary from run to run differ when their ranges are apart. What the client reports of itself and the machine that it
    /// was recorded on is listed once.
    #[must_use]
    pub fn differences<'a>(
        &self,
        other: &Self,
        metrics: impl Iterator<Item = &'a str>,
    ) -> Vec<ConditionDifference> {
        let sensitivity = Sensitivity::of(metrics, self.transport(other));
        let both = self.0.iter().filter_map(|(path, first)| {
            let second = other.0.get(path)?;
            let weight = condition_weight(path, sensitivity);
            (weight > 0 && differ(path, first, second)).then(|| {
                let difference = ConditionDifference {
                    what: path.clone(),
                    first: first.iter().cloned().collect(),
                    second: second.iter().cloned().collect(),
                };
                (Reverse(weight), difference)
            })
        });
        let mut found: Vec<(Reverse<u8>, ConditionDifference)> = both.collect();
        found.sort_by_key(|(weight, _)| *weight);
        let mut listed: Vec<ConditionDifference> = Vec::new();
        for (_, difference) in found {
            if !listed.iter().any(|one| one.is_same_as(&difference)) {
                listed.push(difference);
            }
        }
        listed
    }

    /// The transport protocols of the runs of both sides.
    fn transport(&self, other: &Self) -> ComparedTransport {
        let values = |path: &str| {
            let sides = [self, other].into_iter();
            let values = sides.filter_map(|side| side.0.get(path)).flatten();
            values.map(String::as_str).collect::<BTreeSet<&str>>()
        };
        // The plan of an echo test names its transport.
        let transports = match values("plan.transport") {
            none if none.is_empty() => values("plan.kind"),
            some => some,
        };
        match transports.into_iter().collect::<Vec<_>>().as_slice() {
            ["tcp"] => ComparedTransport::Tcp,
            ["udp" | "find-rate"] => ComparedTransport::Udp,
            _ => ComparedTransport::Any,
        }
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

impl ConditionDifference {
    /// The condition for people: the machine and the name of the property, the names of the kernel's settings as they are.
    #[must_use]
    pub fn name(&self) -> String {
        if let Some(setting) = self.what.strip_prefix("plan.") {
            return match setting {
                "end.time_ns" => "duration".to_owned(),
                setting => {
                    let (words, _) = words_and_unit(setting);
                    words.replace(['.', '_'], " ")
                }
            };
        }
        match self.what.split_once(".sysctls.") {
            Some((machine, setting)) => format!("{machine} {setting}"),
            None => self
                .what
                .replace("machine.meanwhile.", "machine, during the run: "),
        }
    }

    /// The values of a side for people: those of a plan with their unit.
    #[must_use]
    pub fn in_text(&self, values: &[String]) -> Vec<String> {
        let unit = self.what.strip_prefix("plan.").map(words_and_unit);
        let Some((_, Some((unit, factor)))) = unit else {
            return values.to_vec();
        };
        let shown = values.iter().map(|value| match value.parse::<f64>() {
            Ok(number) => unit.show(number * factor),
            Err(_) => value.clone(),
        });
        shown.collect()
    }

    /// `true` for the same property of the client as it reports it and as the machine that it was recorded on has it.
    fn is_same_as(&self, other: &Self) -> bool {
        let property = |what: &str| {
            let property = what
                .strip_prefix("client.")
                .or_else(|| what.strip_prefix("machine."))?;
            Some(property.trim_start_matches("interface.").to_owned())
        };
        property(&self.what).is_some()
            && property(&self.what) == property(&other.what)
            && (&self.first, &self.second) == (&other.first, &other.second)
    }
}

/// A key without the unit at its end, and that unit with the factor to the one in which values are shown.
fn words_and_unit(key: &str) -> (&str, Option<(Unit, f64)>) {
    const UNITS: [(&str, Unit, f64); 6] = [
        ("_ns", Unit::Seconds, 1e-9),
        ("_us", Unit::Seconds, 1e-6),
        ("_ms", Unit::Seconds, 1e-3),
        ("_s", Unit::Seconds, 1.0),
        ("_bps", Unit::BitPerSecond, 1.0),
        ("_bytes", Unit::Bytes, 1.0),
    ];
    for (end, unit, factor) in UNITS {
        if let Some(words) = key.strip_suffix(end) {
            return (words, Some((unit, factor)));
        }
    }
    (key, None)
}

/// `true` when the values of a condition differ.
fn differ(path: &str, first: &BTreeSet<String>, second: &BTreeSet<String>) -> bool {
    if first == second {
        return false;
    }
    match (range(first), range(second)) {
        (Some(first), Some(second)) if is_varying(path) => {
            let gap = (first.0 - second.1).max(second.0 - first.1);
            gap > 0.0 && gap >= min_gap(path)
        }
        _ => true,
    }
}

/// Minimum gap between the ranges of a number that changes all the time for the difference to matter.
fn min_gap(path: &str) -> f64 {
    const PROCESSES: f64 = 1.0;
    const SHARE_OF_PROCESSOR: f64 = 0.1;
    if path.contains("load_average") {
        PROCESSES
    } else if path.contains("meanwhile.cpu.") {
        SHARE_OF_PROCESSOR
    } else {
        0.0
    }
}

/// `true` for a number that changes all the time, by its name.
fn is_varying(path: &str) -> bool {
    const VARYING: [&str; 8] = [
        "load",
        "steal",
        "mhz",
        "temperature",
        "free",
        "available",
        "uptime",
        "meanwhile",
    ];
    VARYING.iter().any(|name| path.contains(name))
}

/// The minimum and the maximum of values that are all numbers, or lists that start with one, such as load averages.
fn range(values: &BTreeSet<String>) -> Option<(f64, f64)> {
    let numbers: Option<Vec<f64>> = values
        .iter()
        .map(|value| value.split(' ').next()?.parse().ok())
        .collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn conditions(values: &[(&str, &str)]) -> Conditions {
        let mut conditions = Conditions::default();
        for (path, value) in values {
            conditions.add(path, value);
        }
        conditions
    }

    #[test]
    fn differences_that_can_matter_come_in_the_order_of_how_much_they_can() {
        let first = conditions(&[
            ("plan.kind", "tcp"),
            ("client.name", "lab-1"),
            ("client.boot_id", "a"),
            ("client.load_average", "0.2"),
            ("client.kernel", "6.1"),
            ("machine.kernel", "6.1"),
            ("client.qdisc", "fq"),
            ("client.congestion_control", "bbr"),
            ("machine.sysctls.net.ipv4.tcp_rmem", "4096 131072 6291456"),
            ("machine.sysctls.net.ipv4.udp_mem", "1 2 3"),
        ]);
        let second = conditions(&[
            ("plan.kind", "tcp"),
            ("client.name", "lab-2"),
            ("client.boot_id", "b"),
            ("client.load_average", "7.5"),
            ("client.kernel", "6.12"),
            ("machine.kernel", "6.12"),
            ("client.qdisc", "pfifo_fast"),
            ("client.congestion_control", "cubic"),
            ("machine.sysctls.net.ipv4.tcp_rmem", "4096 131072 33554432"),
            ("machine.sysctls.net.ipv4.udp_mem", "4 5 6"),
        ]);
        let found = first.differences(&second, ["goodput"].into_iter());
        let names: Vec<String> = found.iter().map(ConditionDifference::name).collect();
        assert_eq!(
            names,
            [
                "client.congestion_control",
                "client.qdisc",
                "machine net.ipv4.tcp_rmem",
                "client.kernel",
                "client.load_average",
            ]
        );
    }

    #[test]
    fn what_was_asked_for_has_its_unit() {
        let difference = |what: &str, value: &str| {
            let difference = ConditionDifference {
                what: what.to_owned(),
                first: vec![value.to_owned()],
                second: Vec::new(),
            };
            let values = difference.in_text(&difference.first);
            format!("{} {}", difference.name(), values.join(", "))
        };
        for (what, value, text) in [
            ("plan.end.time_ns", "5000000000", "duration 5 s"),
            ("plan.flow.rate_bps", "2000000", "flow rate 2 Mbit/s"),
            ("plan.window_bytes", "65536", "window 65 536 B"),
            ("plan.directions", "up", "directions up"),
            ("client.kernel", "6.1", "client.kernel 6.1"),
        ] {
            assert_eq!(difference(what, value), text);
        }
    }

    #[test]
    fn load_averages_differ_when_their_ranges_are_well_apart() {
        let load = |values: &[[f64; 3]]| {
            let mut conditions = Conditions::default();
            for value in values {
                conditions.add_all("machine.meanwhile.load_average_before", value);
            }
            conditions
        };
        let quiet = load(&[[0.1, 0.5, 0.9], [0.4, 0.5, 0.6]]);
        let differences = |other| quiet.differences(&other, ["rtt"].into_iter()).len();
        assert_eq!(differences(load(&[[0.3, 9.0, 9.0]])), 0);
        assert_eq!(differences(load(&[[3.0, 0.5, 0.6]])), 1);
        assert_eq!(differences(load(&[[0.9, 0.5, 0.6]])), 0);
    }
}
