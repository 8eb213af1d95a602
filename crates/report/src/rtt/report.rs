//! The report of round-trip tests.

use crate::compare::WithinRunEstimate;
use crate::compare::run_metrics::{RunMetrics, mean};
use crate::export::figures::{
    box_figure, cdf_figure, first_figure, numbered, run_over_time_figure, sizes_figure,
};
use crate::export::page::{Block, Cell, Table, TableColumn};
use crate::export::value_table::{ValueRow, ValueTable};
use crate::export::window_sentences;
use crate::export::wording::{self, about, count};
use crate::kind_report::KindReport;
use crate::round_trip_series::{RoundTripSeries, round_trip_series};
use crate::size_results::{SizeResult, size_results};
use caudal_core::episode::Episode;
use caudal_core::quantity::Unit;
use caudal_core::run::Run;
use caudal_stats::Estimate;
use caudal_store::SampleSeries;

/// Maximum number of message sizes whose distributions are drawn.
const MAX_SIZES: usize = 6;

/// The report of round-trip tests.
pub(crate) struct RttRunReport;

impl KindReport for RttRunReport {
    fn title(&self) -> &'static str {
        "Round trips"
    }

    fn sentences(&self, run: &Run) -> Vec<String> {
        round_trip_result(run, &size_results(run))
    }

    fn sections(&self, run: &Run, series: &[SampleSeries]) -> Vec<(&'static str, Vec<Block>)> {
        let sizes = size_results(run);
        vec![
            ("Figures", figures(&sizes, series, &run.episodes)),
            ("Round trips", round_trips(&sizes)),
        ]
    }

    fn values(&self, run: &Run, row: &ValueRow<'_>, table: &mut ValueTable) {
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
    }

    fn metrics(&self, run: &Run, at_s: f64, metrics: &mut RunMetrics) {
        for size in run.round_trips().iter().flat_map(|summary| &summary.sizes) {
            let bytes = size.size_bytes;
            let mean_s = size.pooled.mean_us.map(|mean| mean.mean / 1e6);
            metrics.add(
                "",
                &format!("rtt {bytes} B"),
                Some(Unit::Seconds),
                at_s,
                mean_s,
            );
            let within = size.pooled.rtt_us.map(|rtt| WithinRunEstimate {
                estimate: in_seconds(rtt.mean_estimate()),
                is_trusted: rtt.mean_trusted,
            });
            metrics.add_within_run(&format!("rtt {bytes} B"), within);
            let loss = mean(size.pooled.loss);
            metrics.add(
                "",
                &format!("loss {bytes} B"),
                Some(Unit::Share),
                at_s,
                loss,
            );
        }
    }
}

/// The figures, numbered in their order.
fn figures(sizes: &[SizeResult], series: &[SampleSeries], episodes: &[Episode]) -> Vec<Block> {
    let trips = round_trip_series(series);
    let samples = by_size(&trips);
    let quantiles = if samples.is_empty() {
        sizes.iter().map(named_quantiles).collect()
    } else {
        Vec::new()
    };
    let by_size = |figure: Option<_>| figure.filter(|_| sizes.len() > 1);
    numbered(vec![
        vec![by_size(sizes_figure(
            "Round-trip time by message size",
            &[("observed".to_owned(), sizes.to_vec())],
        ))],
        vec![
            run_over_time_figure("Round-trip times over time", &trips, episodes),
            cdf_figure("Distribution of round-trip times", &samples, &quantiles),
        ],
        vec![
            by_size(box_figure("Round-trip times by message size", &trips)),
            first_figure("The first round trips", &smallest(&trips)),
        ],
    ])
}

