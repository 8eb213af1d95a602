//! The report of a single run, whichever tool measured it.

use super::both_ends_section;
use super::capture_section::capture;
use super::figures::{
    box_figure, cdf_figure, first_figure, lines_figure, loss_figure, quality_panels, rates_figure,
    rtt_figure, sizes_figure, window_figure,
};
use super::page::{
    Block, CaptionedFigure, Cell, FigureGroup, Item, Mark, Page, Section, Table, TableColumn,
};
use super::path_section;
use super::quality_section;
use super::study_page::{counted_items, environment};
use super::transfer_section;
use super::window_sentences;
use super::wording::{self, about, count, sentence};
use crate::round_trip_series::{RoundTripSeries, round_trip_series};
use crate::size_results::{SizeResult, size_results};
use crate::timeline::quantities::{
    bytes, cwnd_bytes, datagrams, jitter_s, lost, retransmits, rtt_s,
};
use crate::timeline::{FlowTimeline, flows_of_run, totals_of_run};
use caudal_core::bottleneck::{Bottleneck, LimitedBy};
use caudal_core::plan::{Direction, PlanKind};
use caudal_core::prediction::PredictionCheck;
use caudal_core::quantity::Unit;
use caudal_core::run::Run;
use caudal_core::summary::DirectionSummary;
use caudal_core::text::ExternalText;
use caudal_plot::AxisQuantity;
use caudal_store::SampleSeries;

/// The maximum number of message sizes whose distributions are drawn.
const MAX_SIZES: usize = 6;

/// The report of a run. With `data`, its document is in the file of that name beside it.
#[must_use]
pub fn run_page(run: &Run, series: &[SampleSeries], data: Option<&str>) -> Page {
    let kind = run.kind().unwrap_or(PlanKind::Tcp);
    let flows = flows_of_run(run, 0.0);
    let totals = totals_of_run(run, 0.0);
    let sizes = size_results(run);
    let environment = run.environment.as_ref().map(environment);
    let sections = [
        ("Result", result(run, &sizes)),
        ("Predicted, observed", predictions(run.predictions())),
        ("Hops", hops(run)),
        ("Both ends", both_ends(run)),
        ("Phases", phases(run)),
        ("Transfers", transfers(run)),
        ("Panels", panels(run)),
        ("Figures", figures(kind, (&flows, &totals), &sizes, series)),
        ("Connections", connections(&flows)),
        ("Round trips", round_trips(&sizes)),
        ("Environment", environment.unwrap_or_default()),
        ("Warnings", warnings(run)),
        ("Capture", capture(run)),
        ("Command", command(run)),
        ("Data", raw_data(run, data)),
    ];
    let sections = sections
        .into_iter()
        .filter(|(_, blocks)| !blocks.is_empty());
    Page {
        title: title(run, kind),
        lead: None,
        byline: byline(run),
        sections: sections
            .map(|(heading, blocks)| Section {
                heading: heading.to_owned(),
                blocks,
            })
            .collect(),
    }
}

fn title(run: &Run, kind: PlanKind) -> String {
    let workload = match kind {
        PlanKind::Tcp => "TCP",
        PlanKind::Udp => "UDP",
        PlanKind::Rtt => "Round trips",
        PlanKind::Quality => "Latency under load",
        PlanKind::File => "File transfer",
        PlanKind::Path => "Path",
    };
    match &run.plan.peer {
        Some(peer) => format!("{workload} to {peer}"),
        None => workload.to_owned(),
    }
}

fn byline(run: &Run) -> Vec<String> {
    let header = &run.header;
    let version = header
        .tool
        .version
        .as_ref()
        .map(ExternalText::as_received)
        .unwrap_or("");
    let started = Some(&header.started).filter(|started| !started.is_empty());
    let imported = run.imported.as_ref();
    let parts = [
        started.cloned(),
        Some(
            format!("{} {version}", header.tool.name)
                .trim_end()
                .to_owned(),
        ),
        imported.map(|import| format!("imported from {}", import.file)),
        Some(header.id.chars().take(8).collect()),
    ];
    parts.into_iter().flatten().collect()
}

