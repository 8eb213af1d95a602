//! The report of several tests of one host.

use crate::compare::run_metrics::{RunMetrics, mean};
use crate::export::page::{Block, Cell, Table, TableColumn};
use crate::export::value_table::{ValueRow, ValueTable};
use crate::kind_report::KindReport;
use caudal_core::check::{CheckReport, CheckVerdict, FindingWeight, Suitability, UseSuitability};
use caudal_core::plan::Direction;
use caudal_core::quantity::Unit;
use caudal_core::run::Run;
use caudal_stats::Estimate;
use caudal_store::SampleSeries;
use caudal_views::check::lines;

/// The report of several tests of one host.
pub(crate) struct CheckRunReport;

/// A figure of a check.
struct CheckMetric {
    name: &'static str,
    direction: Option<Direction>,
    unit: Unit,
    value: Estimate,
}

impl KindReport for CheckRunReport {
    fn title(&self) -> &'static str {
        "Check of a path"
    }

    fn sentences(&self, run: &Run) -> Vec<String> {
        let Some(report) = run.check() else {
            return Vec::new();
        };
        let verdict = match report.verdict {
            CheckVerdict::Healthy => "Healthy: nothing wrong was found.",
            CheckVerdict::Unhealthy => "Not healthy.",
            CheckVerdict::Undecided => "It cannot be told whether the path is healthy.",
        };
        let found = report.findings.iter().map(|finding| {
            let mark = match finding.weight {
                FindingWeight::Problem => "Wrong",
                FindingWeight::Doubt => "Cannot tell",
                FindingWeight::Note => "Note",
            };
            let remedy = if finding.remedy.is_empty() {
                String::new()
            } else {
                format!(" What to do: {}.", finding.remedy)
            };
            format!("{mark}: {}.{remedy}", finding.finding)
        });
        std::iter::once(verdict.to_owned()).chain(found).collect()
    }

    fn sections(&self, run: &Run, _: &[SampleSeries]) -> Vec<(&'static str, Vec<Block>)> {
        let Some(report) = run.check() else {
            return Vec::new();
        };
        vec![
            ("What was measured", vec![figure_table(report, &host(run))]),
            ("What it is good for", vec![use_table(&report.uses)]),
        ]
    }

    fn values(&self, run: &Run, row: &ValueRow<'_>, table: &mut ValueTable) {
        let Some(report) = run.check() else {
            return;
        };
        for metric in metrics(report) {
            let has_interval = metric.value.low < metric.value.high;
            table.push(&ValueRow {
                kind: "estimate",
                flow: metric.direction.map_or("", Direction::name),
                metric: metric.name,
                unit: metric.unit.name(),
                value: metric.value.mean,
                low: has_interval.then_some(metric.value.low),
                high: has_interval.then_some(metric.value.high),
                ..row.clone()
            });
        }
    }

    fn metrics(&self, run: &Run, at_s: f64, metrics: &mut RunMetrics) {
        for metric in run.check().map_or_else(Vec::new, self::metrics) {
            let direction = metric.direction.map_or("", Direction::name);
            let name = format!("{} {direction}", metric.name);
            let value = mean(Some(metric.value));
            metrics.add("", name.trim(), Some(metric.unit), at_s, value);
        }
    }
}

/// The figures that are compared.
fn metrics(report: &CheckReport) -> Vec<CheckMetric> {
    let mut all = Vec::new();
    let mut add = |name, direction, unit, value: Option<Estimate>| {
        all.extend(value.map(|value| CheckMetric {
            name,
            direction,
            unit,
            value,
        }));
    };
    let scaled = |us: Estimate| Estimate {
        mean: us.mean / 1e6,
        low: us.low / 1e6,
        high: us.high / 1e6,
        ..us
    };
    let rtt = report
        .round_trips
        .as_ref()
        .map(|trips| scaled(trips.mean_us));
    add("rtt", None, Unit::Seconds, rtt);
    for tcp in &report.tcp {
        let of = Some(tcp.direction);
        add("goodput", of, Unit::BitPerSecond, tcp.one_bps);
        add(
            "goodput of several flows",
            of,
            Unit::BitPerSecond,
            tcp.several_bps,
        );
    }
    for udp in &report.udp {
        add("loss", Some(udp.direction), Unit::Share, udp.loss);
    }
    for load in report.load.iter().flat_map(|load| &load.directions) {
        let added = Estimate::single(load.added_us / 1e6);
        add(
            "added delay",
            Some(load.direction),
            Unit::Seconds,
            Some(added),
        );
    }
    all
}

/// The host as it was given; `HOST` where that is not known.
fn host(run: &Run) -> String {
    run.plan
        .peer()
        .map_or_else(|| "HOST".to_owned(), ToString::to_string)
}

/// The lines that the command shows, each with the command that measures it closely.
fn figure_table(report: &CheckReport, host: &str) -> Block {
    let rows = lines(report).into_iter().map(|line| {
        let command = format!("caudal {} {host}", line.command);
        let cells = vec![Cell::new(line.text), Cell::new(command)];
        (line.name.to_owned(), cells)
    });
    Block::Table(Table {
        caption: "What was measured, and the command that measures it closely".to_owned(),
        corner: "test".to_owned(),
        columns: ["result", "command"].map(TableColumn::words).to_vec(),
        rows: rows.collect(),
        note: None,
    })
}

fn use_table(uses: &[UseSuitability]) -> Block {
    let rows = uses.iter().map(|one| {
        let answer = match one.suitability {
            Suitability::Suited => "yes",
            Suitability::WithoutLoad => "while nothing else loads the network",
            Suitability::Unsuited => "no",
            Suitability::Unknown => "cannot tell",
        };
        let cells = vec![Cell::new(answer.to_owned()), Cell::new(one.reason.clone())];
        (one.r#use.name().to_owned(), cells)
    });
    Block::Table(Table {
        caption: "What the network is good for".to_owned(),
        corner: "use".to_owned(),
        columns: ["good for it", "because"].map(TableColumn::words).to_vec(),
        rows: rows.collect(),
        note: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::check::CheckTcp;

    #[test]
    fn figures_have_their_direction_and_their_interval() {
        let report = CheckReport {
            tcp: vec![CheckTcp {
                direction: Direction::Down,
                one_bps: Some(Estimate::single(1e6)),
                one_limited_by: None,
                several: 8,
                several_bps: Some(Estimate::single(2e6)),
                several_limited_by: None,
                gain: Some(2.0),
            }],
            ..CheckReport::default()
        };
        let names: Vec<_> = metrics(&report)
            .iter()
            .map(|metric| (metric.name, metric.value.mean))
            .collect();
        assert_eq!(names, [("goodput", 1e6), ("goodput of several flows", 2e6)]);
    }
}
