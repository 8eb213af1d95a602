//! The result of a test of the connection rate in a report.

use crate::export::page::{Block, Cell, Table, TableColumn};
use crate::export::wording::{about, count};
use caudal_core::connect::{ConnectFailure, ConnectReport, ConnectTimes};
use caudal_core::quantity::{EstimateInUnit, Unit};

/// The steps of a connection that were timed, in their order, each with the name of its metric.
pub(super) fn steps(
    report: &ConnectReport,
) -> impl Iterator<Item = (&'static str, &'static str, ConnectTimes)> {
    let steps = [
        ("connect", "time to connect", report.connect),
        ("handshake", "TLS handshake", report.handshake),
        ("first_byte", "time to the first byte", report.first_byte),
    ];
    steps
        .into_iter()
        .filter_map(|(metric, title, times)| Some((metric, title, times?)))
}

/// The result in sentences, the rate first.
pub(super) fn sentences(report: &ConnectReport) -> Vec<String> {
    let rate = report.per_s.as_ref().map(|per_s| {
        format!(
            "{} were opened in {:.2} s: {}.",
            count(report.completed, "connection"),
            report.elapsed_s,
            EstimateInUnit::new(per_s, Unit::ConnectionsPerSecond)
        )
    });
    let connect = report.connect.map(|times| {
        format!(
            "The median of the times to connect is {}.",
            about(times.p50_us / 1e6, Unit::Seconds)
        )
    });
    let each = ConnectFailure::ALL.into_iter().filter_map(|failure| {
        let failed = report.failures.count(failure);
        (failed > 0).then(|| format!("{failed} {}", failure.text()))
    });
    let each: Vec<String> = each.collect();
    let failed = if each.is_empty() {
        "None failed.".to_owned()
    } else {
        format!("Not completed: {}.", each.join(", "))
    };
    let limit = report
        .limit
        .as_ref()
        .map(|limit| format!("The rate was limited: {}.", limit.reason));
    let parts = [rate, connect, Some(failed), limit];
    parts.into_iter().flatten().collect()
}

/// A row a step of the connections.
pub(super) fn step_table(report: &ConnectReport) -> Block {
    let time = |us: f64| Cell::new(about(us / 1e6, Unit::Seconds));
    let percentile = |us: Option<f64>| us.map_or_else(|| Cell::new(String::new()), time);
    let rows = steps(report).map(|(_, title, times)| {
        let cells = vec![
            Cell::new(times.n.to_string()),
            time(times.min_us),
            time(times.mean_us),
            time(times.p50_us),
            percentile(times.p90_us),
            percentile(times.p99_us),
            percentile(times.p99_9_us),
            time(times.max_us),
        ];
        (title.to_owned(), cells)
    });
    let columns = ["n", "min", "mean", "p50", "p90", "p99", "p99.9", "max"];
    Block::Table(Table {
        caption: "The times of each step of the connections".to_owned(),
        corner: "step".to_owned(),
        columns: columns.map(TableColumn::number).to_vec(),
        rows: rows.collect(),
        note: Some("A percentile stands only where there are samples enough for it.".to_owned()),
    })
}
