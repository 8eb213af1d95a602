//! Runs and studies as one CSV table: a row for each value, with everything that distinguishes it from others.

use crate::round_trip_series::round_trip_series;
use crate::size_results::size_results;
use crate::timeline::quantities::{
    bytes, cwnd_bytes, datagrams, goodput_bps, jitter_s, lost, reordered, retransmits, rtt_s,
};
use crate::timeline::{FlowTimeline, flows_of_run, flows_of_trial};
use caudal_core::interval::Interval;
use caudal_core::path::{HopAnswering, PathDirection, PathHop, PathLink, PathReport};
use caudal_core::quality::QualityReport;
use caudal_core::run::Run;
use caudal_core::summary::DirectionSummary;
use caudal_core::transfer::FileReport;
use caudal_experiment::Scalar;
use caudal_experiment::Trial;
use caudal_experiment::findings::{Findings, MetricFindings};
use caudal_stats::Estimate;
use caudal_store::SampleSeries;

/// The columns: name, unit and content. A study adds a column for each parameter, `parameter_NAME`.
pub const VALUE_COLUMNS: [(&str, &str, &str); 16] = [
    (
        "kind",
        "",
        "the kind of the row: `estimate` over all trials of a case (or of a run), `predicted`, `simulated`, `published`, `trial` for one trial's value, `interval` for a part of a trial or run, `sample` for one round trip or file transfer",
    ),
    ("id", "", "the study's or run's id"),
    (
        "case",
        "",
        "the case's key; the phase of a run of latency under load; the content of a file transfer; `hop N` of a path, for the hop and the link that leads to it, and `up` or `down` for a direction between its ends; otherwise empty for a run",
    ),
    ("alone", "", "the flow that is alone, for a solo baseline"),
    ("trial", "", "the trial's id"),
    ("repeat", "", "the trial's repetition of its case, from 1"),
    ("spoiled", "0 or 1", "1 where the trial is discarded"),
    (
        "flow",
        "",
        "the flow's name, or its number in a run; a link's name as `links.NAME`; the address of a hop",
    ),
    ("metric", "", "the metric, such as `goodput`"),
    (
        "unit",
        "",
        "the base unit of the value: `bit/s`, `bytes`, `s`, `share` (0 to 1), `segments`, `datagrams` …",
    ),
    (
        "start_s",
        "s",
        "the beginning of the interval, after the start of the trial or run; of a sample its number, from 0",
    ),
    ("end_s", "s", "the end of the interval"),
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
    ("n", "", "the number of values behind the row"),
];

/// A row of the table.
#[derive(Debug, Clone, Default)]
struct ValueRow<'a> {
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

impl ValueRow<'_> {
    /// The same row with an estimate.
    fn with_estimate(self, estimate: &Estimate) -> Self {
        let has_interval = estimate.confidence > 0.0;
        Self {
            value: estimate.mean,
            low: has_interval.then_some(estimate.low),
            high: has_interval.then_some(estimate.high),
            n: Some(estimate.n),
            ..self
        }
    }

    /// The cells, in the order of [`VALUE_COLUMNS`], then the parameters.
    fn cells(&self) -> Vec<String> {
        let time = |at: Option<f64>| {
            at.filter(|at| at.is_finite())
                .map_or(String::new(), |at| format!("{at:.6}"))
        };
        let number = |value: Option<f64>| {
            value
                .filter(|value| value.is_finite())
                .map_or(String::new(), |value| value.to_string())
        };
        let count = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
        let fixed = [
            self.kind.to_owned(),
            self.id.to_owned(),
            self.case.to_owned(),
            self.alone.to_owned(),
            self.trial.to_owned(),
            count(self.repeat),
            count(self.discarded.map(u64::from)),
            self.flow.to_owned(),
            self.metric.to_owned(),
            self.unit.to_owned(),
            time(self.start_s),
            time(self.end_s),
            self.value.to_string(),
            number(self.low),
            number(self.high),
            count(self.n),
        ];
        fixed
            .into_iter()
            .chain(self.parameters.iter().cloned())
            .collect()
    }
}

