//! Runs and studies as one table of tidy values: a row each value, with all that tells it from others.

use crate::report::view::{self, Course, Slice};
use caudal_experiment::Scalar;
use caudal_experiment::Trial;
use caudal_experiment::findings::Findings;
use caudal_stats::Estimate;
use caudal_store::SampleSeries;
use serde_json::Value;

/// The columns: name, unit and what is in them. A study adds a column for each parameter, `parameter_NAME`.
pub const COLUMNS: [(&str, &str, &str); 16] = [
    (
        "kind",
        "",
        "what the row is: `estimate` over all trials of a case (or of a run), `predicted`, `simulated`, `published`, `trial` for one trial's value, `interval` for a part of a trial or run, `sample` for one round trip",
    ),
    ("id", "", "the study's or run's id"),
    ("case", "", "the case's key; empty for a run"),
    ("alone", "", "the flow that is alone, for a solo baseline"),
    ("trial", "", "the trial's id"),
    ("repeat", "", "the trial's repetition of its case, from 1"),
    ("spoiled", "0 or 1", "1 where the trial does not count"),
    (
        "flow",
        "",
        "the flow's name, or its number in a run; a link's name as `links.NAME`",
    ),
    ("metric", "", "what was measured, as `goodput`"),
    (
        "unit",
        "",
        "the base unit of the value: `bit/s`, `bytes`, `s`, `share` (0 to 1), `segments`, `datagrams` …",
    ),
    (
        "start_s",
        "s",
        "when the interval begins, after the trial's start or the run's; of a sample its number, from 0",
    ),
    ("end_s", "s", "when it ends"),
    (
        "value",
        "that of `unit`",
        "the value; of an estimate its mean. A value that is not known has no row",
    ),
    (
        "low",
        "that of `unit`",
        "lower end of the interval, where there is one",
    ),
    ("high", "that of `unit`", "upper end of it"),
    ("n", "", "how many values the row rests on"),
];

/// A row before it is written.
#[derive(Debug, Clone, Default)]
struct Row<'a> {
    kind: &'static str,
    id: &'a str,
    case: &'a str,
    alone: &'a str,
    trial: &'a str,
    repeat: Option<u64>,
    discarded: Option<bool>,
    flow: &'a str,
    metric: &'a str,
    unit: &'a str,
    start_s: Option<f64>,
    end_s: Option<f64>,
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
    n: Option<u64>,
    parameters: &'a [String],
}

impl Row<'_> {
    fn write(&self, out: &mut String) {
        if !self.value.is_finite() {
            return;
        }
        let time = |at: Option<f64>| {
            at.filter(|at| at.is_finite())
                .map_or(String::new(), |at| format!("{at:.6}"))
        };
        let number = |value: Option<f64>| {
            value
                .filter(|value| value.is_finite())
                .map_or(String::new(), |value| value.to_string())
        };
        let cells = [
            self.kind.to_owned(),
            quoted(self.id),
            quoted(self.case),
            quoted(self.alone),
            quoted(self.trial),
            self.repeat
                .map_or(String::new(), |repeat| repeat.to_string()),
            self.discarded
                .map_or(String::new(), |spoiled| u8::from(spoiled).to_string()),
            quoted(self.flow),
            quoted(self.metric),
            quoted(self.unit),
            time(self.start_s),
            time(self.end_s),
            self.value.to_string(),
            number(self.low),
            number(self.high),
            self.n.map_or(String::new(), |n| n.to_string()),
        ];
        out.push_str(&cells.join(","));
        for value in self.parameters {
            out.push(',');
            out.push_str(&quoted(value));
        }
        out.push('\n');
    }

    /// With the interval of an estimate.
    fn of(self, estimate: &Estimate) -> Self {
        let known = estimate.confidence > 0.0;
        Self {
            value: estimate.mean,
            low: known.then_some(estimate.low),
            high: known.then_some(estimate.high),
            n: Some(estimate.n),
            ..self
        }
    }
}

