//! The cells of a report by what they transfer.

use caudal_core::transfer::{FileReport, TransferCellReport};

/// The cells of a report by what they transfer, in their order.
pub(super) fn by_content(report: &FileReport) -> Vec<(String, Vec<&TransferCellReport>)> {
    let mut groups: Vec<(String, Vec<&TransferCellReport>)> = Vec::new();
    for cell in &report.cells {
        let content = cell.cell.content();
        match groups.iter_mut().find(|(name, _)| *name == content) {
            Some((_, cells)) => cells.push(cell),
            None => groups.push((content, vec![cell])),
        }
    }
    groups
}