/// The table as it grows.
struct ValueTable(csv::Writer<Vec<u8>>);

impl ValueTable {
    /// A table with a column for each of these parameters.
    fn new(parameters: &[String]) -> Self {
        let mut table = Self(csv::Writer::from_writer(Vec::new()));
        let fixed = VALUE_COLUMNS.iter().map(|(name, ..)| (*name).to_owned());
        let names = parameters.iter().map(|name| format!("parameter_{name}"));
        table.write(fixed.chain(names));
        table
    }

    /// Adds a row, unless its value is no number.
    fn push(&mut self, row: &ValueRow<'_>) {
        if row.value.is_finite() {
            self.write(row.cells());
        }
    }

    fn write(&mut self, cells: impl IntoIterator<Item = String>) {
        let printable = cells
            .into_iter()
            .map(|cell| cell.replace(char::is_control, " "));
        self.0
            .write_record(printable)
            .expect("all records have a cell for every column, and memory takes them");
    }

    /// The table as text.
    fn into_text(self) -> String {
        let bytes = self
            .0
            .into_inner()
            .expect("memory takes all that is written");
        String::from_utf8(bytes).expect("the cells are text")
    }
}

/// The name of a flow and of its metric: those of `tcp.goodput` are `tcp` and `goodput`.
fn flow_and_metric(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or(("", name))
}

/// The values of a study: every estimate, every trial's metrics, every interval.
#[must_use]
pub fn study_values(findings: &Findings, trials: &[Trial]) -> String {
    let names = parameter_names(findings, trials);
    let mut table = ValueTable::new(&names);
    for case in &findings.cases {
        let parameters = parameter_values(&names, &case.parameters);
        for (name, metric_findings) in &case.metrics {
            let (flow, metric) = flow_and_metric(name);
            let row = ValueRow {
                id: &findings.id,
                case: &case.key,
                alone: case.alone.as_deref().unwrap_or(""),
                flow,
                metric,
                unit: metric_findings.unit,
                parameters: &parameters,
                ..ValueRow::default()
            };
            push_metric(&mut table, &row, metric_findings);
        }
    }
    for trial in trials {
        let parameters = parameter_values(&names, &trial.parameters);
        let row = ValueRow {
            id: &findings.id,
            case: &trial.case,
            alone: trial.alone.as_deref().unwrap_or(""),
            trial: &trial.id,
            repeat: Some(trial.repeat),
            discarded: Some(trial.discarded.is_some()),
            parameters: &parameters,
            ..ValueRow::default()
        };
        push_trial(&mut table, &row, trial, findings);
    }
    table.into_text()
}

