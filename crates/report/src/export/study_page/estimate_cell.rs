//! An estimate as a cell of a table.

use crate::export::page::Cell;
use crate::export::wording::{self, about};
use caudal_experiment::Metric;
use caudal_experiment::expression::find_metric;
use caudal_stats::Estimate;

/// An estimate with its interval in small print, clamped to the range of the metric of that name.
pub(super) fn estimate_cell(estimate: Option<&Estimate>, name: &str, unit: &str) -> Cell {
    let Some(known) = estimate else {
        return Cell::default();
    };
    let unit = wording::unit(unit);
    let range = find_metric(name).map(Metric::range);
    let possible = range.map_or(*known, |range| known.clamped_to(range));
    Cell {
        text: about(known.mean, unit),
        beside: wording::interval(&possible, unit),
        mark: None,
    }
}
