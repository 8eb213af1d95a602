//! Bulk transfers in reports, comparisons and exports.

mod direction_result;
mod report;

pub(crate) use report::{BulkReport, push_direction};
