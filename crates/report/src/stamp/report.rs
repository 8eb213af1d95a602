//! The report of tests with STAMP.

use crate::compare::WithinRunEstimate;
use crate::compare::run_metrics::{RunMetrics, mean};
use crate::export::figures::{cdf_figure, numbered, run_over_time_figure};
use crate::export::page::{Block, Cell, Table, TableColumn};
use crate::export::value_table::{ValueRow, ValueTable};
use crate::export::wording::{about, count};
use crate::kind_report::KindReport;
use crate::round_trip_series::round_trip_series;
use caudal_core::echo::OneWaySummary;
use caudal_core::quantity::Unit;
use caudal_core::run::Run;
use caudal_core::stamp::{StampReport, StampWay};
use caudal_stats::Estimate;
use caudal_store::SampleSeries;

/// The report of tests with STAMP.
pub(crate) struct StampRunReport;

impl KindReport for StampRunReport {
    fn title(&self) -> &'static str {
        "STAMP"
    }

    fn sentences(&self, run: &Run) -> Vec<String> {
        run.stamp().map_or_else(Vec::new, sentences)
    }

    fn sections(&self, run: &Run, series: &[SampleSeries]) -> Vec<(&'static str, Vec<Block>)> {
        let Some(report) = run.stamp() else {
            return Vec::new();
        };
        let trips = round_trip_series(series);
        let values = trips.iter().flat_map(|one| &one.values_s).copied();
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let samples = match values.is_empty() {
            true => Vec::new(),
            false => vec![("all packets".to_owned(), values)],
        };
        let figures = numbered(vec![vec![
            run_over_time_figure("Round-trip times over time", &trips, &run.episodes),
            cdf_figure("Distribution of round-trip times", &samples, &[]),
        ]]);
        vec![
            ("Figures", figures),
            ("Each direction", vec![direction_table(report)]),
        ]
    }

    fn values(&self, run: &Run, row: &ValueRow<'_>, table: &mut ValueTable) {
        let Some(report) = run.stamp() else {
            return;
        };
        if let Some(mean_us) = report.packets.mean_us {
            let rtt = in_seconds(mean_us);
            table.push(&ValueRow {
                kind: "estimate",
                metric: "rtt",
                unit: "s",
                value: rtt.mean,
                low: Some(rtt.low),
                high: Some(rtt.high),
                n: Some(rtt.n),
                ..row.clone()
            });
        }
        for (name, way, _) in directions(report) {
            if let Some(loss) = way.loss {
                table.push(&ValueRow {
                    kind: "estimate",
                    flow: name,
                    metric: "loss",
                    unit: Unit::Share.name(),
                    value: loss.mean,
                    low: Some(loss.low),
                    high: Some(loss.high),
                    n: Some(loss.n),
                    ..row.clone()
                });
            }
        }
    }

    fn metrics(&self, run: &Run, at_s: f64, metrics: &mut RunMetrics) {
        let Some(report) = run.stamp() else {
            return;
        };
        let (seconds, share) = (Some(Unit::Seconds), Some(Unit::Share));
        let mean_s = report.packets.mean_us.map(|us| us.mean / 1e6);
        metrics.add("", "rtt", seconds, at_s, mean_s);
        let within = report.packets.rtt_us.map(|rtt| WithinRunEstimate {
            estimate: in_seconds(rtt.mean_estimate()),
            is_trusted: rtt.mean_trusted,
        });
        metrics.add_within_run("rtt", within);
        metrics.add("", "loss", share, at_s, mean(report.packets.loss));
        for (name, way, delay) in directions(report) {
            metrics.add(name, "loss", share, at_s, mean(way.loss));
            let variation = delay.and_then(|way| way.pdv_p99_us).map(|us| us / 1e6);
            metrics.add(name, "delay variation p99", seconds, at_s, variation);
        }
    }
}

/// The directions with their names.
fn directions(report: &StampReport) -> [(&'static str, &StampWay, Option<&OneWaySummary>); 2] {
    [
        ("up", &report.ways.up, report.packets.up.as_ref()),
        ("down", &report.ways.down, report.packets.down.as_ref()),
    ]
}

/// The result in sentences, the round trips first.
fn sentences(report: &StampReport) -> Vec<String> {
    let packets = &report.packets;
    let times = packets.mean_us.map(|us| {
        format!(
            "The mean round-trip time of {} is {}, without the time at the reflector.",
            count(us.n, "packet"),
            about(us.mean / 1e6, Unit::Seconds)
        )
    });
    let lost = match (packets.lost, report.ways.up.lost, report.ways.down.lost) {
        (0, ..) => "No packet was lost.".to_owned(),
        (lost, Some(up), Some(down)) => format!(
            "{} without a reply: {up} lost on the way there, {down} on the way back, {} in a direction that cannot be told.",
            count(lost, "packet"),
            report.ways.undecided
        ),
        (lost, ..) => format!(
            "{} without a reply; in which direction they were lost cannot be told.",
            count(lost, "packet")
        ),
    };
    times.into_iter().chain([lost]).collect()
}

/// A row for each direction.
fn direction_table(report: &StampReport) -> Block {
    let number = |value: Option<u64>| {
        Cell::new(value.map_or_else(|| "cannot tell".to_owned(), |value| value.to_string()))
    };
    let time = |us: Option<f64>| {
        Cell::new(us.map_or_else(String::new, |us| about(us / 1e6, Unit::Seconds)))
    };
    let rows = directions(report).map(|(name, way, delay)| {
        let name = if name == "up" { "upload" } else { "download" };
        let cells = vec![
            number(way.sent),
            number(way.lost),
            number(way.reordered),
            number(way.duplicate),
            time(delay.and_then(|way| Some(way.delay_us?.p50))),
            time(delay.map(|way| way.pdv_p50_us)),
            time(delay.and_then(|way| way.pdv_p99_us)),
            time(delay.map(|way| way.pdv_max_us)),
        ];
        (name.to_owned(), cells)
    });
    let columns = [
        "packets",
        "lost",
        "reordered",
        "duplicate",
        "delay p50",
        "variation p50",
        "variation p99",
        "variation max",
    ];
    Block::Table(Table {
        caption: "Each direction".to_owned(),
        corner: "direction".to_owned(),
        columns: columns.map(TableColumn::number).to_vec(),
        rows: rows.to_vec(),
        note: Some("The variation of the delay is that above its minimum (RFC 5481).".to_owned()),
    })
}

/// An estimate in microseconds, in seconds.
fn in_seconds(estimate: Estimate) -> Estimate {
    Estimate {
        mean: estimate.mean / 1e6,
        low: estimate.low / 1e6,
        high: estimate.high / 1e6,
        ..estimate
    }
}
