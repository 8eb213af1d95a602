//! The report of bulk transfers.

use super::direction_result::{DirectionResult, add_directions};
use crate::compare::run_metrics::RunMetrics;
use crate::export::figures::{
    lines_figure, loss_figure, numbered, rates_figure, rtt_figure, window_figure,
};
use crate::export::page::{Block, Cell, Table, TableColumn};
use crate::export::value_table::{ValueRow, ValueTable};
use crate::export::window_sentences;
use crate::export::wording::{self, about, sentence};
use crate::kind_report::KindReport;
use crate::timeline::quantities::{
    bytes, cwnd_bytes, datagrams, jitter_s, lost, retransmits, rtt_s,
};
use crate::timeline::{FlowTimeline, flows_of_run, totals_of_run};
use caudal_core::bottleneck::{Bottleneck, LimitedBy};
use caudal_core::plan::Direction;
use caudal_core::quantity::Unit;
use caudal_core::run::{Repeat, Run};
use caudal_core::summary::DirectionSummary;
use caudal_plot::AxisQuantity;
use caudal_store::SampleSeries;

/// The report of bulk transfers, by their transport.
pub(crate) enum BulkReport {
    /// Over TCP.
    Tcp,
    /// Over UDP.
    Udp,
}

impl KindReport for BulkReport {
    fn title(&self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
        }
    }

    fn sentences(&self, run: &Run) -> Vec<String> {
        let mut sentences: Vec<String> =
            run.directions().iter().flat_map(direction_result).collect();
        let total = run.throughput().and_then(|summary| summary.goodput_bps);
        if let (true, Some(goodput)) = (sentences.is_empty(), total) {
            sentences.push(format!(
                "{} of payload arrived.",
                about(goodput.mean, Unit::BitPerSecond)
            ));
        }
        sentences
    }

    fn sections(&self, run: &Run, _: &[SampleSeries]) -> Vec<(&'static str, Vec<Block>)> {
        let flows = flows_of_run(run, 0.0);
        let totals = totals_of_run(run, 0.0);
        let goodput = rates_figure("Goodput over time", &flows, &totals, warm_up_end(&flows));
        let figures = match self {
            Self::Tcp => vec![
                goodput,
                window_figure("Congestion window and retransmissions", &flows),
                rtt_figure("Round-trip time under load", &flows),
            ],
            Self::Udp => {
                let what = ("smoothed jitter", AxisQuantity::Seconds, Unit::Seconds);
                vec![
                    goodput,
                    loss_figure("Loss and reordering", &flows),
                    lines_figure("jitter", "Jitter (RFC 3550)", &flows, what, &jitter_s),
                ]
            }
        };
        vec![
            ("Figures", numbered(figures)),
            ("Connections", connections(&flows)),
        ]
    }

    fn values(&self, run: &Run, row: &ValueRow<'_>, table: &mut ValueTable) {
        for direction in run.directions() {
            push_direction(table, row, direction);
        }
    }

    fn metrics(&self, run: &Run, at_s: f64, metrics: &mut RunMetrics) {
        if run.repeats.is_empty() {
            let directions = run.directions().iter().map(DirectionResult::from);
            add_directions(metrics, &directions.collect::<Vec<_>>(), at_s);
        } else {
            add_repeats(metrics, &run.repeats, at_s);
        }
    }
}

/// Adds each of several runs of one command. One without a date is taken to follow the one before without a pause.
fn add_repeats(metrics: &mut RunMetrics, repeats: &[Repeat], began_s: f64) {
    let mut at_s = began_s;
    for repeat in repeats {
        if repeat.cut_short.is_none() {
            let directions = repeat.directions.iter().map(DirectionResult::from);
            let at_s = repeat.began_s.unwrap_or(at_s);
            add_directions(metrics, &directions.collect::<Vec<_>>(), at_s);
        } else {
            metrics.cut_short += 1;
        }
        let measured_s = repeat.directions.first().map_or(0.0, |one| one.measured_s);
        at_s += measured_s.max(1e-3);
    }
}

/// Adds the goodput and the loss of a direction to a table of values.
pub(crate) fn push_direction(
    table: &mut ValueTable,
    row: &ValueRow<'_>,
    summary: &DirectionSummary,
) {
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

/// The end of the warm-up, s; `None` without one.
fn warm_up_end(flows: &[FlowTimeline]) -> Option<f64> {
    let intervals = flows.iter().flat_map(|flow| &flow.intervals);
    let omitted = intervals.filter(|interval| interval.omitted);
    omitted
        .map(|interval| interval.end_s)
        .max_by(f64::total_cmp)
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
