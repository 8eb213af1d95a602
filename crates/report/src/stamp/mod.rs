//! Tests with STAMP in reports, comparisons and exports.

mod report;

pub(crate) use report::StampRunReport;