/// The results in sentences.
fn result(run: &Run, sizes: &[SizeResult]) -> Vec<Block> {
    let mut sentences: Vec<String> = run.directions().iter().flat_map(direction_result).collect();
    let total = run.throughput().and_then(|summary| summary.goodput_bps);
    if let (true, Some(goodput)) = (sentences.is_empty(), total) {
        sentences.push(format!(
            "{} of payload arrived.",
            about(goodput.mean, Unit::BitPerSecond)
        ));
    }
    sentences.extend(round_trip_result(run, sizes));
    if let Some(report) = &run.path {
        sentences.extend(both_ends_section::sentences(report));
        sentences.extend(path_section::sentences(report));
    }
    if let Some(report) = &run.quality {
        sentences.extend(quality_section::sentences(report));
    }
    if let Some(report) = &run.file {
        sentences.extend(transfer_section::sentences(report));
    }
    if let Some(search) = &run.search {
        sentences.push(match search.found.rate_bps {
            Some(rate) => format!(
                "The highest rate within the loss limit is {} of payload a flow.",
                about(rate as f64, Unit::BitPerSecond)
            ),
            None => "No rate was within the loss limit.".to_owned(),
        });
    }
    if sentences.is_empty() {
        sentences.push("The run has no result.".to_owned());
    }
    sentences.into_iter().map(Block::Lead).collect()
}

/// The cells of file transfers, and their ratios.
fn transfers(run: &Run) -> Vec<Block> {
    let report = run.file.as_deref();
    report.map_or_else(Vec::new, transfer_section::tables)
}

/// The figure of a path and its hops.
fn hops(run: &Run) -> Vec<Block> {
    let Some(report) = &run.path else {
        return Vec::new();
    };
    let figure = path_section::figure(report).map(Block::Path);
    let table = path_section::table(report);
    figure.into_iter().chain(table).collect()
}

/// What both ends of a path found together.
fn both_ends(run: &Run) -> Vec<Block> {
    let report = run.path.as_deref();
    report.map_or_else(Vec::new, both_ends_section::tables)
}

/// The phases of a test of latency under load.
fn phases(run: &Run) -> Vec<Block> {
    let table = run.quality.as_deref().map(quality_section::phase_table);
    table.into_iter().collect()
}

/// The panels of a test of latency under load, one below the other.
fn panels(run: &Run) -> Vec<Block> {
    let panels = run.quality.as_deref().map(quality_panels);
    let group = |figures| {
        Block::Figures(FigureGroup {
            title: String::new(),
            figures,
            notes: Vec::new(),
        })
    };
    panels.map(group).into_iter().collect()
}

/// The goodput of a direction, its loss and its bottleneck in sentences.
fn direction_result(summary: &DirectionSummary) -> Vec<String> {
    let Some(goodput) = summary.goodput_bps else {
        let sent = summary.sent_bps.map(|sent| about(sent, Unit::BitPerSecond));
        let sentence = sent.map(|sent| {
            format!("{sent} of payload left the sender; the amount that arrived is not reported.")
        });
        return sentence.into_iter().collect();
    };
    let direction = match summary.direction {
        Direction::Up => "from client to server",
        Direction::Down => "from server to client",
    };
    let mut text = format!(
        "{} of payload arrived {direction}",
        about(goodput.mean, Unit::BitPerSecond)
    );
    if goodput.confidence > 0.0 {
        text += &format!(
            " ({} interval {})",
            wording::level(goodput.confidence),
            wording::span(goodput.low, goodput.high, Unit::BitPerSecond)
        );
    }
    let loss = summary.loss.as_ref().and_then(|loss| loss.fraction);
    let loss = loss.map(|loss| {
        let share = about(loss.mean, Unit::Share);
        format!("{share} of its datagrams were lost.")
    });
    let bottleneck = summary.limited_by.as_ref().map(bottleneck);
    let sentences = [Some(sentence(&text)), loss, bottleneck];
    let sentences = sentences.into_iter().flatten();
    sentences
        .chain(window_sentences::of_direction(summary))
        .collect()
}

