//! File transfers in reports, comparisons and exports.

mod figure;
mod report;
mod section;

pub(crate) use report::FileRunReport;
