//! The result of file transfers in a report.

use crate::export::page::{Block, Cell, Table, TableColumn};
use crate::export::wording::{about, count, sentence};
use caudal_core::quantity::{EstimateInUnit, Unit};
use caudal_core::transfer::{FileReport, TransferCellReport, TransferRatio};

/// Maximum number of results in sentences; the table has all.
const MAX_SENTENCES: usize = 4;

/// The results in sentences.
pub fn sentences(report: &FileReport) -> Vec<String> {
    let verified: u64 = report.cells.iter().map(|cell| cell.n).sum();
    let all = report.runs.len();
    let mut sentences = vec![format!(
        "{verified} of {all} transfers were completed and verified."
    )];
    if report.cells.len() <= MAX_SENTENCES {
        sentences.extend(report.cells.iter().filter_map(|cell| {
            let time = about(cell.time_s?.mean, Unit::Seconds);
            let goodput = about(cell.goodput_bps?, Unit::BitPerSecond);
            let (content, name) = (cell.cell.content(), cell.cell.name());
            Some(format!("{content} over {name} took {time}: {goodput}."))
        }));
    }
    // Of several transfers, each has its own limit.
    if let [run] = report.runs.as_slice() {
        let limit = run.limited_by.iter();
        sentences.extend(limit.map(|limit| {
            let (name, evidence) = (limit.name(), &limit.evidence);
            sentence(&format!("it was limited by {name}: {evidence}"))
        }));
        let again = run.result.retransmitted.filter(|again| *again > 0);
        sentences.extend(again.map(|again| {
            let what = if run.result.datagrams.is_some() {
                "datagram"
            } else {
                "segment"
            };
            let verb = if again == 1 { "was" } else { "were" };
            format!("{} {verb} sent again.", count(again, what))
        }));
    }
    if let (Some(elapsed_s), true) = (report.elapsed_s, report.runs.len() > 1) {
        let elapsed = about(elapsed_s, Unit::Seconds);
        sentences.push(format!(
            "From the beginning of the first to the end of the last: {elapsed}."
        ));
    }
    sentences
}

/// A row a cell, then a row a ratio where there are some.
pub fn tables(report: &FileReport) -> Vec<Block> {
    let columns = ["n", "mean time", "sd", "error", "goal", "runs", "goodput"];
    let rows = report.cells.iter().map(|cell| {
        let name = format!("{}, {}", cell.cell.content(), cell.cell.name());
        let cells = cells(cell).map(|cell| Cell::new(cell.unwrap_or_default()));
        (name, cells.to_vec())
    });
    let goal = &report.goal;
    let cells = Block::Table(Table {
        caption: "Each content by each protocol".to_owned(),
        corner: "transfer".to_owned(),
        columns: columns.map(TableColumn::number).to_vec(),
        rows: rows.collect(),
        note: Some(format!(
            "Error: half the {} interval of the mean time, as a part of it. Goal: whether it is at most {}. Runs: how many that takes.",
            about(goal.confidence, Unit::Share),
            about(goal.error, Unit::Share),
        )),
    });
    let times = Block::folded("Where the time went", vec![times_table(report)]);
    let cells = std::iter::once(cells).chain(ratio_table(report));
    cells.chain(times).collect()
}

/// The parts of the time of each cell.
fn times_table(report: &FileReport) -> Block {
    const PARTS: [&str; 5] = ["handshake", "transfer", "write", "fsync", "verify"];
    let rows = report.cells.iter().map(|cell| {
        let parts: Vec<(&str, f64)> = cell.times.parts().collect();
        let of = |name: &&str| {
            let part = parts.iter().find(|part| part.0 == *name);
            Cell::new(part.map_or_else(String::new, |part| about(part.1, Unit::Seconds)))
        };
        let name = format!("{}, {}", cell.cell.content(), cell.cell.name());
        (name, PARTS.iter().map(of).collect())
    });
    Block::Table(Table {
        caption: "The parts of the time, means".to_owned(),
        corner: "transfer".to_owned(),
        columns: PARTS.map(TableColumn::number).to_vec(),
        rows: rows.collect(),
        note: Some(
            "Each part is a difference on the clock of one end, so that they need not add up to the time of the transfer."
                .to_owned(),
        ),
    })
}

fn cells(cell: &TransferCellReport) -> [Option<String>; 7] {
    let time = cell.time_s.as_ref();
    [
        Some(cell.n.to_string()),
        time.map(|time| EstimateInUnit::new(time, Unit::Seconds).mean()),
        cell.sd_s.map(|sd| about(sd, Unit::Seconds)),
        cell.error.map(|error| about(error, Unit::Share)),
        cell.goal_met
            .map(|met| if met { "met" } else { "not met" }.to_owned()),
        cell.runs_needed.map(|runs| runs.to_string()),
        cell.goodput_bps.map(|bps| about(bps, Unit::BitPerSecond)),
    ]
}

fn ratio_table(report: &FileReport) -> Option<Block> {
    let rows: Vec<(String, Vec<Cell>)> = report
        .ratios
        .iter()
        .filter_map(|ratio| ratio_row(report, ratio))
        .collect();
    (!rows.is_empty()).then(|| {
        Block::Table(Table {
            caption: "Times as ratios, paired by block".to_owned(),
            corner: "ratio".to_owned(),
            columns: ["ratio", "interval", "pairs"]
                .map(TableColumn::number)
                .to_vec(),
            rows,
            note: Some("The geometric mean, with an interval on a log scale.".to_owned()),
        })
    })
}

fn ratio_row(report: &FileReport, ratio: &TransferRatio) -> Option<(String, Vec<Cell>)> {
    let own = &report.cells.get(ratio.cell as usize)?.cell;
    let reference = &report.cells.get(ratio.reference as usize)?.cell;
    let shown = EstimateInUnit::new(&ratio.time, Unit::Ratio);
    let cells = [
        shown.mean(),
        shown.interval().unwrap_or_default(),
        ratio.time.n.to_string(),
    ];
    let name = format!("{}: {} / {}", own.content(), own.name(), reference.name());
    Some((name, cells.map(Cell::new).to_vec()))
}
