//! One side of a comparison: what its runs measured, by case and metric, and under what conditions.

use caudal_core::quantity::Unit;
use caudal_experiment::METRICS;
use caudal_experiment::TRIAL_SCHEMA;
use caudal_stats::TimedValue;
use caudal_store::{Filter, Store, StoredItem, StoredRun};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What is compared with its like on the other side.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The case of a study; empty for runs by themselves.
    pub case: String,
    /// The metric.
    pub metric: String,
}

/// One side.
#[derive(Debug, Clone, Default)]
pub struct Side {
    /// As it was asked for.
    pub given: String,
    /// The runs and studies it is made of.
    pub ids: Vec<String>,
    /// What they are, in a word or two.
    pub what: String,
    /// What was measured.
    pub readings: BTreeMap<Key, Vec<TimedValue>>,
    /// The units.
    pub units: BTreeMap<String, Unit>,
    /// The conditions: every value each had.
    pub conditions: BTreeMap<String, BTreeSet<String>>,
    /// The kinds of its runs.
    pub kinds: BTreeSet<String>,
    /// Runs left out, with why.
    pub left_out: BTreeMap<&'static str, usize>,
}

/// What makes up a side, as it is asked for: ids, `last`, `tag:NAME`, or several with commas.
///
/// # Errors
/// What the store says.
pub fn side(given: &str, store: &Store) -> Result<Side, caudal_store::StoreError> {
    let mut side = Side {
        given: given.to_owned(),
        ..Side::default()
    };
    let (mut runs, mut studies) = (0_usize, 0_usize);
    for part in given.split(',').filter(|part| !part.is_empty()) {
        let ids: Vec<String> = match part.strip_prefix("tag:") {
            Some(tag) => {
                let tagged = store.list(&Filter {
                    tag: Some(tag.to_owned()),
                    trials: true,
                    ..Filter::default()
                })?;
                tagged.into_iter().map(|entry| entry.id).collect()
            }
            None => vec![store.resolve(part)?],
        };
        for id in ids {
            if side.ids.contains(&id) {
                continue;
            }
            match store.find(&id)? {
                StoredItem::Run(run) => {
                    side.run(&run);
                    runs += 1;
                }
                StoredItem::Study(study) => {
                    side.condition("experiment", &study.experiment, &[]);
                    for run in store.trials(&study.id)? {
                        side.run(&run);
                    }
                    studies += 1;
                }
            }
            side.ids.push(id);
        }
    }
    let many = |count: usize, one: &str, more: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {more}")),
    };
    let parts: Vec<String> = [many(studies, "study", "studies"), many(runs, "run", "runs")]
        .into_iter()
        .flatten()
        .collect();
    side.what = parts.join(" and ");
    Ok(side)
}

impl Side {
    fn run(&mut self, run: &StoredRun) {
        self.kinds.insert(run.kind.clone());
        if run.outcome != "done" {
            let why = if run.outcome == "failed" {
                "failed"
            } else {
                "cut short"
            };
            *self.left_out.entry(why).or_default() += 1;
            return;
        }
        let document = &run.document;
        self.text("tool", &run.tool);
        self.condition("", &run.environment, &["client", "server", "machine"]);
        self.condition("plan", &document["plan"], &[]);
        let began = document["began_s"]
            .as_f64()
            .unwrap_or(run.started_ns as f64 / 1e9);
        if document["schema"].as_str() == Some(TRIAL_SCHEMA) {
            self.trial(document);
        } else if let Some(repeats) = document["repeats"].as_array() {
            self.repeats(repeats, began);
        } else {
            self.single(document, began);
        }
    }

    fn put(
        &mut self,
        case: &str,
        metric: String,
        unit: Option<Unit>,
        at_s: f64,
        value: Option<f64>,
    ) {
        let Some(value) = value else { return };
        if let Some(unit) = unit {
            self.units.insert(metric.clone(), unit);
        }
        let key = Key {
            case: case.to_owned(),
            metric,
        };
        self.readings.entry(key).or_default().push(TimedValue {
            at_s: Some(at_s),
            value,
        });
    }

    fn trial(&mut self, trial: &Value) {
        if !trial["spoiled"].is_null() {
            *self.left_out.entry("spoiled").or_default() += 1;
            return;
        }
        let case = trial["case"].as_str().unwrap_or("");
        let at = trial["zero_s"].as_f64().unwrap_or(f64::NAN);
        let metrics = trial["metrics"].as_object();
        for (name, value) in metrics.into_iter().flatten() {
            self.put(case, name.clone(), metric_unit(name), at, value.as_f64());
        }
    }

    /// Each of several runs that one command made, taken to have followed one another without a pause.
    fn repeats(&mut self, repeats: &[Value], began: f64) {
        let mut at = began;
        for repeat in repeats {
            if repeat["cut_short"].is_null() {
                let own = repeat["began_s"].as_f64().unwrap_or(at);
                self.directions(&repeat["directions"], own);
            } else {
                *self.left_out.entry("cut short").or_default() += 1;
            }
            let measured = repeat["directions"][0]["measured_s"].as_f64();
            at += measured.unwrap_or(0.0).max(1e-3);
        }
    }

