//! Bulk transfers in reports, comparisons and exports.

mod direction_result;
mod report;
mod trials;

pub(crate) use report::{BulkReport, push_direction};
