//! Paths in reports, comparisons and exports.

mod both_ends_section;
mod report;
mod section;
mod values;

pub(crate) use report::PathRunReport;
