//! The tables and figures of a study: those its file asks for, or those that suit its flows.

use caudal_experiment::expression::metric_unit;
use caudal_experiment::{Campaign, FigureFile, FigureKind, FlowKindFile};

use super::lookup::{show, with_interval};
use super::numbers::{Numbers, cases_where, usual_metrics};
use super::{Cell, MetricFindings, Table};

/// The values a metric may have in a table, in the order of its columns.
const COLUMNS: [&str; 4] = ["predicted", "simulated", "published", "observed"];

/// The tables of the file, or one of all cases with the usual metrics.
pub(super) fn tables(campaign: &Campaign, numbers: &Numbers) -> Vec<Table> {
    let files = &campaign.experiment.table;
    if files.is_empty() {
        let cases: Vec<usize> = (0..numbers.cases.len()).collect();
        let title = "All cases".to_owned();
        return vec![table(title, &cases, &usual_metrics(campaign), numbers)];
    }
    files
        .iter()
        .map(|file| {
            let cases = cases_where(campaign, file.when.as_deref());
            let metrics = if file.metrics.is_empty() {
                usual_metrics(campaign)
            } else {
                file.metrics.clone()
            };
            table(file.title.clone(), &cases, &metrics, numbers)
        })
        .collect()
}

fn table(title: String, cases: &[usize], metrics: &[String], numbers: &Numbers) -> Table {
    let known = |metric: &String, which: &str| {
        cases.iter().any(|case| {
            let found = numbers.cases[*case].metrics.get(metric);
            found.is_some_and(|found| !cell(metric, found, which).text.is_empty())
        })
    };
    let columns: Vec<(String, String)> = metrics
        .iter()
        .flat_map(|metric| COLUMNS.map(|which| (metric.clone(), which.to_owned())))
        .filter(|(metric, which)| known(metric, which))
        .collect();
    let rows = cases
        .iter()
        .map(|case| {
            let case = &numbers.cases[*case];
            let cells = columns.iter().map(|(metric, which)| {
                let found = case.metrics.get(metric);
                found.map_or_else(Cell::default, |found| cell(metric, found, which))
            });
            (case.key.clone(), cells.collect())
        })
        .collect();
    Table {
        title,
        columns,
        rows,
    }
}

fn cell(name: &str, metric: &MetricFindings, which: &str) -> Cell {
    let unit = metric_unit(name);
    let plain = |value: Option<f64>| {
        value.map_or_else(Cell::default, |value| Cell {
            text: show(value, unit),
            value: Some(value),
            interval: None,
        })
    };
    match which {
        "predicted" => plain(metric.predicted),
        "simulated" => plain(metric.simulated),
        "published" => plain(metric.published),
        _ => metric.observed.map_or_else(Cell::default, |observed| Cell {
            text: with_interval(&observed, unit),
            value: Some(observed.mean),
            interval: (observed.confidence > 0.0).then_some((observed.low, observed.high)),
        }),
    }
}

/// The figures of the file, or those that suit the flows.
pub(super) fn figures(campaign: &Campaign) -> Vec<FigureFile> {
    let experiment = &campaign.experiment;
    if !experiment.figure.is_empty() {
        return experiment.figure.clone();
    }
    let of = |fits: &dyn Fn(FlowKindFile) -> bool, metric: &str| {
        let flows = experiment.flow.iter().filter(|flow| fits(flow.kind));
        let names = flows.map(|flow| format!("{}.{metric}", flow.name));
        names.collect::<Vec<String>>()
    };
    let traffic = |kind| matches!(kind, FlowKindFile::Tcp | FlowKindFile::Udp);
    let goodputs = of(&traffic, "goodput");
    let echo = of(&|kind| !traffic(kind), "rtt");
    let udp = of(&|kind| kind == FlowKindFile::Udp, "loss");
    let tcp = of(&|kind| kind == FlowKindFile::Tcp, "goodput");
    let figure = |kind, title: &str, metrics: &[String]| FigureFile {
        kind,
        title: title.to_owned(),
        metrics: metrics.to_vec(),
        ..FigureFile::default()
    };
    let mut figures = Vec::new();
    if let Some(contention) = &experiment.contention {
        let by = experiment
            .parameter
            .iter()
            .find(|parameter| parameter.name != contention.load && parameter.values.len() > 1);
        figures.push(FigureFile {
            over: Some(contention.load.clone()),
            by: by.map(|parameter| parameter.name.clone()),
            ..figure(
                FigureKind::Sweep,
                "Goodput over load",
                &[format!("{}.goodput", contention.victim)],
            )
        });
    }
    if !goodputs.is_empty() {
        figures.push(figure(FigureKind::Rates, "Rates over time", &[]));
        if goodputs.len() > 1 {
            figures.push(figure(FigureKind::Share, "Shares over time", &[]));
        }
        figures.push(figure(
            FigureKind::Boxes,
            "Goodput of every trial",
            &goodputs,
        ));
    }
    if !tcp.is_empty() {
        figures.push(figure(
            FigureKind::Window,
            "Congestion window and retransmissions",
            &[],
        ));
    }
    if !udp.is_empty() {
        figures.push(figure(FigureKind::Loss, "Loss and reordering", &[]));
    }
    if !echo.is_empty() {
        figures.push(figure(FigureKind::Rtt, "Round-trip times over time", &echo));
        figures.push(figure(
            FigureKind::Cdf,
            "Distribution of round-trip times",
            &echo,
        ));
    }
    figures
}