/// A cell, in quotes where it needs them (RFC 4180); control characters become blanks.
fn quoted(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.contains([',', '"']) || text.starts_with(' ') || text.ends_with(' ') {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

fn header(parameters: &[String]) -> String {
    let fixed = COLUMNS.iter().map(|column| column.0.to_owned());
    let names = parameters
        .iter()
        .map(|name| quoted(&format!("parameter_{name}")));
    let mut line = fixed.chain(names).collect::<Vec<_>>().join(",");
    line.push('\n');
    line
}

/// A metric's full name as flow and last part.
fn split(metric: &str) -> (&str, &str) {
    metric.rsplit_once('.').unwrap_or(("", metric))
}

/// A study: every estimate, every trial's values, every interval.
#[must_use]
pub fn study(findings: &Findings, trials: &[Trial]) -> String {
    let mut names: Vec<String> = Vec::new();
    let all = findings.cases.iter().map(|case| &case.parameters);
    for (name, _) in all
        .chain(trials.iter().map(|trial| &trial.parameters))
        .flatten()
    {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let values = |parameters: &[(String, Scalar)]| -> Vec<String> {
        let find = |name: &String| parameters.iter().find(|(known, _)| known == name);
        names
            .iter()
            .map(|name| find(name).map_or(String::new(), |(_, value)| value.to_string()))
            .collect()
    };
    let mut out = header(&names);
    for case in &findings.cases {
        let parameters = values(&case.parameters);
        for (name, known) in &case.metrics {
            let (flow, metric) = split(name);
            let row = Row {
                id: &findings.id,
                case: &case.key,
                alone: case.alone.as_deref().unwrap_or(""),
                flow,
                metric,
                unit: known.unit,
                value: f64::NAN,
                parameters: &parameters,
                ..Row::default()
            };
            if let Some(estimate) = &known.observed {
                let row = Row {
                    kind: "estimate",
                    ..row.clone()
                };
                row.of(estimate).write(&mut out);
            }
            for (kind, value) in [
                ("predicted", known.predicted),
                ("simulated", known.simulated),
                ("published", known.published),
            ] {
                let value = value.unwrap_or(f64::NAN);
                Row {
                    kind,
                    value,
                    ..row.clone()
                }
                .write(&mut out);
            }
        }
    }
    let metric_unit = |name: &String| {
        let known = findings
            .cases
            .iter()
            .find_map(|case| case.metrics.get(name));
        known.map_or("", |known| known.unit)
    };
    for trial in trials {
        let parameters = values(&trial.parameters);
        let base = Row {
            id: &findings.id,
            case: &trial.case,
            alone: trial.alone.as_deref().unwrap_or(""),
            trial: &trial.id,
            repeat: Some(trial.repeat),
            discarded: Some(trial.discarded.is_some()),
            parameters: &parameters,
            ..Row::default()
        };
        for (name, value) in &trial.metrics {
            let (flow, metric) = split(name);
            let row = Row {
                kind: "trial",
                flow,
                metric,
                unit: metric_unit(name),
                value: *value,
                ..base.clone()
            };
            row.write(&mut out);
        }
        for course in view::of_trial(trial) {
            intervals(&mut out, &base, &course.name, &course);
        }
    }
    out
}

/// What an interval tells, with its unit.
type Told = (&'static str, &'static str, fn(&Slice) -> Option<f64>);

const TOLD: [Told; 9] = [
    ("bytes", "bytes", |slice| slice.bytes),
    ("goodput", "bit/s", |slice| slice.goodput_bps),
    ("rtt", "s", |slice| slice.rtt_s),
    ("cwnd", "bytes", |slice| slice.cwnd_bytes),
    ("retransmits", "segments", |slice| slice.retransmits),
    ("datagrams", "datagrams", |slice| slice.datagrams),
    ("lost", "datagrams", |slice| slice.lost),
    ("reordered", "datagrams", |slice| slice.reordered),
    ("jitter", "s", |slice| slice.jitter_s),
];

fn intervals(out: &mut String, base: &Row<'_>, flow: &str, course: &Course) {
    for slice in &course.slices {
        for (metric, unit, of) in TOLD {
            let row = Row {
                kind: "interval",
                flow,
                metric,
                unit,
                start_s: Some(slice.start_s),
                end_s: Some(slice.end_s),
                value: of(slice).unwrap_or(f64::NAN),
                ..base.clone()
            };
            row.write(out);
        }
    }
}

/// A run: what it adds up to, its intervals, its samples.
#[must_use]
pub fn run(run: &Value, series: &[SampleSeries]) -> String {
    let mut out = header(&[]);
    let id = view::text(run, "id").unwrap_or("");
    let base = Row {
        id,
        ..Row::default()
    };
    for direction in view::list(run, "summary.directions") {
        let flow = view::text(direction, "direction").unwrap_or("");
        for (metric, unit, key) in [
            ("goodput", "bit/s", "goodput_bps"),
            ("loss", "share", "loss.fraction"),
        ] {
            let Some(value) = view::number(direction, &format!("{key}.mean"))
                .or_else(|| view::number(direction, key))
            else {
                continue;
            };
            let end = |end: &str| view::number(direction, &format!("{key}.{end}"));
            let confident = end("confidence").is_some_and(|level| level > 0.0);
            let row = Row {
                kind: "estimate",
                flow,
                metric,
                unit,
                value,
                low: end("low").filter(|_| confident),
                high: end("high").filter(|_| confident),
                n: end("n").map(|n| n as u64),
                ..base.clone()
            };
            row.write(&mut out);
        }
    }
    for size in view::echo_sizes(run) {
        let flow = format!("{} B", size.size_bytes);
        let row = Row {
            kind: "estimate",
            flow: &flow,
            metric: "rtt",
            unit: "s",
            value: size.mean_s,
            low: size.interval.map(|ends| ends.0),
            high: size.interval.map(|ends| ends.1),
            n: Some(size.n),
            ..base.clone()
        };
        row.write(&mut out);
    }
    for one in view::list(run, "predictions") {
        let row = Row {
            kind: "predicted",
            metric: view::text(one, "name").unwrap_or(""),
            unit: view::text(one, "unit").unwrap_or(""),
            value: view::number(one, "value").unwrap_or(f64::NAN),
            ..base.clone()
        };
        row.write(&mut out);
    }
    for course in view::courses(run, 0.0) {
        intervals(&mut out, &base, &course.name, &course);
    }
    for one in view::round_trips(series) {
        let flow = one.size_bytes.map_or_else(
            || one.flow.to_string(),
            |size| format!("{}, {size} B", one.flow),
        );
        for (nth, value) in one.values_s.iter().enumerate() {
            let row = Row {
                kind: "sample",
                flow: &flow,
                metric: "rtt",
                unit: "s",
                start_s: Some(nth as f64),
                value: *value,
                ..base.clone()
            };
            row.write(&mut out);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_hold_commas_or_quotes_are_quoted() {
        for (text, cell) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("a \"b\"", "\"a \"\"b\"\"\""),
            ("a\nb", "a b"),
        ] {
            assert_eq!(quoted(text), cell);
        }
    }
}