    fn single(&mut self, document: &Value, at: f64) {
        let summary = &document["summary"];
        self.directions(&summary["directions"], at);
        for size in summary["sizes"].as_array().into_iter().flatten() {
            let bytes = size["size_bytes"].as_u64().unwrap_or(0);
            let pooled = &size["pooled"];
            let mean = pooled["mean_us"]["mean"].as_f64().map(|us| us / 1e6);
            self.put("", format!("rtt {bytes} B"), Some(Unit::Seconds), at, mean);
            let loss = pooled["loss"]["mean"].as_f64();
            self.put("", format!("loss {bytes} B"), Some(Unit::Share), at, loss);
        }
        let rate = document["search"]["rate_bps"].as_f64();
        self.put("", "rate".to_owned(), Some(Unit::BitPerSecond), at, rate);
    }

    fn directions(&mut self, directions: &Value, at: f64) {
        let directions = directions.as_array().map_or(&[][..], Vec::as_slice);
        for one in directions {
            let way = if directions.len() > 1 {
                format!(" {}", one["direction"].as_str().unwrap_or(""))
            } else {
                String::new()
            };
            let mut put = |name: &str, unit, value| {
                self.put("", format!("{name}{way}"), Some(unit), at, value);
            };
            let micros = |value: &Value| value.as_f64().map(|us| us / 1e6);
            put(
                "goodput",
                Unit::BitPerSecond,
                one["goodput_bps"]["mean"].as_f64(),
            );
            put("sent", Unit::BitPerSecond, one["sent_bps"].as_f64());
            put(
                "loss",
                Unit::Share,
                one["loss"]["fraction"]["mean"].as_f64(),
            );
            put(
                "jitter",
                Unit::Seconds,
                micros(&one["delay"]["jitter_rfc3550_us"]),
            );
            put(
                "retransmits",
                Unit::Segments,
                one["tcp"]["retransmits"].as_f64(),
            );
            put("rtt", Unit::Seconds, micros(&one["tcp"]["rtt_mean_us"]));
        }
    }

    fn text(&mut self, path: &str, value: &str) {
        /// Values of one condition that are remembered.
        const MOST: usize = 64;
        let values = self.conditions.entry(path.to_owned()).or_default();
        if values.len() < MOST {
            values.insert(value.to_owned());
        }
    }

    /// Takes in the leaves of a value; at its top only those `within`, when some are named.
    fn condition(&mut self, path: &str, value: &Value, within: &[&str]) {
        match value {
            Value::Object(map) => {
                for (key, inner) in map {
                    if within.is_empty() || within.contains(&key.as_str()) {
                        let under = if path.is_empty() {
                            key.clone()
                        } else {
                            format!("{path}.{key}")
                        };
                        self.condition(&under, inner, &[]);
                    }
                }
            }
            Value::Array(items) => {
                let mut names: Vec<String> = items.iter().map(plain).collect();
                names.sort_unstable();
                self.text(path, &names.join(" "));
            }
            Value::Null => {}
            leaf => self.text(path, &plain(leaf)),
        }
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// The metric behind a full name such as `tcp.goodput`.
pub fn find_metric(name: &str) -> Option<&'static caudal_experiment::Metric> {
    let last = name.rsplit('.').next()?;
    let last = last.split(' ').next()?;
    METRICS.iter().find(|metric| metric.name == last)
}

fn metric_unit(name: &str) -> Option<Unit> {
    find_metric(name).map(|metric| metric.unit)
}

/// A condition in which the sides differ.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Difference {
    /// What it is, as the keys of the JSON that lead to it.
    pub what: String,
    /// Its values on the first side.
    pub first: Vec<String>,
    /// Its values on the second.
    pub second: Vec<String>,
}

/// Where the conditions of both sides differ, those of the machines and those of the plans.
///
/// Numbers that vary from run to run count as different when their ranges are apart.
#[must_use]
pub fn differences(first: &Side, second: &Side) -> Vec<Difference> {
    const NEVER: [&str; 3] = ["plan.peer", "plan.seed", "experiment.seed"];
    let none = BTreeSet::new();
    let paths: BTreeSet<&String> = first
        .conditions
        .keys()
        .chain(second.conditions.keys())
        .collect();
    let differ = |path: &&String| {
        let a = first.conditions.get(*path).unwrap_or(&none);
        let b = second.conditions.get(*path).unwrap_or(&none);
        if a == b || NEVER.contains(&path.as_str()) {
            return None;
        }
        if let (Some(a), Some(b)) = (range(a), range(b))
            && is_varying(path)
            && a.0 <= b.1
            && b.0 <= a.1
        {
            return None;
        }
        // What only one side tells of is no difference of the machines.
        if a.is_empty() || b.is_empty() {
            return None;
        }
        Some(Difference {
            what: (*path).clone(),
            first: a.iter().cloned().collect(),
            second: b.iter().cloned().collect(),
        })
    };
    paths.iter().filter_map(differ).collect()
}

/// Whether a number is another at every moment, by its name.
fn is_varying(path: &str) -> bool {
    [
        "load",
        "steal",
        "mhz",
        "temperature",
        "free",
        "available",
        "uptime",
    ]
    .iter()
    .any(|word| path.contains(word))
}

fn range(values: &BTreeSet<String>) -> Option<(f64, f64)> {
    let numbers: Option<Vec<f64>> = values.iter().map(|value| value.parse().ok()).collect();
    let numbers = numbers.filter(|numbers| !numbers.is_empty())?;
    let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some((low, high))
}