fn bottleneck(limited_by: &LimitedBy) -> String {
    let evidence = &limited_by.evidence;
    match limited_by.limit {
        Bottleneck::Unknown => sentence(&format!("the bottleneck is unknown: {evidence}")),
        _ => sentence(&format!("limited by {}: {evidence}", limited_by.name())),
    }
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

fn predictions(checks: &[PredictionCheck]) -> Vec<Block> {
    if checks.is_empty() {
        return Vec::new();
    }
    let row = |check: &PredictionCheck| {
        let prediction = &check.prediction;
        let value = |value: f64| Cell::new(about(value, prediction.unit));
        let difference = check.difference.map_or(String::new(), wording::percent);
        let word = match (check.holds, check.is_upper_bound()) {
            (true, true) => "a bound, which holds",
            (true, false) => "yes",
            (false, _) => "no",
        };
        let at_most = if check.is_upper_bound() {
            "at most "
        } else {
            ""
        };
        let why = check
            .why
            .as_ref()
            .map_or(String::new(), |why| format!(": {why}"));
        let cells = vec![
            Cell::new(format!(
                "{at_most}{}",
                about(prediction.value, prediction.unit)
            )),
            value(check.observed),
            Cell::new(difference),
            Cell {
                text: format!("{word}{why}"),
                beside: None,
                mark: Some(Mark::from(Some(check.holds))),
            },
        ];
        (prediction.title.clone(), cells)
    };
    let mut columns = ["predicted", "observed", "difference"]
        .map(TableColumn::number)
        .to_vec();
    columns.push(TableColumn::words("within tolerance"));
    vec![Block::Table(Table {
        caption: "Predictions beside the values observed".to_owned(),
        corner: "prediction".to_owned(),
        columns,
        rows: checks.iter().map(row).collect(),
        note: None,
    })]
}

/// The figures that suit the workload, numbered in their order.
fn figures(
    kind: PlanKind,
    (flows, totals): (&[FlowTimeline], &[FlowTimeline]),
    sizes: &[SizeResult],
    series: &[SampleSeries],
) -> Vec<Block> {
    let figures = match kind {
        PlanKind::Tcp => vec![
            rates_figure("Goodput over time", flows, totals, warm_up_end(flows)),
            window_figure("Congestion window and retransmissions", flows),
            rtt_figure("Round-trip time under load", flows),
        ],
        PlanKind::Udp => {
            let what = ("smoothed jitter", AxisQuantity::Seconds, Unit::Seconds);
            vec![
                rates_figure("Goodput over time", flows, totals, warm_up_end(flows)),
                loss_figure("Loss and reordering", flows),
                lines_figure("jitter", "Jitter (RFC 3550)", flows, what, &jitter_s),
            ]
        }
        // Its panels are drawn by themselves, on one time axis.
        PlanKind::Quality => Vec::new(),
        // A transfer has a duration and no intervals.
        PlanKind::File => Vec::new(),
        // Its figure is that of its hops.
        PlanKind::Path => Vec::new(),
        PlanKind::Rtt => {
            let trips = round_trip_series(series);
            let samples = by_size(&trips);
            let quantiles = if samples.is_empty() {
                sizes.iter().map(named_quantiles).collect()
            } else {
                Vec::new()
            };
            let by_size = |figure: Option<_>| figure.filter(|_| sizes.len() > 1);
            vec![
                by_size(sizes_figure(
                    "Round-trip time by message size",
                    &[("observed".to_owned(), sizes.to_vec())],
                )),
                cdf_figure("Distribution of round-trip times", &samples, &quantiles),
                by_size(box_figure("Round-trip times by message size", &trips)),
                first_figure("The first round trips", &smallest(&trips)),
            ]
        }
    };
    let drawn = (1..).zip(figures.into_iter().flatten());
    let block = |(nth, mut figure): (usize, CaptionedFigure)| {
        figure.name = format!("{nth:02}-{}", figure.name);
        Block::Figures(FigureGroup {
            title: String::new(),
            figures: vec![figure],
            notes: Vec::new(),
        })
    };
    drawn.map(block).collect()
}

/// The known points of the distribution of a size, under its name.
fn named_quantiles(size: &SizeResult) -> (String, Vec<(f64, f64)>) {
    let points = size.quantiles.iter().map(|(share, at)| (*at, *share));
    (Unit::Bytes.show(size.size_bytes), points.collect())
}

/// The end of the warm-up, s; `None` without one.
fn warm_up_end(flows: &[FlowTimeline]) -> Option<f64> {
    let intervals = flows.iter().flat_map(|flow| &flow.intervals);
    let omitted = intervals.filter(|interval| interval.omitted);
    omitted
        .map(|interval| interval.end_s)
        .max_by(f64::total_cmp)
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

/// A column of the table of connections: its head, its unit and its value.
type ConnectionColumn = (&'static str, Unit, fn(&FlowTimeline) -> Option<f64>);

/// The columns of the table of connections; one that no connection has a value for is left out.
const CONNECTION_COLUMNS: [ConnectionColumn; 7] = [
    ("goodput", Unit::BitPerSecond, FlowTimeline::mean_rate),
    ("payload", Unit::Bytes, |flow| {
        flow.intervals.iter().map(bytes).sum()
    }),
    ("retransmitted", Unit::Segments, |flow| {
        flow.sum(retransmits)
    }),
    ("max. window", Unit::Bytes, |flow| flow.max(cwnd_bytes)),
    ("max. RTT", Unit::Seconds, |flow| flow.max(rtt_s)),
    ("max. jitter", Unit::Seconds, |flow| flow.max(jitter_s)),
    ("lost", Unit::Share, |flow| {
        let (lost, arrived) = (flow.sum(lost)?, flow.sum(datagrams)?);
        (lost + arrived > 0.0).then(|| (lost / (lost + arrived)).max(0.0))
    }),
];

fn connections(flows: &[FlowTimeline]) -> Vec<Block> {
    if flows.is_empty() {
        return Vec::new();
    }
    let mut columns = Vec::new();
    let mut rows: Vec<(String, Vec<Cell>)> = flows
        .iter()
        .map(|flow| (flow.name.clone(), Vec::new()))
        .collect();
    for (name, unit, value) in CONNECTION_COLUMNS {
        let values: Vec<Option<f64>> = flows.iter().map(value).collect();
        if values.iter().any(Option::is_some) {
            columns.push(TableColumn::number(name));
            for ((_, cells), value) in rows.iter_mut().zip(values) {
                let text = value.map_or(String::new(), |value| about(value, unit));
                cells.push(Cell::new(text));
            }
        }
    }
    vec![Block::Table(Table {
        caption: "Each connection over its intervals".to_owned(),
        corner: "connection".to_owned(),
        columns,
        rows,
        note: None,
    })]
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

fn warnings(run: &Run) -> Vec<Block> {
    let cut_short = run
        .round_trips()
        .and_then(|summary| summary.cut_short.as_ref());
    let cut_short = cut_short.map(|why| format!("the run ended early: {why}"));
    let warnings = run.warnings.iter().map(|warning| {
        if warning.remedy.is_empty() {
            warning.message.to_string()
        } else {
            format!("{}; {}", warning.message, warning.remedy)
        }
    });
    let items: Vec<Item> = counted_items(cut_short.into_iter().chain(warnings));
    if items.is_empty() {
        vec![Block::Text("There are no warnings.".to_owned())]
    } else {
        vec![Block::List(items)]
    }
}

fn command(run: &Run) -> Vec<Block> {
    let command = run.header.command.iter();
    command
        .map(|command| Block::Command(command.to_string()))
        .collect()
}

fn raw_data(run: &Run, data: Option<&str>) -> Vec<Block> {
    let id: String = run.header.id.chars().take(12).collect();
    let file = data.map(|name| {
        let text = format!("The whole run as JSON: {name}");
        Block::Link(text, name.to_owned())
    });
    let from_store = [
        Block::Text("From the store that has the run:".to_owned()),
        Block::Command(format!(
            "caudal report export {id} --json\ncaudal report export {id} --csv"
        )),
    ];
    file.into_iter().chain(from_store).collect()
}
