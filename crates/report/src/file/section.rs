//! The result of file transfers in a report.

use crate::export::page::{Block, Cell, Table, TableColumn};
use crate::export::wording::about;
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
    [cells].into_iter().chain(ratio_table(report)).collect()
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
