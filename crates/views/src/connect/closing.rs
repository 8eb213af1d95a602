//! The closing block of a test of the connection rate: the rate first, then the times of each step, what failed, and what limited it.

use crate::closing::ClosingLine;
use crate::emphasis::EmphasizedLine;
use crate::fitted_row::{FittedCell, fitted_row};
use crate::text::{fold, percent, time_us, warnings};
use crate::text_form::TextForm;
use crate::width::LineWidth;
use caudal_core::connect::{ConnectFailure, ConnectReport, ConnectServer, ConnectTimes};
use caudal_core::quantity::{EstimateInUnit, Unit};
use caudal_core::run::Run;

/// The lines of the closing block.
#[must_use]
pub fn result_lines(run: &Run, form: TextForm) -> Vec<ClosingLine> {
    let Some(report) = run.connect() else {
        return Vec::new();
    };
    let mut lines = vec![ClosingLine::Emphasized(headline(report))];
    let text = |line: &str| ClosingLine::Text(fold(line, 4, form.width));
    let steps = step_table(report, form.width).into_iter();
    lines.extend(steps.map(ClosingLine::Text));
    lines.push(text(&failures(report)));
    if let Some(limit) = report.limit.as_ref().filter(|_| !form.quiet) {
        lines.push(text(&format!("limited by: {}", limit.reason)));
    }
    lines.extend(warnings(run, form.width).into_iter().map(ClosingLine::Text));
    lines
}

/// The rate with its interval.
fn headline(report: &ConnectReport) -> EmphasizedLine {
    let Some(per_s) = &report.per_s else {
        return EmphasizedLine {
            before: String::new(),
            bold: "no rate".to_owned(),
            after: ": the test took no time".to_owned(),
        };
    };
    let shown = EstimateInUnit::new(per_s, Unit::ConnectionsPerSecond);
    let interval = shown
        .confidence_interval()
        .map_or_else(String::new, |interval| format!(" ({interval})"));
    EmphasizedLine {
        before: String::new(),
        bold: shown.mean(),
        after: format!(
            "{interval}: {} in {:.2} s",
            report.completed, report.elapsed_s
        ),
    }
}

/// The times of each step, a row each below their header; none where no connection opened.
fn step_table(report: &ConnectReport, width: LineWidth) -> Vec<String> {
    let steps = [
        ("time to connect", &report.connect),
        ("TLS handshake", &report.handshake),
        ("to first byte", &report.first_byte),
    ];
    let row = |(name, times): (&str, &Option<ConnectTimes>)| {
        let times = times.as_ref()?;
        let shown = [
            Some(times.min_us),
            Some(times.p50_us),
            times.p90_us,
            times.p99_us,
            times.p99_9_us,
            Some(times.max_us),
        ];
        let shown = shown.map(|us| us.map_or_else(|| "–".to_owned(), time_us));
        Some(cells(name, shown, width))
    };
    let rows: Vec<String> = steps.into_iter().filter_map(row).collect();
    let header = ["min", "p50", "p90", "p99", "p99.9", "max"].map(str::to_owned);
    let header = (!rows.is_empty()).then(|| cells("", header, width));
    header.into_iter().chain(rows).collect()
}

fn cells(name: &str, times: [String; 6], width: LineWidth) -> String {
    let [min, p50, p90, p99, p99_9, max] = times;
    let cells = [
        FittedCell::new(format!("{name:<15}"), 15, 0),
        FittedCell::new(min, 10, 3),
        FittedCell::new(p50, 10, 0),
        FittedCell::new(p90, 10, 4),
        FittedCell::new(p99, 10, 1),
        FittedCell::new(p99_9, 10, 5),
        FittedCell::new(max, 10, 2),
    ];
    fitted_row(&cells, width)
}

/// Connections that were not completed, by the reason.
fn failures(report: &ConnectReport) -> String {
    let failed = report.failures.total();
    if failed == 0 {
        let answered = match report.server {
            ConnectServer::Caudal => "completed and answered",
            ConnectServer::TcpPort => "completed",
        };
        return format!("failed: none; all {} were {answered}", report.attempts);
    }
    let each = ConnectFailure::ALL.into_iter().filter_map(|failure| {
        let count = report.failures.count(failure);
        (count > 0).then(|| format!("{count} {}", failure.text()))
    });
    let each: Vec<String> = each.collect();
    let share = failed as f64 / report.attempts.max(1) as f64;
    let text = report
        .last_failure
        .as_ref()
        .map_or_else(String::new, |text| format!("; the last: {text}"));
    format!(
        "failed: {failed} of {} ({}): {}{text}",
        report.attempts,
        percent(share),
        each.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::connect::ConnectFailures;

    #[test]
    fn the_steps_are_a_table_of_80_columns() {
        let times = ConnectTimes {
            n: 100,
            min_us: 21.34,
            mean_us: 30.0,
            p50_us: 1_234_000.0,
            p90_us: Some(99.1),
            p99_us: None,
            p99_9_us: None,
            max_us: 6000.0,
        };
        let report = ConnectReport {
            connect: Some(times),
            first_byte: Some(times),
            ..ConnectReport::default()
        };
        let table = step_table(&report, LineWidth::UNLIMITED);
        assert_eq!(table.len(), 3);
        for line in &table {
            assert_eq!(line.chars().count(), table[0].chars().count(), "{line}");
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(table[1].contains("1.234 s") && table[1].contains('–'));
        let narrow = step_table(&report, LineWidth::of_columns(40));
        assert_eq!(
            narrow[0].split_whitespace().collect::<Vec<_>>(),
            ["p50", "p99"]
        );
        assert_eq!(
            step_table(&ConnectReport::default(), LineWidth::UNLIMITED),
            [""; 0]
        );
    }

    #[test]
    fn failures_are_listed_by_their_reason_with_their_share() {
        let report = ConnectReport {
            attempts: 1000,
            completed: 985,
            failures: ConnectFailures {
                refused: 12,
                timed_out: 3,
                ..ConnectFailures::default()
            },
            ..ConnectReport::default()
        };
        let line = failures(&report);
        assert!(line.starts_with("failed: 15 of 1000 (1.5"), "{line}");
        assert!(line.ends_with("12 refused, 3 timed out"), "{line}");
        let none = ConnectReport {
            attempts: 7,
            ..ConnectReport::default()
        };
        assert_eq!(
            failures(&none),
            "failed: none; all 7 were completed and answered"
        );
    }
}