/// The parameters of all cases and trials, in their order.
fn parameter_names(findings: &Findings, trials: &[Trial]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let of_cases = findings.cases.iter().map(|case| &case.parameters);
    let of_trials = trials.iter().map(|trial| &trial.parameters);
    for (name, _) in of_cases.chain(of_trials).flatten() {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// The values of the parameters of these names; empty for one that is not set.
fn parameter_values(names: &[String], parameters: &[(String, Scalar)]) -> Vec<String> {
    let find = |name: &String| parameters.iter().find(|(known, _)| known == name);
    let text = |name| find(name).map_or(String::new(), |(_, value)| value.to_string());
    names.iter().map(text).collect()
}

/// Adds the estimate of a metric, its predictions and its published value.
fn push_metric(table: &mut ValueTable, row: &ValueRow<'_>, findings: &MetricFindings) {
    if let Some(estimate) = &findings.observed {
        let row = ValueRow {
            kind: "estimate",
            ..row.clone()
        };
        table.push(&row.with_estimate(estimate));
    }
    for (kind, value) in [
        ("predicted", findings.predicted),
        ("simulated", findings.simulated),
        ("published", findings.published),
    ] {
        table.push(&ValueRow {
            kind,
            value: value.unwrap_or(f64::NAN),
            ..row.clone()
        });
    }
}

/// Adds the metrics and the intervals of a trial.
fn push_trial(table: &mut ValueTable, row: &ValueRow<'_>, trial: &Trial, findings: &Findings) {
    let unit = |name: &String| {
        let mut cases = findings.cases.iter();
        let known = cases.find_map(|case| case.metrics.get(name));
        known.map_or("", |known| known.unit)
    };
    for (name, value) in &trial.metrics {
        let (flow, metric) = flow_and_metric(name);
        table.push(&ValueRow {
            kind: "trial",
            flow,
            metric,
            unit: unit(name),
            value: *value,
            ..row.clone()
        });
    }
    for flow in flows_of_trial(trial) {
        push_intervals(table, row, &flow);
    }
}

/// A quantity of an interval: metric, unit and value.
type IntervalQuantity = (&'static str, &'static str, fn(&Interval) -> Option<f64>);

/// The quantities of an interval that have rows.
const INTERVAL_QUANTITIES: [IntervalQuantity; 9] = [
    ("bytes", "bytes", bytes),
    ("goodput", "bit/s", goodput_bps),
    ("rtt", "s", rtt_s),
    ("cwnd", "bytes", cwnd_bytes),
    ("retransmits", "segments", retransmits),
    ("datagrams", "datagrams", datagrams),
    ("lost", "datagrams", lost),
    ("reordered", "datagrams", reordered),
    ("jitter", "s", jitter_s),
];

fn push_intervals(table: &mut ValueTable, row: &ValueRow<'_>, flow: &FlowTimeline) {
    for interval in &flow.intervals {
        for (metric, unit, quantity) in INTERVAL_QUANTITIES {
            table.push(&ValueRow {
                kind: "interval",
                flow: &flow.name,
                metric,
                unit,
                start_s: Some(interval.start_s),
                end_s: Some(interval.end_s),
                value: quantity(interval).unwrap_or(f64::NAN),
                ..row.clone()
            });
        }
    }
}

/// The values of a run: its estimates and predictions, its intervals, its samples.
#[must_use]
pub fn run_values(run: &Run, series: &[SampleSeries]) -> String {
    let mut table = ValueTable::new(&[]);
    let row = ValueRow {
        id: &run.header.id,
        ..ValueRow::default()
    };
    for direction in run.directions() {
        push_direction(&mut table, &row, direction);
    }
    for size in size_results(run) {
        let flow = format!("{} B", size.size_bytes);
        table.push(&ValueRow {
            kind: "estimate",
            flow: &flow,
            metric: "rtt",
            unit: "s",
            value: size.mean_s,
            low: size.interval.map(|(low, _)| low),
            high: size.interval.map(|(_, high)| high),
            n: Some(size.n),
            ..row.clone()
        });
    }
    if let Some(report) = &run.quality {
        push_quality(&mut table, &row, report);
    }
    if let Some(report) = &run.file {
        push_transfers(&mut table, &row, report);
    }
    if let Some(report) = &run.path {
        push_path(&mut table, &row, report);
    }
    for check in run.predictions() {
        table.push(&ValueRow {
            kind: "predicted",
            metric: &check.prediction.name,
            unit: check.prediction.unit.name(),
            value: check.prediction.value,
            ..row.clone()
        });
    }
    for flow in flows_of_run(run, 0.0) {
        push_intervals(&mut table, &row, &flow);
    }
    for one in round_trip_series(series) {
        let flow = one.size_bytes.map_or_else(
            || one.flow.to_string(),
            |size| format!("{}, {size} B", one.flow),
        );
        for (nth, value) in one.values_s.iter().enumerate() {
            table.push(&ValueRow {
                kind: "sample",
                flow: &flow,
                metric: "rtt",
                unit: "s",
                start_s: Some(nth as f64),
                value: *value,
                ..row.clone()
            });
        }
    }
    table.into_text()
}

/// Adds the time and the goodput of each cell of file transfers, and the time of each transfer.
fn push_transfers(table: &mut ValueTable, row: &ValueRow<'_>, report: &FileReport) {
    for (at, cell) in (0..).zip(&report.cells) {
        let (case, flow) = (cell.cell.content(), cell.cell.name());
        let of_cell = |kind, metric, unit, value| ValueRow {
            kind,
            case: &case,
            flow: &flow,
            metric,
            unit,
            value,
            ..row.clone()
        };
        if let Some(time) = &cell.time_s {
            let has_interval = time.confidence > 0.0;
            table.push(&ValueRow {
                low: has_interval.then_some(time.low),
                high: has_interval.then_some(time.high),
                n: Some(time.n),
                ..of_cell("estimate", "time", "s", time.mean)
            });
        }
        if let Some(goodput_bps) = cell.goodput_bps {
            table.push(&of_cell("estimate", "goodput", "bit/s", goodput_bps));
        }
        let times = report.runs.iter().filter(|run| run.cell == at);
        for (run, time_s) in times.filter_map(|run| Some((run, run.result.time_s()?))) {
            table.push(&ValueRow {
                start_s: run.began_s,
                ..of_cell("sample", "time", "s", time_s)
            });
        }
    }
}

/// Adds the capacity of the narrow link, the path MTU, each hop with the link that leads to it, and each direction between both ends.
fn push_path(table: &mut ValueTable, row: &ValueRow<'_>, report: &PathReport) {
    let of_path = |metric, unit, value| ValueRow {
        kind: "estimate",
        metric,
        unit,
        value,
        ..row.clone()
    };
    if let Some(narrow) = &report.narrow {
        let row = of_path("capacity", "bit/s", 0.0);
        table.push(&row.with_estimate(&narrow.capacity_bps));
    }
    if let Some(mtu) = &report.mtu {
        table.push(&of_path("path_mtu", "bytes", mtu.bytes.as_f64()));
    }
    for hop in &report.hops {
        let address = hop.address.map_or_else(String::new, |at| at.to_string());
        let row = ValueRow {
            case: &format!("hop {}", hop.ttl),
            flow: &address,
            ..row.clone()
        };
        push_hop(table, &row, hop, report.link(hop.ttl));
    }
    let directions = report.between_ends.iter().flat_map(|ends| &ends.directions);
    for of in directions {
        let row = ValueRow {
            case: of.direction.name(),
            ..row.clone()
        };
        push_path_direction(table, &row, of);
    }
}

/// Adds what both ends found of a direction.
fn push_path_direction(table: &mut ValueTable, row: &ValueRow<'_>, of: &PathDirection) {
    let of_direction = |metric, unit, value| ValueRow {
        kind: "estimate",
        metric,
        unit,
        value,
        ..row.clone()
    };
    let narrow = of.narrow.as_ref();
    let estimates = [
        ("capacity", narrow.and_then(|one| one.capacity_bps)),
        (
            "shaped_rate",
            narrow.and_then(|one| Some(one.shaper.as_ref()?.rate_bps)),
        ),
    ];
    for (metric, estimate) in estimates {
        if let Some(estimate) = estimate {
            table.push(&of_direction(metric, "bit/s", 0.0).with_estimate(&estimate));
        }
    }
    let available = of.available.as_ref();
    let window = of.window.as_deref();
    let values = [
        (
            "available_low",
            "bit/s",
            available.map(|found| found.low_bps.as_f64()),
        ),
        (
            "available_high",
            "bit/s",
            available.and_then(|found| Some(found.high_bps?.as_f64())),
        ),
        (
            "bdp",
            "bytes",
            window.and_then(|window| Some(window.bdp_bytes? as f64)),
        ),
        (
            "window_needed",
            "bytes",
            window.and_then(|window| Some(window.needed_bytes? as f64)),
        ),
    ];
    for (metric, unit, value) in values {
        if let Some(value) = value {
            table.push(&of_direction(metric, unit, value));
        }
    }
}

/// Adds the round-trip times and the loss of a hop, and the capacity of the link that leads to it.
fn push_hop(table: &mut ValueTable, row: &ValueRow<'_>, hop: &PathHop, link: Option<&PathLink>) {
    let of_hop = |metric, unit, value| ValueRow {
        kind: "estimate",
        metric,
        unit,
        value,
        ..row.clone()
    };
    if let Some(rtt) = &hop.rtt_ms {
        table.push(&ValueRow {
            low: Some(rtt.mean_low / 1e3),
            high: Some(rtt.mean_high / 1e3),
            n: Some(rtt.n),
            ..of_hop("rtt", "s", rtt.mean / 1e3)
        });
        table.push(&of_hop("rtt_min", "s", rtt.min / 1e3));
        table.push(&of_hop("rtt_max", "s", rtt.max / 1e3));
    }
    // What is not answered is lost only where probes are answered at all, and without a limit.
    if let Some(loss) = hop
        .loss()
        .filter(|_| hop.answering == HopAnswering::Answers)
    {
        table.push(&of_hop("loss", "share", loss));
    }
    if let Some(capacity) = link.and_then(|link| link.capacity_bps) {
        table.push(&of_hop("capacity", "bit/s", 0.0).with_estimate(&capacity));
    }
    if let Some(bound) = link.and_then(|link| link.at_least_bps) {
        table.push(&of_hop("capacity_at_least", "bit/s", bound.as_f64()));
    }
}

/// Adds each phase of a test of latency under load, and the test over time.
fn push_quality(table: &mut ValueTable, row: &ValueRow<'_>, report: &QualityReport) {
    for phase in &report.phases {
        let of_phase = |metric, unit, value| ValueRow {
            kind: "estimate",
            case: phase.load.name(),
            metric,
            unit,
            value,
            ..row.clone()
        };
        for load in &phase.directions {
            let of_phase = ValueRow {
                case: phase.load.name(),
                ..row.clone()
            };
            push_direction(table, &of_phase, &load.summary);
        }
        for probe in &phase.probes {
            let probed = ValueRow {
                flow: probe.probe.title(),
                n: Some(probe.sent),
                ..of_phase("rtt", "s", probe.mean_us / 1e6)
            };
            table.push(&probed);
        }
        if let Some(added) = phase.added_rtt {
            table.push(&of_phase("rtt_added", "s", added.mean_us / 1e6));
        }
        if let Some(found) = phase.responsiveness {
            table.push(&of_phase("rpm", "round trips per minute", found.rpm));
        }
    }
    for one in &report.intervals {
        let seconds = |us: Option<f64>| us.map(|us| us / 1e6);
        for (flow, metric, unit, value) in [
            ("down", "goodput", "bit/s", one.down_bps),
            ("up", "goodput", "bit/s", one.up_bps),
            ("UDP echo", "rtt", "s", seconds(one.rtt_us)),
            ("UDP echo", "loss", "share", one.loss()),
        ] {
            let Some(value) = value else { continue };
            table.push(&ValueRow {
                kind: "interval",
                case: one.load.name(),
                flow,
                metric,
                unit,
                start_s: Some(one.start_s),
                end_s: Some(one.end_s),
                value,
                ..row.clone()
            });
        }
    }
}

/// Adds the goodput and the loss of a direction.
fn push_direction(table: &mut ValueTable, row: &ValueRow<'_>, summary: &DirectionSummary) {
    let loss = summary.loss.as_ref().and_then(|loss| loss.fraction);
    for (metric, unit, estimate) in [
        ("goodput", "bit/s", summary.goodput_bps),
        ("loss", "share", loss),
    ] {
        let Some(estimate) = estimate else { continue };
        let row = ValueRow {
            kind: "estimate",
            flow: summary.direction.name(),
            metric,
            unit,
            ..row.clone()
        };
        table.push(&row.with_estimate(&estimate));
    }
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
            let mut table = ValueTable::new(&[]);
            table.push(&ValueRow {
                flow: text,
                ..ValueRow::default()
            });
            let expected = format!(",,,,,,,{cell},,,,,0,,,\n");
            assert!(table.into_text().ends_with(&expected), "{text:?}");
        }
    }
}
