//! The report of bulk transfers.

use super::direction_result::{DirectionResult, add_directions};
use super::trials;
use crate::compare::run_metrics::RunMetrics;
use crate::export::figures::{
    lines_figure, loss_figure, numbered, rates_figure, rtt_figure, window_figure, with_arrivals,
    with_episodes, with_marks, with_rules,
};
use crate::export::page::{Block, Cell, Table, TableColumn};
use crate::export::value_table::{ValueRow, ValueTable};
use crate::export::window_sentences;
use crate::export::wording::{self, about, sentence};
use crate::kind_report::KindReport;
use crate::timeline::quantities::{
    bytes, cwnd_bytes, datagrams, jitter_s, lost, retransmits, rtt_s,
};
use crate::timeline::{FlowTimeline, end_of, flows_of_run, totals_of_run};
use caudal_core::bottleneck::{Bottleneck, LimitedBy};
use caudal_core::plan::Direction;
use caudal_core::quantity::{Unit, size};
use caudal_core::run::{DirectionRepeats, Repeat, RepeatDirection, Run};
use caudal_core::summary::DirectionSummary;
use caudal_core::units::ByteCount;
use caudal_plot::AxisQuantity;
use caudal_stats::Estimate;
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
        let mut sentences: Vec<String> = over_runs(run).collect();
        if let (false, Some(shown)) = (sentences.is_empty(), run.shown_repeat()) {
            sentences.push(format!(
                "Of run {shown}, whose figures and connections follow:"
            ));
        }
        sentences.extend(run.directions().iter().flat_map(direction_result));
        let total = run.throughput().and_then(|summary| summary.goodput_bps);
        if let (true, Some(goodput)) = (sentences.is_empty(), total) {
            sentences.push(format!(
                "{} of payload arrived.",
                about(goodput.mean, Unit::BitPerSecond)
            ));
        }
        sentences
    }

    fn sections(&self, run: &Run, series: &[SampleSeries]) -> Vec<(&'static str, Vec<Block>)> {
        let flows = flows_of_run(run, 0.0);
        let totals = totals_of_run(run, 0.0);
        let goodput = rates_figure("Goodput over time", &flows, &totals, warm_up_end(&flows));
        let goodput = goodput.map(|figure| with_arrivals(figure, series));
        let goodput = goodput.map(|figure| with_rules(figure, ceilings(run)));
        let figures = match self {
            Self::Tcp => vec![
                goodput,
                window_figure("Congestion window and retransmissions", &flows),
                rtt_figure("Round-trip time under load", &flows)
                    .map(|figure| with_rules(figure, idle_rtt(run))),
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
        let end_s = end_of(&flows).unwrap_or(0.0);
        // One below the other, so that their axes of time agree.
        let figures = figures.into_iter().map(|figure| {
            vec![figure.map(|figure| {
                with_marks(with_episodes(figure, &run.episodes, end_s), &run.marks_s)
            })]
        });
        vec![
            ("Trials", run.search().map_or_else(Vec::new, trials::blocks)),
            ("Runs", runs(&run.repeats)),
            ("Figures", numbered(figures.collect())),
            (
                "Connections",
                Block::folded("Each connection", connections(&flows)),
            ),
        ]
    }

    fn values(&self, run: &Run, row: &ValueRow<'_>, table: &mut ValueTable) {
        for over in &run.over_repeats {
            let row = ValueRow {
                kind: "estimate",
                flow: over.direction.name(),
                ..row.clone()
            };
            let goodput = over.goodput_bps.as_ref();
            push_estimate(table, &row, "goodput", "bit/s", goodput);
        }
        for repeat in &run.repeats {
            let row = ValueRow {
                kind: "run",
                repeat: Some(u64::from(repeat.run)),
                discarded: Some(repeat.cut_short.is_some()),
                ..row.clone()
            };
            for direction in &repeat.directions {
                push_repeat(table, &row, direction);
            }
        }
        if run.repeats.is_empty() {
            for direction in run.directions() {
                push_direction(table, row, direction);
            }
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
    let row = ValueRow {
        kind: "estimate",
        ..row.clone()
    };
    push_repeat(table, &row, &RepeatDirection::from(summary));
}

/// The same of one of several runs, or of the only one.
fn push_repeat(table: &mut ValueTable, row: &ValueRow<'_>, direction: &RepeatDirection) {
    let row = ValueRow {
        flow: direction.direction.name(),
        ..row.clone()
    };
    let goodput = ValueRow {
        trusted: direction.goodput_trusted,
        ..row.clone()
    };
    let rate = direction.goodput_bps.as_ref();
    push_estimate(table, &goodput, "goodput", "bit/s", rate);
    let loss = direction.loss.as_ref();
    let loss = loss.and_then(|loss| loss.fraction.as_ref());
    push_estimate(table, &row, "loss", "share", loss);
}

fn push_estimate(
    table: &mut ValueTable,
    row: &ValueRow<'_>,
    metric: &str,
    unit: &str,
    estimate: Option<&Estimate>,
) {
    if let Some(estimate) = estimate {
        let row = ValueRow {
            metric,
            unit,
            ..row.clone()
        };
        table.push(&row.with_estimate(estimate));
    }
}

/// The goodput of each direction over several runs, in sentences; none of a single run.
fn over_runs(run: &Run) -> impl Iterator<Item = String> {
    let complete = run.repeats.iter().filter(|one| one.cut_short.is_none());
    let runs = wording::count(complete.count() as u64, "run");
    let of = move |over: &DirectionRepeats| {
        let goodput = over.goodput_bps.as_ref()?;
        let (mean, interval) = wording::mean_and_interval(goodput, Unit::BitPerSecond, None);
        Some(sentence(&format!(
            "{mean} of payload arrived {}, the mean of {runs}{interval}",
            from_to(over.direction)
        )))
    };
    run.over_repeats.iter().filter_map(of)
}

/// A table of several runs; none of a single one.
fn runs(repeats: &[Repeat]) -> Vec<Block> {
    let mut rows = Vec::new();
    for repeat in repeats {
        let of_both = repeat.directions.len() > 1;
        for direction in &repeat.directions {
            let name = match of_both {
                true => format!("{}, {}", repeat.run, direction.direction.in_text()),
                false => repeat.run.to_string(),
            };
            rows.push((name, run_cells(repeat, direction)));
        }
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let columns = ["goodput", "payload", "lost"].map(TableColumn::number);
    let mut columns = columns.to_vec();
    columns.push(TableColumn::words("cut short, does not count"));
    let (has_loss, has_note) = (
        rows.iter().any(|(_, cells)| !cells[2].text.is_empty()),
        rows.iter().any(|(_, cells)| !cells[3].text.is_empty()),
    );
    for (nth, is_kept) in [(3, has_note), (2, has_loss)] {
        if !is_kept {
            columns.remove(nth);
            rows.iter_mut()
                .for_each(|(_, cells)| drop(cells.remove(nth)));
        }
    }
    vec![Block::Table(Table {
        caption: "Each run".to_owned(),
        corner: "run".to_owned(),
        columns,
        rows,
        note: None,
    })]
}

/// The goodput, the payload, the loss and the end of a direction of a run.
fn run_cells(repeat: &Repeat, direction: &RepeatDirection) -> Vec<Cell> {
    let goodput = direction.goodput_bps;
    let loss = direction.loss.as_ref().and_then(|loss| loss.fraction);
    let end = repeat.cut_short.as_ref();
    let text = |text: Option<String>| Cell::new(text.unwrap_or_default());
    vec![
        text(goodput.map(|goodput| Unit::BitPerSecond.show(goodput.mean))),
        text(direction.bytes.map(|bytes| size(ByteCount::new(bytes)))),
        text(loss.map(|loss| about(loss.mean, Unit::Share))),
        text(end.map(ToString::to_string)),
    ]
}

/// The hosts that a direction is from and to.
const fn from_to(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "from client to server",
        Direction::Down => "from server to client",
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
    let is_trusted = summary.goodput_trusted;
    let (mean, interval) = wording::mean_and_interval(&goodput, Unit::BitPerSecond, is_trusted);
    let text = format!(
        "{mean} of payload arrived {}{interval}",
        from_to(summary.direction)
    );
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

/// What the link can carry in each direction, where it is known, bit/s.
fn ceilings(run: &Run) -> Vec<(f64, &'static str)> {
    let ceiling = |summary: &DirectionSummary| {
        let bps = summary.ceiling.as_ref()?.goodput_bps?;
        Some((bps, "what the link can carry"))
    };
    let mut all: Vec<(f64, &'static str)> = run.directions().iter().filter_map(ceiling).collect();
    all.dedup();
    all
}

/// The round-trip time before the test, s.
fn idle_rtt(run: &Run) -> Vec<(f64, &'static str)> {
    let idle_us = run.throughput().and_then(|summary| summary.idle_rtt_us);
    idle_us
        .map(|us| (us / 1e6, "without load"))
        .into_iter()
        .collect()
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
