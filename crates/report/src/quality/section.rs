//! The result of a test of latency under load in a report.

use crate::export::page::{Block, Cell, Table, TableColumn};
use crate::export::wording::{about, sentence};
use caudal_core::plan::Direction;
use caudal_core::quality::{PhaseReport, QualityReport};
use caudal_core::quantity::Unit;

/// The result in sentences, the grade first.
pub fn sentences(report: &QualityReport) -> Vec<String> {
    let grade = match &report.grade {
        Some(graded) => format!(
            "Grade {}{}: load adds {} to the round-trip time on average.",
            graded.grade.name(),
            graded.single_load().map_or_else(String::new, |load| {
                format!(" by the {} alone", load.name())
            }),
            about(graded.increase_us / 1e6, Unit::Seconds)
        ),
        None => format!("There is no grade: {}.", report.no_grade_reason()),
    };
    let advice = report.advice.iter().map(|advice| {
        let (finding, remedy) = (sentence(&advice.finding), sentence(&advice.remedy));
        format!("{finding} {remedy}")
    });
    std::iter::once(grade).chain(advice).collect()
}

/// A row a phase.
pub fn phase_table(report: &QualityReport) -> Block {
    let rows = report.phases.iter().map(|phase| {
        let cells = cells(phase).map(|cell| Cell::new(cell.unwrap_or_default()));
        (phase.load.name().to_owned(), cells.to_vec())
    });
    let columns = [
        "download", "upload", "RTT p50", "p95", "p99", "max", "lost", "added", "RPM",
    ];
    Block::Table(Table {
        caption: "Each phase: goodput, round-trip times of UDP probes, and responsiveness".to_owned(),
        corner: "load".to_owned(),
        columns: columns.map(TableColumn::number).to_vec(),
        rows: rows.collect(),
        note: Some(
            "Added: the mean round-trip time above that without load. RPM: round trips per minute after \
             draft-ietf-ippm-responsiveness. A percentile stands only where there are samples enough for it."
                .to_owned(),
        ),
    })
}

fn cells(phase: &PhaseReport) -> [Option<String>; 9] {
    let time = |us: f64| about(us / 1e6, Unit::Seconds);
    let goodput = |direction| {
        let mean = phase.direction(direction)?.summary.goodput_mean()?;
        Some(about(mean, Unit::BitPerSecond))
    };
    let udp = phase.echo();
    [
        goodput(Direction::Down),
        goodput(Direction::Up),
        udp.map(|udp| time(udp.p50_us)),
        udp.and_then(|udp| udp.p95_us).map(time),
        udp.and_then(|udp| udp.p99_us).map(time),
        udp.map(|udp| time(udp.max_us)),
        udp.map(|udp| about(udp.lost as f64 / udp.sent.max(1) as f64, Unit::Share)),
        phase.added_rtt.map(|added| time(added.mean_us)),
        phase
            .responsiveness
            .map(|found| format!("{:.0}", found.rpm)),
    ]
}