/// The round-trip times and the messages lost in sentences.
fn round_trip_result(run: &Run, sizes: &[SizeResult]) -> Vec<String> {
    let (Some(summary), [first, ..], Some(last)) = (run.round_trips(), sizes, sizes.last()) else {
        return Vec::new();
    };
    let times = if sizes.len() == 1 {
        format!(
            "The mean round-trip time of a message of {} is {}, over {}.",
            Unit::Bytes.show(first.size_bytes),
            about(first.mean_s, Unit::Seconds),
            count(first.n, "round trip")
        )
    } else {
        format!(
            "The mean round-trip time goes from {} for {} to {} for {}.",
            about(first.mean_s, Unit::Seconds),
            Unit::Bytes.show(first.size_bytes),
            about(last.mean_s, Unit::Seconds),
            Unit::Bytes.show(last.size_bytes)
        )
    };
    let lost = match summary.lost {
        0 => "No message was lost.".to_owned(),
        lost => format!("{} without a reply.", count(lost, "message")),
    };
    vec![times, lost]
        .into_iter()
        .chain(window_sentences::of_round_trips(summary))
        .collect()
}

/// The known points of the distribution of a size, under its name.
fn named_quantiles(size: &SizeResult) -> (String, Vec<(f64, f64)>) {
    let points = size.quantiles.iter().map(|(share, at)| (*at, *share));
    (Unit::Bytes.show(size.size_bytes), points.collect())
}

/// Samples by size, of all connections together, of many sizes at most [`MAX_SIZES`].
fn by_size(trips: &[RoundTripSeries]) -> Vec<(String, Vec<f64>)> {
    let mut sizes: Vec<(Option<f64>, Vec<f64>)> = Vec::new();
    for one in trips {
        let values = one
            .values_s
            .iter()
            .copied()
            .filter(|value| value.is_finite());
        match sizes.iter_mut().find(|known| known.0 == one.size_bytes) {
            Some(known) => known.1.extend(values),
            None => sizes.push((one.size_bytes, values.collect())),
        }
    }
    sizes.retain(|one| !one.1.is_empty());
    let name = |size: Option<f64>| {
        size.map_or_else(|| "all messages".to_owned(), |size| Unit::Bytes.show(size))
    };
    let last = sizes.len().saturating_sub(1);
    let picked: Vec<usize> = if sizes.len() <= MAX_SIZES {
        (0..sizes.len()).collect()
    } else {
        (0..MAX_SIZES)
            .map(|nth| nth * last / (MAX_SIZES - 1))
            .collect()
    };
    picked
        .into_iter()
        .map(|at| (name(sizes[at].0), std::mem::take(&mut sizes[at].1)))
        .collect()
}

/// The connections' round trips with the smallest messages.
fn smallest(trips: &[RoundTripSeries]) -> Vec<RoundTripSeries> {
    let smallest = trips
        .iter()
        .filter_map(|one| one.size_bytes)
        .min_by(f64::total_cmp);
    trips
        .iter()
        .filter(|one| one.size_bytes == smallest)
        .cloned()
        .collect()
}

fn round_trips(sizes: &[SizeResult]) -> Vec<Block> {
    if sizes.is_empty() {
        return Vec::new();
    }
    let time = |value: Option<f64>| {
        Cell::new(value.map_or(String::new(), |value| about(value, Unit::Seconds)))
    };
    let rows = sizes.iter().map(|one| {
        let quantile = |share: f64| {
            let known = one.quantiles.iter().find(|known| known.0 == share);
            time(known.map(|known| known.1))
        };
        let mean = Cell {
            text: about(one.mean_s, Unit::Seconds),
            beside: one
                .interval
                .map(|(low, high)| wording::span(low, high, Unit::Seconds)),
            mark: None,
        };
        let cells = vec![
            Cell::new(one.n.to_string()),
            time(one.first_s),
            mean,
            quantile(0.0),
            quantile(0.5),
            quantile(0.9),
            quantile(0.99),
            quantile(1.0),
        ];
        (Unit::Bytes.show(one.size_bytes), cells)
    });
    let columns = ["n", "first", "mean", "min", "p50", "p90", "p99", "max"];
    vec![Block::Table(Table {
        caption: "Round-trip times by message size, all connections together".to_owned(),
        corner: "message".to_owned(),
        columns: columns.map(TableColumn::number).to_vec(),
        rows: rows.collect(),
        note: Some(
            "Under the mean its interval. A percentile stands only where there are samples enough for it."
                .to_owned(),
        ),
    })]
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
